//! Notes for the report of a run: operations of tasks on files, and losses in a crash.
//!
//! In a run that no report explains, these functions do nothing. An operation happens in a task of its own
//! ([`spawn`](super::spawn)), and the note is about the task that has begun it.

use std::io;
use std::path::Path;

use blitz_io_observe::decisions::{self, Note};
pub(super) use blitz_io_observe::decisions::{bytes as count, explains};

/// The number of losses of one crash that a report names.
const LOSSES: usize = 5;

/// Notes an operation that has ended: a sentence without its subject. If it has failed: `fails to …`.
pub(super) fn done<T>(
    result: &io::Result<T>,
    done: impl FnOnce(&T) -> String,
    fails: impl FnOnce() -> String,
) {
    decisions::note(|| {
        Note::Task(match result {
            Ok(value) => done(value),
            Err(error) => format!("fails to {}: {error}", fails()),
        })
    });
}

/// Notes an operation on one path: `creates`, `create`.
pub(super) fn on_path<T>(
    result: io::Result<T>,
    does: &str,
    fails: &str,
    path: &Path,
) -> io::Result<T> {
    done(
        &result,
        |_| format!("{does} {}", shown(path)),
        || format!("{fails} {}", shown(path)),
    );
    result
}

/// Notes a read of a file.
pub(super) fn read(result: &io::Result<usize>, path: &Path) {
    let done_with = |n: &usize| match n {
        0 => format!("reads the end of {}", shown(path)),
        n => format!("reads {} of {}", count(*n), shown(path)),
    };
    done(result, done_with, || format!("read {}", shown(path)));
}

/// Notes a write to a file.
pub(super) fn written(result: &io::Result<usize>, path: &Path) {
    let done_with = |n: &usize| format!("writes {} to {}", count(*n), shown(path));
    done(result, done_with, || format!("write to {}", shown(path)));
}

/// Notes a change of a file's length.
pub(super) fn resized(result: &io::Result<()>, path: &Path, len: u64) {
    let path = shown(path);
    let len = count(usize::try_from(len).unwrap_or(usize::MAX));
    let done_with = |(): &()| format!("sets the length of {path} to {len}");
    done(result, done_with, || {
        format!("set the length of {path} to {len}")
    });
}

/// Notes a sync of a file or a folder.
pub(super) fn synced(result: &io::Result<()>, path: &Path) {
    let done_with = |(): &()| format!("syncs {}", shown(path));
    done(result, done_with, || format!("sync {}", shown(path)));
}

/// Notes an operation on two paths, and the word between them.
pub(super) fn on_paths<T>(
    result: io::Result<T>,
    (does, fails): (&str, &str),
    (from, word, to): (&Path, &str, &Path),
) -> io::Result<T> {
    let paths = || format!("{} {word} {}", shown(from), shown(to));
    done(
        &result,
        |_| format!("{does} {}", paths()),
        || format!("{fails} {}", paths()),
    );
    result
}

/// Returns a path for a note: all paths begin at the root.
pub(super) fn shown(path: &Path) -> String {
    Path::new("/").join(path).display().to_string()
}

/// A loss in a crash.
pub(super) enum Loss {
    /// Bytes at the end of a file with this path.
    Bytes {
        path: String,
        left: usize,
        of: usize,
    },
    /// Writes that have not made this file longer.
    Writes { path: String },
    /// A name that a file or folder has got.
    Name { path: String },
    /// A name that has been removed.
    Removal { path: String },
    /// A new name in the place of an old one.
    Rename { from: String, to: String },
}

/// Returns the losses of a crash in sentences, for the report.
pub(super) fn sentences(losses: &[Loss]) -> Vec<String> {
    let first = losses.iter().take(LOSSES);
    let mut sentences: Vec<String> = first.map(sentence).collect();
    if let more @ 1.. = losses.len().saturating_sub(LOSSES) {
        sentences.push(format!("{more} more changes of files are lost"));
    }
    sentences
}

fn sentence(loss: &Loss) -> String {
    const OF_FILE: &str = "the file was not synced";
    const OF_FOLDER: &str = "its folder was not synced";
    match loss {
        Loss::Bytes { path, left, of } => {
            format!("{path}: {left} of {} left, as {OF_FILE}", count(*of))
        }
        Loss::Writes { path } => format!("{path}: writes are lost, as {OF_FILE}"),
        Loss::Name { path } => format!("{path}: its name is lost, as {OF_FOLDER}"),
        Loss::Removal { path } => format!("{path}: its removal is lost, as {OF_FOLDER}"),
        Loss::Rename { from, to } => {
            format!("{from}: its new name {to} is lost, as {OF_FOLDER}")
        }
    }
}
