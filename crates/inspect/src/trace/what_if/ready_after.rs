//! The time in which tasks were ready after the waits that a scenario makes shorter, and no worker was free.
//!
//! If polls block the workers, a timer that fires earlier lets its task be ready earlier, and the task waits for a worker. A
//! replay has the polls where the recording had them, so it may find a worker that a real run would not have. If the
//! tasks were ready for longer than they had waited, a prediction says so, and names the longest poll.

use serde::Serialize;

use super::change::{Change, Scenario};
use crate::trace::cause::Category;
use crate::trace::lives::{Did, Lives};
use crate::trace::polls::{LongestPoll, longest_poll};
use crate::trace::recording::Recording;
use crate::trace::report::slowest_first;
use crate::trace::split::Splitter;

/// The time in which tasks were ready after their waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadyAfter {
    /// The time of the waits, in nanoseconds.
    pub waited: u64,
    /// The time between their ends and the next polls of their tasks, in nanoseconds.
    pub ready: u64,
    /// The longest poll of the recording.
    pub longest_poll: Option<LongestPoll>,
}

/// Returns the time after the waits that the scenario makes shorter, if it is longer than these.
pub(super) fn ready_after(
    recording: &Recording,
    lives: &Lives,
    scenario: &Scenario,
) -> Option<ReadyAfter> {
    let splitter = Splitter::new(recording, lives);
    let (mut waited, mut ready) = (0_u64, 0_u64);
    for (&waiter, life) in &lives.lives {
        for (place, segment) in life.segments.iter().enumerate() {
            let Did::Wait(wait, ender) = segment.did else {
                continue;
            };
            let cause = splitter.cause_of(waiter, wait, ender);
            // Others decide how long a wait for a lock or a permit is.
            let is_own = matches!(cause.category, Category::Timer | Category::Socket);
            let is_shorter = |change: &Change| match change {
                Change::Scale(words, factor) => *factor < 1.0 && words.describe(recording, &cause),
                _ => false,
            };
            if segment.in_poll || !is_own || !scenario.changes.iter().any(is_shorter) {
                continue;
            }
            waited = waited.saturating_add(segment.to - segment.from);
            let next = life.segments.get(place + 1);
            if let Some(next) = next.filter(|next| matches!(next.did, Did::Ready)) {
                ready = ready.saturating_add(next.to - next.from);
            }
        }
    }
    (ready > waited).then(|| ReadyAfter {
        waited,
        ready,
        longest_poll: longest_poll(recording, lives, &slowest_first(lives, &splitter)),
    })
}
