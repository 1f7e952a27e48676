//! Waiting on systems that take a timeout instead of a deadline.

use std::time::{Duration, Instant};

use crate::WaitResult;
use crate::word::Word;

/// Sleeps while the word holds `expected`, until `deadline`.
///
/// `sleep` makes one call of the system, which compares the word again. It is given the
/// time left (never zero; `None` means forever), and may sleep for less. It returns whether
/// the thread was woken. If not (a signal, the timeout, any temporary condition), the word
/// and the clock are read again, so neither signals nor short sleeps move the deadline.
pub(super) fn wait<W: Word>(
    word: &W,
    expected: u32,
    deadline: Option<Instant>,
    mut sleep: impl FnMut(Option<Duration>) -> bool,
) -> WaitResult {
    loop {
        if !word.holds(expected) {
            return WaitResult::ValueChanged;
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return WaitResult::TimedOut;
        }
        if sleep(left) {
            return WaitResult::Woken;
        }
    }
}
