//! The outputs of this process that are not finished.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static ALL: Mutex<All> = Mutex::new(All {
    next: 0,
    entries: Vec::new(),
});

/// All unfinished outputs.
pub(super) struct All {
    next: u64,
    entries: Vec<(u64, PathBuf, Option<PathBuf>)>,
}

/// The number of an output among the unfinished ones.
#[derive(Debug)]
pub(super) struct Entry(u64);

pub(super) fn lock() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl All {
    /// Returns whether an output will get this name.
    pub(super) fn contains(&self, target: &Path) -> bool {
        self.entries.iter().any(|(_, its, _)| its == target)
    }

    /// Adds an output by the name that it will get, and its name until then, if it has one.
    pub(super) fn add(&mut self, target: &Path, temporary: Option<PathBuf>) -> Entry {
        let number = self.next;
        self.next += 1;
        self.entries.push((number, target.to_owned(), temporary));
        Entry(number)
    }

    /// Returns the future name of an output, and its present name.
    pub(super) fn names(&self, Entry(number): &Entry) -> (&Path, Option<&Path>) {
        let (_, target, temporary) = &self.entries[self.position(*number)];
        (target, temporary.as_deref())
    }

    /// Notes the name that an output has until it is finished.
    pub(super) fn set_temporary(&mut self, Entry(number): &Entry, temporary: PathBuf) {
        let at = self.position(*number);
        self.entries[at].2 = Some(temporary);
    }

    /// Removes an output. Returns its future name, and its present name.
    pub(super) fn remove(&mut self, entry: Option<Entry>) -> Option<(PathBuf, Option<PathBuf>)> {
        let Entry(number) = entry?;
        let at = self.position(number);
        let (_, target, temporary) = self.entries.swap_remove(at);
        Some((target, temporary))
    }

    fn position(&self, number: u64) -> usize {
        let at = self.entries.iter().position(|(its, ..)| *its == number);
        at.expect("an entry is removed once")
    }
}

/// Removes the files of all unfinished outputs, for a process that is about to end.
///
/// While the returned value exists, a thread that creates, finishes or drops an output waits.
/// So keep it until the process ends, or an output might still get its name.
pub fn remove_unfinished() -> Removed {
    let all = lock();
    for (_, _, temporary) in &all.entries {
        if let Some(temporary) = temporary {
            // Nothing more can be done about a file that cannot be removed.
            let _ = fs::remove_file(temporary);
        }
    }
    Removed(all)
}

/// Keeps outputs from getting their names: see [`remove_unfinished`].
#[must_use = "outputs can get their names as soon as this is dropped"]
pub struct Removed(MutexGuard<'static, All>);

impl fmt::Debug for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Removed")
            .field("outputs", &self.0.entries.len())
            .finish()
    }
}
