//! The time for which a timer was late: the task that waits for it was ready, and no worker was free to notice that.
//!
//! Timers are checked by workers between polls. While polls block all workers, a deadline passes, and nothing wakes the
//! task. The recording has the deadline of a timer as the number of the wait, in microseconds. The part of the wait after it
//! is that of a task that is ready.

use blitz_io_observe::Kind;

use super::lives::{Did, Life, Segment};
use super::processes::local;
use super::recording::{Recording, Target};

/// A timer fires at a whole millisecond after its deadline, so it is not late for up to this many nanoseconds more.
const TICK: u64 = 1_000_000;

/// Divides the waits of a life for timers that were late.
pub(super) fn divide(recording: &Recording, life: &mut Life) {
    let is_late = |segment: &Segment| due(recording, segment).is_some();
    if !life.segments.iter().any(is_late) {
        return;
    }
    let mut segments: Vec<Segment> = Vec::with_capacity(life.segments.len());
    for segment in &life.segments {
        let mut segment = *segment;
        if let Some(due) = due(recording, &segment) {
            segments.push(Segment { to: due, ..segment });
            segment.from = due;
            segment.did = Did::Ready;
        } else if let Some(before) = segments.last_mut() {
            // One time in which it was ready, not two.
            let are_ready = matches!((before.did, segment.did), (Did::Ready, Did::Ready));
            if are_ready && before.to == segment.from {
                before.to = segment.to;
                continue;
            }
        }
        segments.push(segment);
    }
    life.segments = segments;
}

/// Returns the moment at which the timer of a wait was due, if it is within the wait.
fn due(recording: &Recording, segment: &Segment) -> Option<u64> {
    let Did::Wait(Some(wait), _) = segment.did else {
        return None;
    };
    let is_timer = recording.kind(wait.kind).0.is_some_and(Kind::is_timer);
    let Target::Number(deadline) = wait.target else {
        return None;
    };
    let deadline = local(deadline).saturating_mul(1_000);
    let due = deadline.saturating_add(TICK);
    let is_within = segment.from <= deadline && due < segment.to;
    (is_timer && !segment.in_poll && is_within).then_some(due)
}
