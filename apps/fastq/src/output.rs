//! Output files. A file gets its name when it is complete; until then, and if the run
//! fails, no file has that name.

use crate::done::{Done, STREAMS, Stream};
use crate::failure::Failure;
use crate::file_names::with_prefix;
use crate::options::{Options, Split};
use crate::spare::Spare;
use blitz_io::pipeline::atomic_output::{AtomicOutput, CompleteOutput, Target};
use std::fs::File;
use std::io::{self, Write};

/// Buffers whose bytes were written, to be used again.
pub static SPARE: Spare<Vec<u8>> = Spare::new();

/// A file that is being written.
pub struct Output {
    name: String,
    file: AtomicOutput,
    written: bool,
}

impl Output {
    pub fn create(name: &str) -> Result<Self, Failure> {
        Self::open(name, Target::new(crate::file_names::path(name)))
    }

    pub fn stdout() -> Result<Self, Failure> {
        Self::open("standard output", Ok(Target::stdout()))
    }

    fn open(name: &str, target: io::Result<Target>) -> Result<Self, Failure> {
        let file = target.and_then(|target| AtomicOutput::create(&target));
        Ok(Self {
            name: name.to_owned(),
            file: file.map_err(|error| Failure::file(name, "create it", &error))?,
            written: false,
        })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.written = true;
        let written = self.file.write_all(bytes);
        written.map_err(|error| Failure::file(&self.name, "write it", &error))
    }

    /// Appends a file. Where the system can, it copies the bytes itself.
    fn append(&mut self, name: &str) -> Result<(), Failure> {
        let part = File::open(crate::file_names::path(name));
        let mut part = part.map_err(|error| Failure::file(name, "open it", &error))?;
        let copied = io::copy(&mut part, &mut self.file.file());
        let copied =
            copied.map_err(|error| Failure::file(&self.name, &format!("append {name}"), &error))?;
        self.written |= copied > 0;
        Ok(())
    }

    /// Completes the file, which does not get its name yet.
    fn complete(&mut self) -> Result<(), Failure> {
        if !self.written && self.name.ends_with(".gz") {
            let empty = gzip(&mut compressor(1), b"");
            self.write(&empty)?;
        }
        Ok(())
    }

    /// Completes and closes the file, which does not get its name yet.
    fn close(mut self) -> Result<(String, CompleteOutput), Failure> {
        self.complete()?;
        let closed = self.file.complete();
        let closed = closed.map_err(|error| Failure::file(&self.name, "write it", &error))?;
        Ok((self.name, closed))
    }

    /// Gives the file its name.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.complete()?;
        let named = self.file.finish();
        named.map_err(|error| Failure::file(&self.name, "name it", &error))
    }
}

/// Creates a compressor for the level of `--compression`.
pub fn compressor(level: i32) -> libdeflater::Compressor {
    libdeflater::Compressor::new(
        libdeflater::CompressionLvl::new(level).expect("the level was checked"),
    )
}

/// Compresses `bytes` into a gzip member.
pub fn gzip(compressor: &mut libdeflater::Compressor, bytes: &[u8]) -> Vec<u8> {
    let mut out = SPARE.take();
    out.resize(compressor.gzip_compress_bound(bytes.len()), 0);
    let len = compressor
        .gzip_compress(bytes, &mut out)
        .expect("the bound holds");
    out.truncate(len);
    out
}

/// Returns the streams that are written, and those that are compressed.
pub fn wanted(options: &Options) -> ([bool; STREAMS], [bool; STREAMS]) {
    let mut written = [false; STREAMS];
    let mut compressed = [false; STREAMS];
    for (stream, name) in names(options) {
        written[stream as usize] = !name.is_empty();
        compressed[stream as usize] = name.ends_with(".gz");
    }
    if options.stdout {
        let stream = if options.merge {
            Stream::Merged
        } else {
            Stream::Out1
        };
        written[stream as usize] = true;
        compressed[stream as usize] = false;
    }
    (written, compressed)
}

