//! The measurements behind `docs/second-opinion.md`, one function for each question.
//!
//! The contenders of each question run in turns in one process, the work of every
//! iteration is verified, and medians are shown with their 95 % intervals.

mod barriers;
pub(crate) mod counts;
mod io;
mod measure;
mod naive;
mod peers;
mod rwlock;
mod semaphore;
mod show;
mod spin;
mod tasks;

use std::path::Path;

use crate::scenario::Failure;
use measure::Effort;

pub use peers::step::run as step;

/// A question to answer by measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// Question 2: what a contended semaphore costs, and why.
    Semaphore,
    /// Question 3: what a contended reader-writer lock costs, and why.
    Rwlock,
    /// Question 4: barriers of every kind, side by side.
    Barriers,
    /// Question 5: how long to try before sleeping. Draws the curves into an SVG file,
    /// if one is given.
    Spin(Option<&'a Path>),
    /// Question 6: what each peer does, in instructions and in bytes.
    Peers,
    /// Question 7: how many system calls a server makes for an operation of tier 6.
    Io,
}

/// Measures, and returns the answer as text. With `quick` it takes a few seconds, and
/// its figures only show that everything works.
///
/// # Errors
///
/// Fails if a contender lost work, or a file cannot be written.
pub fn answer(question: Question<'_>, quick: bool) -> Result<String, Failure> {
    let effort = Effort::new(quick);
    match question {
        Question::Semaphore => semaphore::answer(effort),
        Question::Rwlock => rwlock::answer(effort),
        Question::Barriers => barriers::answer(effort),
        Question::Spin(plot) => spin::answer(effort, plot),
        Question::Peers => peers::answer(effort),
        Question::Io => io::answer(effort, quick),
    }
}
