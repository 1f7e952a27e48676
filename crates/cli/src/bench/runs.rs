//! Kept runs.

use std::fmt::Display;
use std::path::Path;

use blitz_io_bench::Document;
use blitz_io_bench::scenario::OURS;

use crate::exit::Exit;

/// Reads a run that was kept with `blitz bench --json`.
pub fn read(path: &Path) -> Result<Document, Exit> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Exit::unreadable(path, error)
            .with_advice("Keep a run with `blitz bench --json > FILE` and give that file.")
    })?;
    let foreign = |why: &dyn Display| {
        Exit::unreadable(path, format_args!("it is no run of blitz bench: {why}"))
            .with_advice("Make a new one with `blitz bench --json > FILE`.")
    };
    let document = Document::parse(&text).map_err(|error| foreign(&error))?;
    match document.metadata.runtime.as_str() {
        OURS => Ok(document),
        other => Err(foreign(&format_args!("it is one of {other}"))),
    }
}
