//! `blitz pipe gzip`, `bgzip` and `gunzip`.

use std::io::{self, BufReader, Cursor, ErrorKind, Read};

use blitz_io_pipeline::gzip::{self, BGZF_END, Compressor, Decompressor};
use blitz_io_pipeline::{self as pipeline, Error, Pipeline, Place};
use serde_json::json;

use super::input::{self, Input};
use super::output::{Output, remove_on_interrupt};
use super::progress::Progress;
use super::{Arguments, Compress, Decompress};
use crate::exit::Exit;
use crate::output as standard;

/// The bytes that a worker compresses in one step. A member of gzip begins with an empty
/// dictionary, so small members cost space; large ones cost memory, four of them for each
/// thread.
const MEMBER: usize = 1 << 20;
/// The bytes that a worker compresses to BGZF in one step, in whole blocks of 0xff00 bytes.
const BLOCKS: usize = 8 * 0xff00;
/// The bytes of content that one thread decompresses in one step, ahead of the others.
const CONTENT: usize = 1 << 18;
/// The bytes of content in one step for BGZF, whose blocks all threads decompress.
const BLOCKS_CONTENT: usize = 1 << 20;
/// Enough bytes to see whether a file is BGZF.
const BEGINNING: u64 = 64;

/// The format of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Gzip,
    Bgzf,
}

/// The error of a run, as a pipeline reports it.
type Failure = Error<io::Error>;

pub fn compress(arguments: &Arguments, compress: &Compress, format: Format) -> Result<Exit, Exit> {
    let inputs = input::inputs(&compress.files)?;
    tell_of_compressed(&inputs);
    let mut run = Run::begin(arguments, inputs, &compress.output)?;
    if run.output.is_terminal() {
        return Err(Exit::usage(
            "compressed data is not for a terminal",
            "Give a file with --output, or redirect standard output.",
        ));
    }
    let level = compress.level.0;
    run.each(|reader, threads, output| {
        let write = |block: Vec<u8>| output.write(&block);
        match format {
            Format::Gzip => run_on(
                threads,
                pipeline::source(gzip::blocks(reader, MEMBER))
                    .gzip_blocks(level)
                    .sink(write),
            ),
            Format::Bgzf => run_on(
                threads,
                pipeline::source(gzip::blocks(reader, BLOCKS))
                    .bgzf(level)
                    .sink(write),
            ),
        }
    })?;
    let last = match format {
        Format::Bgzf => BGZF_END.to_vec(),
        // Empty input is not a gzip file.
        Format::Gzip if run.output.written == 0 => {
            let empty = Compressor::new(level).gzip(b"");
            empty.map_err(|error| Exit::Failed(error.to_string()))?
        }
        Format::Gzip => Vec::new(),
    };
    run.end(&last)
}

/// Tells of an input that is compressed already, beside others: its name is probably meant to be
/// that of the output.
fn tell_of_compressed(inputs: &[Input]) {
    if inputs.len() < 2 {
        return;
    }
    let is_compressed = |input: &&Input| {
        let ending = input.path().extension();
        ending.is_some_and(|ending| ["gz", "bgz", "tgz"].iter().any(|known| ending == *known))
    };
    for input in inputs.iter().filter(is_compressed) {
        standard::tell(format_args!(
            "note: {} is compressed already, and is read as one of {} inputs; --output names the \
             file to write\n",
            input.name(),
            inputs.len()
        ));
    }
}

pub fn decompress(arguments: &Arguments, decompress: &Decompress) -> Result<Exit, Exit> {
    let inputs = input::inputs(&decompress.files)?;
    let mut run = Run::begin(arguments, inputs, &decompress.output)?;
    run.each(|reader, threads, output| {
        let mut reader = reader;
        let mut beginning = Vec::new();
        let seen = (&mut reader).take(BEGINNING).read_to_end(&mut beginning);
        seen.map_err(|error| at(Place::Source(0), error))?;
        if beginning.is_empty() {
            let error = io::Error::new(ErrorKind::InvalidData, "it is empty");
            return Err(at(Place::Source(0), error));
        }
        let is_bgzf = gzip::is_bgzf(&beginning);
        let reader = Cursor::new(beginning).chain(reader);
        if is_bgzf {
            return decompress_blocks(reader, threads, output);
        }
        let reader = BufReader::with_capacity(1 << 16, reader);
        run_on(
            threads,
            pipeline::source(gzip::inflate(reader, CONTENT))
                .sink(|content: Vec<u8>| output.write(&content)),
        )
    })?;
    run.end(&[])
}

