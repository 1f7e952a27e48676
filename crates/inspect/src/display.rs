//! A finding as text, without its snapshot.

use std::fmt;
use std::slice;

use crate::report::of_findings;
use crate::snapshot::{Certainty, Finding, LeftOut, Snapshot};

impl Finding {
    /// Returns `true` for what takes long and may end by itself: a `long-poll` or `long-wait`. All other findings end
    /// only if something else happens, which the summary names.
    #[must_use]
    pub fn may_end(&self) -> bool {
        matches!(&*self.kind, "long-poll" | "long-wait")
    }
}

/// Writes `certain` or `probable`.
impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certain => "certain",
            Self::Probable => "probable",
        })
    }
}

/// Writes what a [`report`](crate::report()) has about the finding: the certainty, the kind and the summary in the first
/// line, and below it the waits with their lines of the program. No line break follows the last line.
///
/// A finding has the names of tasks and threads in its summary only. So the lines of the waits have the numbers of tasks and
/// threads, and no names; that of a `block_on`, which has none in the summary, is that of a task. They also lack what a
/// report adds from the rest of the snapshot, such as where a task was spawned and how full a channel is.
///
/// # Examples
///
/// ```
/// # use blitz_io_inspect::{Certainty, Finding};
/// let finding = Finding {
///     certainty: Certainty::Certain,
///     kind: "deadlock".into(),
///     summary: "task 1, task 2 wait for each other".into(),
///     // The waits would follow, each with its line of the program.
///     waiters: Vec::new(),
///     waits: Vec::new(),
///     further: Vec::new(),
/// };
/// let text = finding.to_string();
/// assert_eq!(text, "certain: deadlock: task 1, task 2 wait for each other");
/// ```
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever else waits at a barrier, for example, is not known.
        let snapshot = Snapshot {
            waits: self.waits.clone(),
            left_out: Some(LeftOut::default()),
            ..Snapshot::default()
        };
        f.write_str(of_findings(&snapshot, slice::from_ref(self)).trim_end())
    }
}
