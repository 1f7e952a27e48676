//! The waits of requests as folded stacks, for flame graphs.

use std::fmt::Write as _;

use super::stacks::stacks;
use crate::trace::recording::Recording;

/// Returns what requests waited for, one stack on each line with its microseconds: the input of `flamegraph.pl`,
/// `inferno-flamegraph` and speedscope.app.
///
/// ```
/// use blitz_io_inspect::trace::{Recording, folded};
///
/// let empty = Recording::parse(b"{\"format\":1}")?;
/// assert_eq!(folded(&empty), "");
/// # Ok::<(), blitz_io_inspect::trace::ParseError>(())
/// ```
#[must_use]
pub fn folded(recording: &Recording) -> String {
    let mut text = String::new();
    for (stack, sum) in stacks(recording) {
        for (depth, frame) in stack.iter().enumerate() {
            let between = if depth == 0 { "" } else { ";" };
            _ = write!(text, "{between}{}", plain(&frame.name));
            if !frame.at.is_empty() {
                _ = write!(text, " at {}", plain(&frame.at));
            }
        }
        _ = writeln!(text, " {}", sum.nanos.div_ceil(1_000));
    }
    text
}

/// Returns the text without characters that have a meaning in the format.
fn plain(text: &str) -> String {
    text.replace(';', ",").replace(['\n', '\r'], " ")
}