fn names(options: &Options) -> [(Stream, &str); STREAMS] {
    // If the output is split, only these two are written.
    let unless_split = |name| if options.split == Split::No { name } else { "" };
    // Both unpaired reads go to one file if there is only one name. If there is none for
    // read 1, fastp writes those of read 2 to no file.
    let second = if options.unpaired1 == options.unpaired2 {
        ""
    } else {
        options.unpaired2.as_str()
    };
    [
        (Stream::Out1, &options.out1),
        (Stream::Out2, &options.out2),
        (Stream::Unpaired1, unless_split(&options.unpaired1)),
        (Stream::Unpaired2, unless_split(second)),
        (Stream::Merged, unless_split(&options.merged_out)),
        (Stream::Failed, unless_split(&options.failed_out)),
        (Stream::Overlapped, unless_split(&options.overlapped_out)),
    ]
}

/// All files of a run.
pub struct Outputs {
    options: Options,
    streams: [Option<Output>; STREAMS],
    /// Complete files of a split output, which get their names together. They are closed, as
    /// there may be more than a process may have open.
    full: Vec<(String, CompleteOutput)>,
    number: i64,
    records: i64,
}

impl Outputs {
    /// Creates the files, before the input is examined.
    pub fn create(options: &Options) -> Result<Self, Failure> {
        let mut outputs = Self {
            options: options.clone(),
            streams: [const { None }; STREAMS],
            full: vec![],
            number: 0,
            records: 0,
        };
        if options.split != Split::No {
            outputs.next_files()?;
            return Ok(outputs);
        }
        for (stream, name) in names(options) {
            if !name.is_empty() {
                outputs.streams[stream as usize] = Some(Output::create(name)?);
            }
        }
        if options.stdout {
            let stream = if options.merge {
                Stream::Merged
            } else {
                Stream::Out1
            };
            outputs.streams[stream as usize] = Some(Output::stdout()?);
        }
        Ok(outputs)
    }

    /// Sets the number of records of each file when the output is split.
    pub fn set_split_size(&mut self, records: i64) {
        self.options.split_size = records;
    }

    /// Writes the results of the next batch.
    pub fn write(&mut self, done: &Done) -> Result<(), Failure> {
        for (output, bytes) in self.streams.iter_mut().zip(&done.out) {
            if let Some(output) = output {
                output.write(bytes)?;
            }
        }
        let by_files = match self.options.split {
            Split::No => return Ok(()),
            Split::Files(files) => Some(files),
            Split::Records(_) => None,
        };
        self.records += if by_files.is_some() {
            done.reads
        } else {
            done.passed
        } as i64;
        if self.records >= self.options.split_size
            && by_files.is_none_or(|files| self.number < files)
        {
            self.next_files()?;
        }
        Ok(())
    }

    /// Returns which streams something was written to.
    pub fn written(&self) -> [bool; STREAMS] {
        self.streams
            .each_ref()
            .map(|output| output.as_ref().is_some_and(|output| output.written))
    }

    /// Returns the names of the files that the options name.
    pub fn names(options: &Options) -> impl Iterator<Item = String> {
        let named = names(options).map(|(_, name)| name.to_owned());
        named.into_iter().filter(|name| !name.is_empty())
    }

    /// Appends the files of a shard, of those streams that it has written something to.
    pub fn append(&mut self, shard: &Options, written: &[bool; STREAMS]) -> Result<(), Failure> {
        for (stream, name) in names(shard) {
            let Some(output) = &mut self.streams[stream as usize] else {
                continue;
            };
            if written[stream as usize] {
                output.append(name)?;
            }
        }
        Ok(())
    }

    fn next_files(&mut self) -> Result<(), Failure> {
        self.number += 1;
        self.records = 0;
        for (stream, name) in [
            (Stream::Out1, &self.options.out1),
            (Stream::Out2, &self.options.out2),
        ] {
            if name.is_empty() {
                continue;
            }
            let width = self.options.split_digits;
            let name = with_prefix(name, &format!("{:0width$}", self.number));
            let output = Output::create(&name)?;
            if let Some(full) = self.streams[stream as usize].replace(output) {
                self.full.push(full.close()?);
            }
        }
        Ok(())
    }

    /// Gives all files their final names.
    pub fn finish(mut self) -> Result<(), Failure> {
        if let Split::Files(files) = self.options.split {
            while self.number < files {
                self.next_files()?;
            }
        }
        for output in self.streams.iter_mut().flatten() {
            output.complete()?;
        }
        for (name, file) in self.full {
            let named = file.finish();
            named.map_err(|error| Failure::file(&name, "name it", &error))?;
        }
        let mut streams = self.streams.into_iter().flatten();
        streams.try_for_each(Output::finish)
    }
}
