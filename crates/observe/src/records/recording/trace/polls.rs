//! The beginnings and ends of polls, with the readings of the thread's counters (`delays.rs`).

use super::event::{Code, Event};
use super::rings;
use crate::records::Waiter;
use crate::records::recording::local::LOCAL;
use crate::records::recording::{run_delay, ticks};

/// A poll of the task begins in a thread.
pub(in crate::records::recording) fn poll_begins(task: Waiter, thread: u64) {
    let now = begin(task.word(), thread);
    rings::push(Event::new(Code::Poll, task.word(), thread).words(now));
}

/// The poll ends.
pub(in crate::records::recording) fn poll_ends(task: u64, thread: u64) {
    let now = end(task, thread);
    rings::push(Event::new(Code::PollEnd, task, thread).words(now));
}

/// Reads the counter if that is due before the poll. Returns the time at which the poll begins, in ticks.
#[inline]
fn begin(task: u64, thread: u64) -> u64 {
    let now = ticks::now();
    if !LOCAL.with(|local| local.delays.begins(now, ticks::millisecond())) {
        return now;
    }
    if let Some(counters) = counters(task, thread) {
        counters.push(now);
    }
    ticks::now()
}

/// Reads the counter if that is due at the end of the poll. Returns the time of the end, in ticks.
#[inline]
fn end(task: u64, thread: u64) -> u64 {
    let now = ticks::now();
    if !LOCAL.with(|local| local.delays.ends(now, ticks::millisecond())) {
        return now;
    }
    let counters = counters(task, thread);
    let now = ticks::now();
    if let Some(counters) = counters {
        counters.push(now);
    }
    now
}

/// The two counters of a thread, as events. The reader takes them together.
struct Counters {
    processor: Event,
    delay: Event,
}

impl Counters {
    fn push(&self, ticks: u64) {
        rings::push(self.processor.words(ticks));
        rings::push(self.delay.words(ticks));
    }
}

/// Reads the counters; `None` where the system does not count the delays.
#[cold]
#[inline(never)]
fn counters(task: u64, thread: u64) -> Option<Counters> {
    let delay = u64::try_from(run_delay::total()?.as_nanos()).ok()?;
    let event = |code, total| Event {
        target: thread >> 1,
        ..Event::new(code, task, total)
    };
    Some(Counters {
        processor: event(Code::Processor, run_delay::processor()?),
        delay: event(Code::Delay, delay),
    })
}
