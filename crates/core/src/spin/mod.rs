//! Spinning before sleeping: three policies, and the code that they share.
//!
//! * [`LockSpin`]: for a lock, whose owner mostly runs and is about to release it.
//! * [`EventSpin`]: for an event that another thread will cause, once.
//! * [`HandoffSpin`]: for the other side of a channel, which causes one event after the other.
//!
//! A thread that sleeps and is woken on another processor loses about 8 µs, and its waker one to
//! four. A hand-over between two threads that both run takes less than 0.1 µs. So it pays to spin
//! for a few times as long as a sleep and its wake-up would cost, and not longer. The limits are
//! numbers of yields, or times, as one `PAUSE` takes 2 ns on some processors and 50 ns on others.
//! `backoff.rs` decides how long a thread leaves a contended atomic alone.
//!
//! **Pause, then yield.** While the other side may be running, a thread looks, pauses for twice
//! as long as last time, and looks again. After about a microsecond it lets another thread of
//! this processor run between two looks. This lets a preempted peer run again when there are more
//! threads than processors, and costs little when there are not. A thread that knows that its
//! peer needs this very processor yields at once; with one processor that is always so.
//!
//! **Strangers.** A yield to a peer is short, as the peer does its work and then waits or yields.
//! A yield to a thread that does not wait for us takes a whole time slice, thousands of times the
//! saving that it was for. A thread that sleeps instead is scheduled soon after it is woken. So a
//! yield that took a time slice or longer begins a silence of the same length: no thread of the
//! process yields in order to wait, and all go to sleep after their pauses. That limits the loss of
//! threads to strangers, however many they are and however long their slices, to half of their
//! time. A longer silence would cost more than it saves where a stranger comes now and then: all
//! sleep through it, and are woken elsewhere.
//!
//! Under the model checker there is one turn: it explores every schedule anyway, and more
//! turns would only give it more of the same ones.

mod event;
mod handoff;
mod lock;

pub use event::EventSpin;
pub use handoff::HandoffSpin;
pub use lock::{LockSpin, Owners};

#[cfg(loom)]
pub use loom::thread::yield_now;
#[cfg(not(loom))]
pub use std::thread::yield_now;

use std::hint;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::processors::processors;

/// Schedulers give time slices of a millisecond and more, and end them at the next tick
/// of their clock, which may be half a slice early. A thread that is to yield back does so long
/// before: it sends or receives at most one buffer of values.
const TIME_SLICE: Duration = Duration::from_micros(500);

/// Until when no thread yields, in nanoseconds since the first yield.
static SILENT_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Lets another thread run. `false`, at once, if yields have gone to strangers lately.
#[cold]
pub fn yield_to_peers() -> bool {
    timed_yield().is_some()
}

/// Lets another thread run, and returns how long that took. `None`, at once, if yields have
/// gone to strangers lately.
#[cold]
fn timed_yield() -> Option<Duration> {
    let began = Instant::now();
    if nanos(began) < SILENT_UNTIL.load(Ordering::Relaxed) {
        return None;
    }
    std::thread::yield_now();
    let now = Instant::now();
    let took = now - began;
    if took >= TIME_SLICE {
        SILENT_UNTIL.fetch_max(nanos(now + took), Ordering::Relaxed);
    }
    Some(took)
}

fn nanos(moment: Instant) -> u64 {
    static FIRST_YIELD: OnceLock<Instant> = OnceLock::new();
    let since = moment.saturating_duration_since(*FIRST_YIELD.get_or_init(|| moment));
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Pauses for this many `spin_loop` hints.
fn pause(hints: u32) {
    #[cfg(all(test, not(loom)))]
    tests::PAUSES.set(tests::PAUSES.get() + 1);
    for _ in 0..hints {
        hint::spin_loop();
    }
}

/// Pauses until this is so, for as long as a sleep and a wake-up would take. Whether it is. With
/// one processor it does not pause: the thread that would make it so does not run meanwhile.
///
/// It does not yield, either: a yield to another process may take a time slice.
pub fn pause_until(limit: Duration, is_so: impl Fn() -> bool) -> bool {
    if cfg!(loom) || processors() == 1 {
        return is_so();
    }
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > limit {
            return false;
        }
        pause(16);
    }
    true
}

/// Lets a moment pass for a thread that never sleeps, in a wait that takes this many
/// threads to end.
pub fn relax(threads: usize) {
    if threads <= processors() && !cfg!(loom) {
        hint::spin_loop();
    } else {
        yield_now();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
