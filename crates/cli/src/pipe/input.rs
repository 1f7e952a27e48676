//! The input.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use blitz_io_pipeline::atomic_output::Identity;

use super::Files;
use crate::exit::Exit;

/// A file that can be read, not yet open, or standard input.
pub struct Input {
    /// The path; `None` is standard input.
    path: Option<PathBuf>,
    /// The length in bytes, if it is known.
    pub len: Option<u64>,
}

/// Checks all files, so that a wrong name is reported before anything is done.
pub fn inputs(files: &Files) -> Result<Vec<Input>, Exit> {
    if files.files.is_empty() {
        return Ok(vec![Input::standard()]);
    }
    files.files.iter().map(|path| Input::new(path)).collect()
}

/// Returns all files without a check: one that cannot be read fails when it is opened or read.
pub fn unchecked(files: &Files) -> Vec<Input> {
    if files.files.is_empty() {
        return vec![Input::standard()];
    }
    let files = files.files.iter();
    files
        .map(|path| {
            if path.as_os_str() == "-" {
                return Input::standard();
            }
            let len = match fs::metadata(path) {
                Ok(known) => known.is_file().then_some(known.len()),
                Err(_) => Some(0),
            };
            Input {
                path: Some(path.to_owned()),
                len,
            }
        })
        .collect()
}

/// Returns the length of all inputs in bytes, if it is known.
pub fn len(inputs: &[Input]) -> Option<u64> {
    inputs.iter().map(|input| input.len).sum()
}

impl Input {
    fn standard() -> Input {
        Input {
            path: None,
            len: None,
        }
    }

    fn new(path: &Path) -> Result<Input, Exit> {
        if path.as_os_str() == "-" {
            return Ok(Input::standard());
        }
        let known = fs::metadata(path).map_err(|error| {
            Exit::unreadable(path, error).with_advice(
                "Give files that exist and that you may read, or - for standard input.",
            )
        })?;
        if known.is_dir() {
            return Err(Exit::unreadable(path, "it is a directory")
                .with_advice("Pack it first: tar c DIRECTORY | blitz pipe gzip > FILE"));
        }
        Ok(Input {
            path: Some(path.to_owned()),
            len: known.is_file().then_some(known.len()),
        })
    }

    /// Returns the input's name, for people.
    pub fn name(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => "standard input".to_owned(),
        }
    }

    /// Returns the path as it was given.
    pub fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new("-"))
    }

    pub fn open(&self) -> Result<Box<dyn Read + Send>, Exit> {
        match &self.path {
            Some(path) => match File::open(path) {
                Ok(file) => Ok(Box::new(file)),
                Err(error) => Err(self.unreadable(&error)),
            },
            None => Ok(Box::new(io::stdin())),
        }
    }

    pub fn unreadable(&self, error: &io::Error) -> Exit {
        Exit::Failed(format!("{} cannot be read: {error}", self.name()))
    }

    /// Returns the identity of the file, whatever its name.
    pub fn identity(&self) -> io::Result<Identity> {
        match &self.path {
            Some(path) => Identity::new(path),
            None => Identity::of_stdin(),
        }
    }
}