/// Decompresses BGZF. Its blocks state how long their content is. So if the output is a
/// file, each worker writes what it has decompressed, and the pipeline's sink has nothing
/// to do.
fn decompress_blocks(
    reader: impl Read + Send,
    threads: usize,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut blocks = gzip::bgzf_blocks(reader, BLOCKS_CONTENT);
    let Some(places) = output.places() else {
        let content = pipeline::source(blocks).bgzf_inflate();
        let write = |content: Vec<u8>| output.write(&content);
        return run_on(threads, content.sink(write));
    };
    let mut end = 0;
    let next = || {
        let Some(blocks) = blocks()? else {
            return Ok(None);
        };
        let start = end;
        end += gzip::content_len(&blocks)?;
        Ok(Some((start, blocks)))
    };
    let contents = pipeline::source(next);
    let written = contents.map_with(Decompressor::new, |decompressor, (start, blocks)| {
        Ok(places.write(&decompressor.bgzf(&blocks)?, start))
    });
    run_on(threads, written.sink(|written: io::Result<()>| written))?;
    output.skip(end).map_err(|error| at(Place::Sink(0), error))
}

fn run_on<P: Send, T: Send>(
    threads: usize,
    pipeline: Pipeline<'_, P, T, io::Error>,
) -> Result<(), Failure> {
    pipeline.workers(threads).run().map(drop)
}

/// Reports a failure outside the pipeline as if it had been in it.
fn at(place: Place, error: io::Error) -> Failure {
    Error::Failed {
        item: 0,
        place,
        error,
    }
}

/// Inputs that become one output.
struct Run {
    inputs: Vec<Input>,
    output: Output,
    progress: Progress,
    threads: usize,
    json: bool,
}

impl Run {
    fn begin(
        arguments: &Arguments,
        inputs: Vec<Input>,
        output: &super::Output,
    ) -> Result<Run, Exit> {
        let path = output.output.as_deref();
        if arguments.json && path.is_none_or(|path| path.as_os_str() == "-") {
            return Err(Exit::usage(
                "--json: standard output is for the data",
                "Give a file with --output.",
            ));
        }
        remove_on_interrupt()?;
        let output = Output::create(path, &inputs)?;
        Ok(Run {
            progress: Progress::new(input::len(&inputs), !output.is_terminal()),
            threads: arguments.threads(),
            json: arguments.json,
            inputs,
            output,
        })
    }

    /// Applies a function to one input after the other.
    fn each(
        &mut self,
        mut work: impl FnMut(&mut dyn ReadSend, usize, &mut Output) -> Result<(), Failure>,
    ) -> Result<(), Exit> {
        for input in &self.inputs {
            let mut reader = self.progress.meter(input.open()?);
            work(&mut reader, self.threads, &mut self.output)
                .map_err(|failure| told(failure, input, &self.output))?;
        }
        Ok(())
    }

    /// Writes the end, and reports what was done.
    fn end(mut self, last: &[u8]) -> Result<Exit, Exit> {
        let written = self.output.write(last);
        written.map_err(|error| self.output.failed(&error))?;
        let bytes = self.output.written;
        self.output.finish()?;
        if self.json {
            standard::print_json(&json!({
                "read": self.progress.read(),
                "written": bytes,
                "seconds": self.progress.elapsed().as_secs_f64(),
                "threads": self.threads,
            }))?;
        }
        Ok(Exit::Done)
    }
}

/// A reader that workers pass to each other.
trait ReadSend: Read + Send {}

impl<R: Read + Send> ReadSend for R {}

/// Describes what failed, and what to do.
fn told(failure: Failure, input: &Input, output: &Output) -> Exit {
    let name = input.name();
    match failure {
        Error::Failed {
            place: Place::Sink(_),
            error,
            ..
        } => output.failed(&error),
        Error::Failed { error, .. } => match error.kind() {
            ErrorKind::UnexpectedEof => Exit::Failed(format!(
                "{name}: the compressed data is cut off: the file is not complete, fetch it again"
            )),
            ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                Exit::Failed(format!("{name} is no gzip file, or it is damaged: {error}"))
            }
            _ => input.unreadable(&error),
        },
        other => Exit::Failed(format!("{name}: {other}")),
    }
}
