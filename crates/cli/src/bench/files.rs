//! The destination of a page.

use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::output;

/// The destination of a page: open, but not yet written.
pub enum Page {
    /// A file.
    File(File, PathBuf),
    /// Standard output.
    Printed,
}

/// Opens the page's file, so that a bad path is reported before the run. The file keeps its
/// content until the new page is written. `-` is standard output.
pub fn open(path: &Path) -> Result<Page, Exit> {
    if path.as_os_str() == "-" {
        return Ok(Page::Printed);
    }
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path);
    match file {
        Ok(file) => Ok(Page::File(file, path.to_owned())),
        Err(error) => Err(Exit::unwritable(path, error).with_advice(
            "--html: give a file in a folder that exists and that you may write to, or - for standard output.",
        )),
    }
}

impl Page {
    /// Returns whether the page goes to standard output.
    pub fn is_printed(&self) -> bool {
        matches!(self, Page::Printed)
    }

    /// Replaces the file's content and prints where it is.
    pub fn write(self, html: &str) -> Result<(), Exit> {
        match self {
            Page::Printed => output::print(html),
            Page::File(file, path) => {
                replace(file, html).map_err(|error| Exit::unwritable(&path, error))?;
                output::tell(format_args!("The page is in {}.\n", path.display()));
                Ok(())
            }
        }
    }
}

fn replace(mut file: File, html: &str) -> std::io::Result<()> {
    file.rewind()?;
    // Devices such as /dev/null have no length to set.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(html.as_bytes())
}
