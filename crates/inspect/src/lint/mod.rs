//! Judges what a program did in a run that ended: the orders in which it took its locks, the guards that it kept
//! while a task was suspended, the polls that blocked, the tasks that it left, and what became of its permits and
//! channels.
//!
//! The program writes a file when it exits (`blitz-io-observe`, the recorder `lint`). [`Run::parse`] reads it, and
//! [`judge`] is a pure function from runs to [`Finding`]s. `blitz lint` prints them.
//!
//! ```
//! use blitz_io_inspect::lint::{Lint, Run, judge};
//!
//! let side = |lock, line| {
//!     format!(r#"{{"lock":"{lock}","kind":"Mutex","name":"{lock}","at":"src/bank.rs:{line}"}}"#)
//! };
//! let edge = |task, from, to| format!(r#"{{"from":{from},"to":{to},"owner":{{"task":{task}}}}}"#);
//! let one = edge(1, side("a", 10), side("b", 11));
//! let two = edge(2, side("b", 20), side("a", 21));
//! let run = Run::parse(&format!(r#"{{"format":1,"edges":[{one},{two}]}}"#)).unwrap();
//! let findings = judge(&[run]);
//! assert_eq!(findings.len(), 1);
//! assert_eq!(findings[0].lint, Lint::LockOrder);
//! ```

mod explain;
mod finding;
mod order;
mod polls;
mod resources;
mod run;
mod sarif;
mod waits;

#[cfg(feature = "records")]
mod leaks;

pub use finding::{Finding, Lint};
#[cfg(feature = "records")]
#[doc(hidden)]
#[doc(hidden)]
pub use leaks::runtime_ends;
pub use run::{Edge, Event, Growth, Leak, Lost, Permits, Run, Side, Step, Storm, Write};
pub use sarif::sarif;

/// Returns what could go wrong in the program of these runs. Two findings at the same lines are one.
#[must_use]
pub fn judge(runs: &[Run]) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for run in runs {
        let locks = order::orders(run).into_iter().chain(order::rereads(run));
        let waits = polls::polls(run).chain(waits::waits(run));
        for finding in locks.chain(waits).chain(resources::resources(run)) {
            match all.iter_mut().find(|known| known.is_same(&finding)) {
                Some(known) => {
                    known.count += finding.count;
                    known.certainty = known.certainty.min(finding.certainty);
                    known.is_pedantic &= finding.is_pedantic;
                }
                None => all.push(finding),
            }
        }
    }
    all.sort_by_key(|finding| (finding.is_pedantic, finding.lint, finding.certainty));
    all
}
