//! A run, from the options to the reports.

use crate::collect::{Collect, Collector};
use crate::counts::Counts;
use crate::detect;
use crate::done::{Done, STREAMS};
use crate::duplicates::{Places, Seen};
use crate::failure::Failure;
use crate::input::InputFile;
use crate::options::Options;
use crate::output::{self, Output, Outputs};
use crate::process::{Batch, Worker};
use crate::record::Block;
use crate::report::Report;
use crate::source::{self, Source, Work};
use blitz_io::pipeline::gzip::Decompressor;
use blitz_io::pipeline::{self, Error, Stages};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Processes reads and compresses the results; each thread has one. Its counts are added to
/// those of the run when the thread has finished.
struct Stage {
    options: Arc<Options>,
    worker: Worker,
    compressed: [bool; STREAMS],
    compressor: libdeflater::Compressor,
    decompressor: Decompressor,
    counts: Arc<Mutex<Counts>>,
}

impl Stage {
    fn new(
        options: &Arc<Options>,
        places: Option<&Arc<Places>>,
        counts: &Arc<Mutex<Counts>>,
    ) -> Self {
        let (written, compressed) = output::wanted(options);
        Self {
            options: options.clone(),
            worker: Worker::new(options.clone(), written, places.cloned()),
            compressed,
            compressor: output::compressor(options.compression),
            decompressor: Decompressor::new(),
            counts: counts.clone(),
        }
    }

    fn process(&mut self, mut batch: Batch) -> Done {
        let mut done = self.worker.process(&mut batch);
        batch.reads.into_iter().for_each(Block::recycle);
        for (bytes, compressed) in done.out.iter_mut().zip(self.compressed) {
            if compressed && !bytes.is_empty() {
                let member = output::gzip(&mut self.compressor, bytes);
                output::SPARE.give(std::mem::replace(bytes, member));
            }
        }
        done
    }

    fn pair(&mut self, reads: [Block; 2]) -> Result<Done, Failure> {
        Ok(self.process(source::pair(&self.options, reads)?))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let counts = std::mem::take(&mut self.worker.counts);
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        all.merge(counts);
    }
}

/// Runs the program as the options say.
pub fn run(mut options: Options) -> Result<(), Failure> {
    // If signals cannot be caught, they still end the process.
    #[cfg(unix)]
    let _ = pipeline::atomic_output::remove_on_signals(|| ());
    let names = [&options.in1, &options.in2].into_iter();
    let files = names
        .filter(|name| !name.is_empty())
        .map(|name| InputFile::open(name))
        .collect::<Result<Vec<_>, _>>()?;
    // Before all other work, so that a wrong name is reported at once.
    let mut outputs = Outputs::create(&options)?;
    let json = Output::create(&options.json)?;
    let html = Output::create(&options.html)?;
    let hot = detect::look(&mut options, &files)?;
    outputs.set_split_size(options.split_size);
    let options = Arc::new(options);
    let places = options
        .duplication
        .then(|| Arc::new(Places::new(options.duplication_level)));
    let source = Source::open(&files, &options, places.as_ref())?;
    // With `--dedup` the source has already noted the duplicates.
    let places = places.filter(|_| !options.dedup);
    let collector = Collector::new(&options, places.as_deref(), &hot);
    let mut processed = process(&options, files, source, places.as_ref(), collector, outputs)?;
    if options.dedup {
        processed.collector.seen = processed.seen;
    }
    let report = Report::new(&options, processed.counts, &processed.collector);
    finish(&options, &report, json, html, processed.outputs)
}

/// The results of a run.
pub struct Processed<C> {
    pub counts: Counts,
    pub collector: C,
    /// The reads that the source has seen, with `--dedup`.
    seen: Option<Seen>,
    /// The files, complete but for their names.
    pub outputs: Outputs,
}

/// Processes all reads of a source.
pub fn process<C: Collect + Send>(
    options: &Arc<Options>,
    files: Vec<InputFile>,
    mut source: Source,
    places: Option<&Arc<Places>>,
    collector: C,
    outputs: Outputs,
) -> Result<Processed<C>, Failure> {
    let counts = Arc::new(Mutex::new(Counts::default()));
    let mut sink = Sink {
        collector,
        outputs,
        progress: Progress::new(options, files),
    };
    let stage = || Stage::new(options, places, &counts);
    match &mut source {
        Source::One(one) => {
            let items_a_batch = if one.is_ahead() { ITEMS_A_BATCH } else { 1 };
            let stages = pipeline::source(|| one.work());
            let stages = stages.flat_map_with(stage, |stage, work, emit| {
                match work {
                    Work::Batch(batch) => emit.push(stage.process(batch)),
                    Work::Inflate(task) => task.run(&mut stage.decompressor),
                }
                Ok(())
            });
            drive(options, stages, items_a_batch, &mut sink).map_err(failure)?;
        }
        Source::Two(inputs) => {
            let [first, second] = &mut **inputs;
            let next: [Box<dyn FnMut() -> _ + Send>; 2] =
                [Box::new(|| first.in_step()), Box::new(|| second.in_step())];
            let stages = pipeline::joined(next);
            drive(
                options,
                stages.map_with(stage, |stage, reads| stage.pair(reads)),
                1,
                &mut sink,
            )
            .map_err(|error| match error {
                Error::Uneven { source, .. } => {
                    source::ended(options, source, inputs[source].last())
                }
                other => failure(other),
            })?;
        }
    }
    let counts = std::mem::take(&mut *counts.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Processed {
        counts,
        collector: sink.collector,
        seen: source.seen(),
        outputs: sink.outputs,
    })
}

