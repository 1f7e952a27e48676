//! A run, from the options to the reports.

use crate::collect::Collector;
use crate::detect;
use crate::duplicates::Places;
use crate::failure::Failure;
use crate::options::Options;
use crate::output::{self, Output, Outputs};
use crate::process::{Batch, Counts, Done, STREAMS, Worker};
use crate::report::Report;
use crate::source::Source;
use std::sync::Arc;

/// Processes reads and compresses what becomes of them.
pub struct Stage {
    worker: Worker,
    compressed: [bool; STREAMS],
    compressor: libdeflater::Compressor,
}

impl Stage {
    pub fn new(options: &Arc<Options>, places: Option<&Arc<Places>>) -> Self {
        let (written, compressed) = output::wanted(options);
        // With `--dedup` the source has noted them already.
        let places = places.filter(|_| !options.dedup).cloned();
        let worker = Worker::new(options.clone(), written, places);
        Self {
            worker,
            compressed,
            compressor: output::compressor(options.compression),
        }
    }

    pub fn process(&mut self, batch: &mut Batch) -> Done {
        let mut done = self.worker.process(batch);
        for (bytes, compressed) in done.out.iter_mut().zip(self.compressed) {
            if compressed && !bytes.is_empty() {
                *bytes = output::gzip(&mut self.compressor, bytes);
            }
        }
        done
    }

    pub fn counts(self) -> Counts {
        self.worker.counts
    }
}

/// Does what the options say.
pub fn run(mut options: Options) -> Result<(), Failure> {
    let hot = detect::look(&mut options)?;
    let options = Arc::new(options);
    let places = options
        .duplication
        .then(|| Arc::new(Places::new(options.duplication_level)));
    let source = Source::open(&options, places.as_ref())?;
    let outputs = Outputs::create(&options)?;
    let json = Output::create(&options.json)?;
    let html = Output::create(&options.html)?;
    let collector = Collector::new(&options, places.as_deref().filter(|_| !options.dedup), &hot);
    let (counts, mut collector, outputs, source) =
        drive(&options, places.as_ref(), source, collector, outputs)?;
    if options.dedup {
        collector.seen = source.seen();
    }
    let report = Report::new(&options, counts, &collector);
    report.print();
    for (mut output, text) in [
        (json, crate::json::write(&report)),
        (html, crate::html::write(&report)),
    ] {
        output.write(text.as_bytes())?;
        output.finish()?;
    }
    outputs.finish()?;
    eprintln!(
        "\nJSON report: {}\nHTML report: {}\n\n{}",
        options.json, options.html, options.command
    );
    Ok(())
}

type Driven = (Counts, Collector, Outputs, Source);

fn drive(
    options: &Arc<Options>,
    places: Option<&Arc<Places>>,
    mut source: Source,
    mut collector: Collector,
    mut outputs: Outputs,
) -> Result<Driven, Failure> {
    let mut stage = Stage::new(options, places);
    let mut progress = Progress::new(options);
    while let Some(mut batch) = source.next()? {
        let done = stage.process(&mut batch);
        collector.add(&done);
        outputs.write(&done)?;
        progress.add(done.reads);
        source.recycle(batch);
    }
    Ok((stage.counts(), collector, outputs, source))
}

/// Reads or pairs between two lines of `--verbose`.
const LINE_EVERY: u64 = 1_000_000;

/// Says how far the run has come, if that is wanted.
struct Progress {
    wanted: bool,
    reads: u64,
}

impl Progress {
    fn new(options: &Options) -> Self {
        Self {
            wanted: options.verbose,
            reads: 0,
        }
    }

    fn add(&mut self, reads: u64) {
        let before = self.reads / LINE_EVERY;
        self.reads += reads;
        if self.wanted && self.reads / LINE_EVERY != before {
            eprintln!("{} M reads done", self.reads / LINE_EVERY);
        }
    }
}
