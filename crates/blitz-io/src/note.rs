//! `note`: what a program says about itself in the report of a simulation.

use std::fmt::Display;

use blitz_io_observe::Caller;
use blitz_io_observe::decisions::{self, Note};

/// The begin of the sentence about a note.
pub(crate) const NOTE: &str = "note: ";

/// Adds an event to the report of a failed simulation: `note: ` and this text, with the step, the simulated time, the host, the task
/// and the line of the call.
///
/// Only the run that explains a failure asks for the text. Elsewhere, in a program too, this does nothing. Without the feature `sim`
/// it is the one function of this module, so it may stay in the code that a test simulates. With `format_args!` the text costs
/// nothing unless a report has it; `format!` allocates it each time.
///
/// The notes of a task do not push its other events out of the report. A note outside of tasks, such as in the predicate of
/// `always`, is left out.
///
/// # Examples
///
/// ```
/// use blitz_io::sim;
///
/// fn apply(balance: &mut u64, transfer: u64, amount: u64) {
///     *balance += amount;
///     sim::note(format_args!("transfer {transfer}: the balance is {balance}"));
/// }
///
/// let mut balance = 7;
/// apply(&mut balance, 1, 5);
/// ```
#[track_caller]
#[inline]
pub fn note(what: impl Display) {
    if decisions::explains() {
        keep(&what);
    }
}

#[cold]
#[track_caller]
fn keep(what: &dyn Display) {
    let _call = Caller::here().calls();
    // An event is one line.
    let text = what.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    decisions::note(|| Note::Task(format!("{NOTE}{}", lines.join(" "))));
}
