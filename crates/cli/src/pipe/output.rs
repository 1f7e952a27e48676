//! The output: a file, which gets its name when it is complete, or standard output.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use same_file::Handle;
use tempfile::{NamedTempFile, TempPath};

use super::input::Input;
use crate::exit::Exit;
use crate::output::unwritable;

/// The file that an interrupt removes.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// An output that is being written.
pub struct Output {
    /// The path; `None` is standard output.
    path: Option<PathBuf>,
    file: Box<dyn Write + Send>,
    /// The same file, if it can be written at any offset.
    places: Option<File>,
    /// The bytes until the file is complete, unless they go to a device or a pipe.
    temporary: Option<TempPath>,
    pub written: u64,
}

impl Output {
    /// Opens the file of `--output`, which must not be one of the inputs.
    pub fn create(path: Option<&Path>, inputs: &[Input]) -> Result<Output, Exit> {
        let standard = || Output {
            path: None,
            file: Box::new(io::stdout()),
            places: None,
            temporary: None,
            written: 0,
        };
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            let is_file = Handle::stdout().is_ok_and(|out| {
                let file = out.as_file().metadata();
                file.is_ok_and(|file| file.is_file()) && is_input(&out, inputs)
            });
            return match is_file {
                true => Err(same("standard output")),
                false => Ok(standard()),
            };
        };
        if Handle::from_path(path).is_ok_and(|file| is_input(&file, inputs)) {
            return Err(same(&path.display().to_string()));
        }
        Output::file(path).map_err(|error| {
            Exit::usage(
                format_args!("--output: {} cannot be written: {error}", path.display()),
                "Give a file in a directory that exists and that you may write to.",
            )
        })
    }

    fn file(path: &Path) -> io::Result<Output> {
        let special = fs::metadata(path).is_ok_and(|known| !known.is_file());
        let (file, places, temporary) = if special {
            (OpenOptions::new().write(true).open(path)?, None, None)
        } else {
            // Locked meanwhile, so that an interrupt knows every file that exists.
            let mut unfinished = unfinished();
            let (file, temporary) = temporary(path)?.into_parts();
            *unfinished = Some(temporary.to_path_buf());
            let places = cfg!(unix).then(|| file.try_clone()).transpose()?;
            (file, places, Some(temporary))
        };
        Ok(Output {
            path: Some(path.to_owned()),
            file: Box::new(file),
            places,
            temporary,
            written: 0,
        })
    }

    /// Returns the output's name, for people.
    fn name(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => "standard output".to_owned(),
        }
    }

    pub fn is_terminal(&self) -> bool {
        self.path.is_none() && io::stdout().is_terminal()
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Returns where the following bytes can be written in any order, or `None` if the
    /// output takes bytes only in order.
    pub fn places(&self) -> Option<Places<'_>> {
        self.places.as_ref().map(|file| Places {
            file,
            start: self.written,
        })
    }

    /// Continues after the bytes that were written in any order.
    pub fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.written += bytes;
        match &mut self.places {
            Some(file) => file.seek(SeekFrom::Start(self.written)).map(drop),
            None => Ok(()),
        }
    }

    /// Returns how the command ends if the output cannot be written. It is not an error if
    /// the reader is gone.
    pub fn failed(&self, error: &io::Error) -> Exit {
        match &self.path {
            None if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
            None => unwritable(error),
            Some(_) => Exit::Failed(format!("{} cannot be written: {error}", self.name())),
        }
    }

    /// Gives the file its name.
    pub fn finish(mut self) -> Result<(), Exit> {
        if let Err(error) = self.file.flush() {
            return Err(self.failed(&error));
        }
        if let (Some(temporary), Some(path)) = (self.temporary.take(), &self.path) {
            let named = temporary.persist(path);
            named.map_err(|error| self.failed(&error.error))?;
        }
        Ok(())
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

impl Drop for Output {
    fn drop(&mut self) {
        *unfinished() = None;
    }
}

/// Creates a new file beside `path`, with the permissions of a new file.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    match path.parent().filter(|place| !place.as_os_str().is_empty()) {
        Some(place) => builder.tempfile_in(place),
        None => builder.tempfile_in("."),
    }
}

fn is_input(output: &Handle, inputs: &[Input]) -> bool {
    let same = |input: &Input| input.handle().is_ok_and(|input| input == *output);
    inputs.iter().any(same)
}

fn same(name: &str) -> Exit {
    Exit::usage(
        format_args!("{name} would be read and written at the same time"),
        "Write to another file, and rename that afterwards.",
    )
}

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the incomplete output on Ctrl-C, and ends the process.
pub fn remove_on_interrupt() -> Result<(), Exit> {
    let listening = ctrlc::set_handler(|| {
        // The file can no longer get its name: the lock is held until the end.
        let path = unfinished();
        if let Some(path) = &*path {
            let _ = fs::remove_file(path);
        }
        super::progress::clear();
        std::process::exit(130);
    });
    listening.map_err(|error| Exit::Failed(format!("Ctrl-C cannot be caught: {error}")))
}
