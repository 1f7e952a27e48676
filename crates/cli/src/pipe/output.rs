//! The output: a file, which gets its name when it is complete, or standard output.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use blitz_io_pipeline::atomic_output::{self, AtomicOutput, Target};

use super::input::Input;
use super::progress;
use crate::exit::Exit;
use crate::output::unwritable;

/// An output that is being written.
pub struct Output {
    /// The path; `None` is standard output.
    path: Option<PathBuf>,
    file: AtomicOutput,
    pub written: u64,
}

impl Output {
    /// Opens the file of `--output`, which must not be one of the inputs.
    pub fn create(path: Option<&Path>, inputs: &[Input]) -> Result<Output, Exit> {
        let path = path.filter(|path| path.as_os_str() != "-");
        let target = match path {
            Some(path) => Target::new(path).map_err(|error| not_created(path, &error))?,
            None => Target::stdout(),
        };
        let output = Output {
            path: path.map(Path::to_owned),
            file: AtomicOutput::create(&target).map_err(|error| match path {
                Some(path) => not_created(path, &error),
                None => unwritable(&error),
            })?,
            written: 0,
        };
        let target = target.identity();
        let is_input = target.is_ok_and(|target| {
            let mut inputs = inputs.iter().filter_map(|input| input.identity().ok());
            !target.is_device() && inputs.any(|input| input == target)
        });
        if is_input {
            return Err(Exit::usage(
                format_args!(
                    "{} would be read and written at the same time",
                    output.name()
                ),
                "Write to another file, and rename that afterwards.",
            ));
        }
        Ok(output)
    }

    /// Returns the output's name, for people.
    fn name(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => "standard output".to_owned(),
        }
    }

    pub fn is_terminal(&self) -> bool {
        self.file.file().is_terminal()
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Returns where the following bytes can be written in any order, or `None` if the
    /// output takes bytes only in order.
    pub fn places(&self) -> Option<Places<'_>> {
        let any_order = cfg!(unix) && self.file.is_new_file();
        any_order.then(|| Places {
            file: self.file.file(),
            start: self.written,
        })
    }

    /// Continues after the bytes that were written in any order.
    pub fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.written += bytes;
        let mut file = self.file.file();
        file.seek(SeekFrom::Start(self.written)).map(drop)
    }

    /// Returns how the command ends if the output cannot be written. It is not an error if
    /// the reader has closed its end.
    pub fn failed(&self, error: &io::Error) -> Exit {
        match &self.path {
            None if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
            None => unwritable(error),
            Some(_) => Exit::Failed(format!("{} cannot be written: {error}", self.name())),
        }
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<(), Exit> {
        let name = self.name();
        let named = self.file.finish();
        named.map_err(|error| Exit::Failed(format!("{name} cannot be written: {error}")))
    }
}

/// The rest of a file, which workers write in any order.
pub struct Places<'f> {
    file: &'f File,
    start: u64,
}

impl Places<'_> {
    #[cfg(unix)]
    pub fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self.file, bytes, self.start + at)
    }

    #[cfg(not(unix))]
    pub fn write(&self, _bytes: &[u8], at: u64) -> io::Result<()> {
        unreachable!("no output has places: {:?}, {}", self.file, self.start + at)
    }
}

fn not_created(path: &Path, error: &io::Error) -> Exit {
    Exit::unwritable(path, error)
        .with_advice("--output: give a file in a directory that exists and that you may write to.")
}

/// Removes the incomplete output before a signal ends the process.
pub fn remove_on_interrupt() -> Result<(), Exit> {
    #[cfg(unix)]
    let listening = atomic_output::remove_on_signals(progress::clear);
    #[cfg(not(unix))]
    let listening = ctrlc::set_handler(|| {
        let _removed = atomic_output::remove_unfinished();
        progress::clear();
        std::process::exit(130);
    });
    listening.map_err(|error| Exit::Failed(format!("signals cannot be caught: {error}")))
}