/// Writes the reports. No file gets its final name before all are written.
pub fn finish(
    options: &Options,
    report: &Report,
    mut json: Output,
    mut html: Output,
    outputs: Outputs,
) -> Result<(), Failure> {
    let [json_report, html_report] = write_both(report);
    json.write(json_report.as_bytes())?;
    html.write(html_report.as_bytes())?;
    outputs.finish()?;
    json.finish()?;
    html.finish()?;
    report.print();
    eprintln!(
        "\nJSON report: {}\nHTML report: {}\n\n{}",
        options.json, options.html, options.command
    );
    Ok(())
}

/// Makes the reports for JSON and HTML, at the same time: nothing else is left to do.
fn write_both(report: &Report) -> [String; 2] {
    thread::scope(|scope| {
        let html = thread::Builder::new().spawn_scoped(scope, || crate::html::write(report));
        let json = crate::json::write(report);
        match html {
            Ok(html) => [
                json,
                html.join().unwrap_or_else(|panic| resume_unwind(panic)),
            ],
            // The system has no thread for it.
            Err(_) => [json, crate::html::write(report)],
        }
    })
}

/// Number of batches in memory for each thread: one in work, and others that wait for the
/// thread or to be written. So a thread rarely waits for another.
const BATCHES_A_THREAD: usize = 4;
/// Number of items of the pipeline for each batch, if the input is inflated ahead: a batch of usual reads, and
/// the chunks that it is made of.
const ITEMS_A_BATCH: usize = 4;

/// Runs the pipeline. As in fastp, the number of threads counts those that process reads. One
/// more thread reads and writes.
fn drive<'a, P: Send + 'a, C: Collect + Send>(
    options: &Options,
    stages: Stages<'a, P, Done, Failure>,
    items_a_batch: usize,
    sink: &'a mut Sink<C>,
) -> Result<(), Error<Failure>> {
    stages
        .sink(|done| sink.take(done))
        .workers(options.threads + 1)
        .in_stages(options.threads)
        .capacity(items_a_batch * BATCHES_A_THREAD * (options.threads + 1))
        .run()?;
    Ok(())
}

fn failure(error: Error<Failure>) -> Failure {
    match error {
        Error::Failed { error, .. } => error,
        other => Failure::data(format!("the run stopped: {other:?}")),
    }
}

/// Takes the results of the batches, in their order.
struct Sink<C> {
    collector: C,
    outputs: Outputs,
    progress: Progress,
}

impl<C: Collect> Sink<C> {
    fn take(&mut self, done: Done) -> Result<(), Failure> {
        self.collector.add(&done);
        self.outputs.write(&done)?;
        self.progress.add(done.reads);
        done.out
            .into_iter()
            .filter(|bytes| bytes.capacity() > 0)
            .for_each(|bytes| output::SPARE.give(bytes));
        Ok(())
    }
}

/// Number of reads or pairs between two lines of `--verbose`.
const LINE_EVERY: u64 = 1_000_000;

/// Prints the progress of the run, with `--verbose`.
struct Progress {
    wanted: bool,
    reads: u64,
    files: Vec<InputFile>,
    begin: Instant,
}

impl Progress {
    fn new(options: &Options, files: Vec<InputFile>) -> Self {
        Self {
            wanted: options.verbose,
            reads: 0,
            files,
            begin: Instant::now(),
        }
    }

    fn add(&mut self, reads: u64) {
        let before = self.reads / LINE_EVERY;
        self.reads += reads;
        if self.wanted && self.reads / LINE_EVERY != before {
            let part = part_of(&self.files);
            let rest = part.map_or_else(String::new, |part| rest(part, self.begin.elapsed()));
            eprintln!("{} M reads done{rest}", self.reads / LINE_EVERY);
        }
    }
}

/// Returns the part of the files that was read, if their sizes are known.
fn part_of(files: &[InputFile]) -> Option<f64> {
    let sizes: Option<Vec<_>> = files.iter().map(InputFile::size).collect();
    let (all, read) = (
        sizes?.iter().sum::<u64>(),
        files.iter().map(InputFile::bytes_read).sum::<u64>(),
    );
    (all > 0).then(|| (read as f64 / all as f64).min(1.0))
}

/// Returns the finished part of the run, and an estimate of the remaining time.
fn rest(part: f64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64() * (1.0 - part) / part.max(f64::MIN_POSITIVE);
    let seconds = seconds.min(1e9).round() as u64;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!(
        ", {:.0} %, {hours}:{minutes:02}:{:02} left",
        part * 100.0,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_rest() {
        let after = |part, seconds| rest(part, Duration::from_secs(seconds));
        assert_eq!(after(0.25, 30), ", 25 %, 0:01:30 left");
        assert_eq!(after(0.5, 4000), ", 50 %, 1:06:40 left");
        assert_eq!(after(1.0, 4000), ", 100 %, 0:00:00 left");
        assert!(after(0.0, 1).starts_with(", 0 %, "));
    }
}
