//! The files a run reads and writes.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use blitz_bench::Document;
use blitz_bench::scenario::OURS;

use crate::exit::Exit;

/// Reads an older run.
pub fn read(path: &Path) -> Result<Document, Exit> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Exit::usage(
            format_args!("--compare: {shown} cannot be read: {error}"),
            "Keep a run with `blitz bench --json > FILE` and give that file.",
        )
    })?;
    let foreign = |why: &dyn Display| {
        Exit::usage(
            format_args!("--compare: {shown} is not a run of blitz bench: {why}"),
            "Make a new one with `blitz bench --json > FILE`.",
        )
    };
    let document = Document::parse(&text).map_err(|error| foreign(&error))?;
    match document.metadata.runtime.as_str() {
        OURS => Ok(document),
        other => Err(foreign(&format_args!("it is one of {other}"))),
    }
}

/// A page that is open but not yet written.
pub struct Page {
    file: File,
    path: PathBuf,
}

/// Opens the page's file, so that a bad path is known before the run. What the
/// file holds stays until the new page is there.
pub fn open(path: &Path) -> Result<Page, Exit> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path);
    match file {
        Ok(file) => Ok(Page {
            file,
            path: path.to_owned(),
        }),
        Err(error) => Err(Exit::usage(
            format_args!("--html: {} cannot be written: {error}", path.display()),
            "Give a file in a folder that exists and that you may write to.",
        )),
    }
}

impl Page {
    /// Replaces the file's content.
    pub fn write(mut self, html: &str) -> Result<(), Exit> {
        self.replace(html).map_err(|error| {
            let path = self.path.display();
            Exit::Failed(format!("--html: {path} could not be written: {error}"))
        })
    }

    fn replace(&mut self, html: &str) -> std::io::Result<()> {
        self.file.rewind()?;
        // Devices such as /dev/null have no length to set.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(html.as_bytes())
    }
}
