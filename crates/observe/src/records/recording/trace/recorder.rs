//! The switch of the recorder, and the way into the ring of the current thread.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::event::Event;
use super::{rings, spawned};
use crate::records::recording::switch::Recorder;
use crate::records::recording::ticks::{self, Pair};

/// The moment at which the recorder was first started.
static BEGAN: OnceLock<Pair> = OnceLock::new();
/// The ticks at which it was last started.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// Returns the moment at which the recorder was first started.
pub(super) fn began() -> Pair {
    *BEGAN.get_or_init(Pair::now)
}

/// Returns `true` if the recorder is on.
#[inline]
pub(super) fn is_on() -> bool {
    Recorder::Trace.is_on()
}

/// Adds an event of this thread, which happens now.
#[inline]
pub(super) fn record(event: Event) {
    rings::push(event.words(ticks::now()));
}

/// Switches the recorder on. Returns `true` if it was off.
pub fn start() -> bool {
    began();
    if !is_on() {
        spawned::keep();
    }
    let now = ticks::now();
    let was_off = Recorder::Trace.start();
    if was_off {
        STARTED.store(now, Ordering::Relaxed);
    }
    was_off
}

/// Returns the ticks at which the recorder was last started. Older events are those of another recording.
pub(super) fn started() -> u64 {
    STARTED.load(Ordering::Relaxed)
}

/// Switches the recorder off. The events in memory remain.
pub fn stop() {
    Recorder::Trace.stop();
}
