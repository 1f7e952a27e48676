//! Decisions about faults of a simulated network or disk.

use std::time::Duration;

use super::{Note, note, random};

/// The number of different times that may be drawn.
const STEPS: u32 = 8;

/// Returns the number of which one has this probability, for [`happens`]; 0 if there is none.
#[must_use]
pub fn one_in(probability: f64) -> u32 {
    if probability > 0.0 {
        // The conversion of a float saturates.
        ((1.0 / probability).round() as u32).max(2)
    } else {
        0
    }
}

/// Lets the back end decide about a fault that happens one time in a number. Alternative 1 is the fault, so that a
/// shorter trace has no smaller choice to try.
#[must_use]
pub fn happens(one_in: u32) -> bool {
    one_in != 0 && random(one_in) == Some(1)
}

/// Draws random numbers, and says in a report of the run what they mean, if they are not the harmless ones.
pub fn meaning<R>(draw: impl FnOnce() -> R, text: impl FnOnce(&R) -> String) -> R {
    note(|| Note::Draws);
    let drawn = draw();
    note(|| Note::Meaning(text(&drawn)));
    drawn
}

/// Lets the back end decide about a time. Alternative 0 is the shortest one.
#[must_use]
pub fn time_between(least: Duration, most: Duration) -> Duration {
    let range = most.saturating_sub(least);
    if range.is_zero() {
        return least;
    }
    least + range / (STEPS - 1) * random(STEPS).unwrap_or(0)
}
