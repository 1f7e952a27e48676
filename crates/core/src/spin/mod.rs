//! Spinning before sleeping: one type, [`Spin`], with four presets.
//!
//! A thread that sleeps and is woken on another processor loses about 8 µs, and its waker one to
//! four. A hand-over between two threads that both run takes less than 0.1 µs. So it pays to spin
//! for a few times as long as a sleep and its wake-up would cost, and not longer. The limits are
//! times, as one `PAUSE` takes 2 ns on some processors and 50 ns on others. `pause.rs` has
//! waits without a yield, `backoff.rs` those without a sleep.
//!
//! ```text
//! let mut spin = Spin::EVENT;
//! while spin.turn() {
//!     if it_has_happened() { return; }
//! }
//! // Announce that this thread sleeps, look again, and sleep.
//! ```
//!
//! **Pause, then yield.** While the other side may be running, a thread looks, pauses for twice
//! as long as last time, and looks again. After about a microsecond it lets another thread of
//! this processor run between two looks. This lets a preempted peer run again when there are more
//! threads than processors, and costs little when there are not. A thread that knows that its
//! peer needs this very processor yields at once; with one processor that is always so.
//!
//! **Failed attempts.** The scheduler charges a thread for the time in which it spins. A woken
//! thread that has run for longer than its waker does not preempt the waker: it runs when the
//! waker blocks. After 5 µs of spinning that doubles the time from a wake-up to the thread's next
//! instruction, and the kind of spinning makes no difference. So where a peer is often late
//! ([`Spin::handoff`]), a thread remembers whether its attempts have failed, and skips some of
//! the next ones (`attempts.rs`).
//!
//! **Strangers.** A yield to a peer is short, as the peer does its work and then waits or yields.
//! A yield to a thread that does not wait for us takes a whole time slice, thousands of times the
//! saving that it was for. A thread that sleeps instead is scheduled soon after it is woken. So a
//! yield that took a time slice or longer begins a silence of the same length. In a silence, no thread of
//! the process yields in order to wait; all go to sleep after their pauses. That limits the loss of
//! threads to strangers, however many they are and however long their slices, to half of their
//! time. A longer silence would cost more than it saves where a stranger comes now and then: all
//! sleep through it, and are woken elsewhere.
//!
//! Under the model checker there is one turn: it explores every schedule anyway, and more
//! turns would only give it more of the same ones. So it is in a simulation, whose tasks all run on this
//! thread: nothing happens while it yields, except that it loses its time slice.

pub use blitz_io_futex::source::yield_now;

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use blitz_io_observe::decisions;

use crate::attempts::Attempts;
use crate::processors::processors;

/// The sum of the first pauses, in `spin_loop` hints: about a microsecond.
const PAUSES: u32 = 32;
/// The pause between two later looks. Every look takes the cache line away from the owner.
const LONG_PAUSE: u32 = 64;

/// Schedulers give time slices of a millisecond and more, and end them at the next tick
/// of their clock, which may be half a slice early. A thread that is to yield back does so long
/// before: it sends or receives at most one buffer of values.
const TIME_SLICE: Duration = Duration::from_micros(500);

/// The time until which no thread yields, in nanoseconds since the first yield.
static SILENT_UNTIL: AtomicU64 = AtomicU64::new(0);

/// A yield that finds no other thread to run takes less than this. One in which a peer runs and
/// yields back takes longer: it has two switches, and the peer's work.
const SWITCHES: Duration = Duration::from_micros(2);

thread_local! {
    /// How this thread's last attempts with [`Spin::handoff`] ended.
    static ATTEMPTS: Cell<Attempts> = const { Cell::new(Attempts::new()) };
    /// `true` if another thread has run in this thread's last yield.
    static SHARES_PROCESSOR: Cell<bool> = const { Cell::new(false) };
}

/// The attempts of a thread that waits for another one, before it sleeps.
#[derive(Debug)]
pub struct Spin {
    /// The length of the next pause, in `spin_loop` hints.
    pause: u32,
    /// The time in which the thread only pauses, because its peer runs.
    trust: Duration,
    /// The time for which it spins, after the first microsecond.
    limit: Duration,
    /// With one processor it sleeps at once: its peer was preempted, and has work to finish.
    sleeps_alone: bool,
    memory: Memory,
    /// The time at which the first microsecond was over.
    began: Option<Instant>,
}

/// The state of a thread's memory of how its attempts end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    None,
    /// The first turn asks whether this attempt is to be skipped.
    Asks,
    /// This attempt is made. Its failure will be remembered.
    Asked,
}

impl Spin {
    /// The time for which a thread spins before it sleeps: a few times the cost of a sleep and a wake-up.
    pub const LIMIT: Duration = Duration::from_micros(60);

    /// The wait for an event that another thread causes, once.
    pub const EVENT: Self = Self {
        pause: 1,
        trust: Duration::ZERO,
        limit: Self::LIMIT,
        sleeps_alone: false,
        memory: Memory::None,
        began: None,
    };

    /// The wait for a lock. Its owner mostly runs, and is about to release it. So the thread yields only
    /// after twice the cost of a sleep and a wake-up.
    pub const LOCK: Self = Self {
        trust: Duration::from_micros(20),
        sleeps_alone: true,
        ..Self::EVENT
    };

    /// The wait of a thread that must not yield. The limit is about the cost of a sleep and a wake-up, so
    /// that spinning costs at most twice as much as the better choice would have.
    pub const PAUSE: Self = Self {
        trust: Duration::from_micros(10),
        limit: Duration::from_micros(10),
        sleeps_alone: true,
        ..Self::EVENT
    };

    /// Returns the wait for the other side of a channel with this many ends, which causes event after event.
    /// The thread skips some attempts after those that have failed.
    pub fn handoff(ends: usize) -> Self {
        if ends > processors() {
            // The peers use the time that passes in the thread's yields.
            return Self::EVENT.yielding();
        }
        Self {
            // A shorter pause would take the cache line away from a peer that is about to write. A
            // peer that needs this very processor is not helped by pauses.
            pause: if SHARES_PROCESSOR.get() { PAUSES } else { 8 },
            memory: Memory::Asks,
            ..Self::EVENT
        }
    }

    /// Adapts the wait to an event that needs this many threads, the waiting one included. With fewer
    /// processors than that the thread yields from the beginning.
    #[inline]
    #[must_use]
    pub fn among(self, threads: usize) -> Self {
        if threads <= processors() {
            self
        } else {
            self.yielding()
        }
    }

    /// Yields from the beginning: the peer may wait for this very processor, because this thread
    /// was just woken where its waker runs, or because the peer itself waits for others. The
    /// processor goes to whichever thread has work. So the thread spins for longer: that costs
    /// less than to sleep and be woken together with many others.
    #[must_use]
    pub const fn yielding(self) -> Self {
        Self {
            pause: PAUSES,
            trust: Duration::ZERO,
            limit: Duration::from_micros(200),
            ..self
        }
    }

    /// Lets a moment pass. Returns `false` when it is time to sleep. Out of line: the paths that find no
    /// need to wait stay short.
    #[cold]
    #[inline(never)]
    pub fn turn(&mut self) -> bool {
        if cfg!(loom) || decisions::is_on() {
            return std::mem::replace(&mut self.pause, 0) != 0;
        }
        if self.memory == Memory::Asks && self.is_skipped() {
            return false;
        }
        if self.pause < PAUSES && processors() > 1 {
            pause(self.pause);
            self.pause *= 2;
            return true;
        }
        self.long_turn()
    }

    fn long_turn(&mut self) -> bool {
        if self.sleeps_alone && processors() == 1 {
            return false;
        }
        let now = Instant::now();
        let spent = now - *self.began.get_or_insert(now);
        if spent < self.trust {
            pause(LONG_PAUSE);
            return true;
        }
        if spent < self.limit {
            // A thread looks as soon as a yield returns, as time has passed.
            let took = timed_yield();
            SHARES_PROCESSOR.set(took.is_some_and(|took| took >= SWITCHES));
            return took.is_some();
        }
        // If a stranger took the time, the peer was not late.
        if self.memory == Memory::Asked && !is_silent(now) {
            with_attempts(Attempts::failed);
        }
        self.memory = Memory::None;
        false
    }

    /// Returns `true` if this thread skips this attempt. If so, all turns are over.
    fn is_skipped(&mut self) -> bool {
        let is_due = with_attempts(Attempts::is_due);
        if is_due {
            self.memory = Memory::Asked;
        } else {
            self.memory = Memory::None;
            (self.pause, self.trust, self.limit) = (PAUSES, Duration::ZERO, Duration::ZERO);
        }
        !is_due
    }
}

fn with_attempts<R>(change: impl FnOnce(&mut Attempts) -> R) -> R {
    let mut attempts = ATTEMPTS.get();
    let result = change(&mut attempts);
    ATTEMPTS.set(attempts);
    result
}

/// Lets another thread run. `false`, at once, if yields have gone to strangers lately.
#[cold]
pub fn yield_to_peers() -> bool {
    timed_yield().is_some()
}

/// Lets another thread run, and returns how long that took. `None`, at once, if yields have gone
/// to strangers lately.
fn timed_yield() -> Option<Duration> {
    let began = Instant::now();
    if is_silent(began) {
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

/// Returns `true` if yields have recently gone to strangers.
fn is_silent(now: Instant) -> bool {
    nanos(now) < SILENT_UNTIL.load(Ordering::Relaxed)
}

fn nanos(moment: Instant) -> u64 {
    static FIRST_YIELD: OnceLock<Instant> = OnceLock::new();
    let since = moment.saturating_duration_since(*FIRST_YIELD.get_or_init(|| moment));
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Pauses for this many `spin_loop` hints.
fn pause(hints: u32) {
    #[cfg(test)]
    tests::PAUSES.set(tests::PAUSES.get() + 1);
    crate::pause::pause(hints);
}

#[cfg(test)]
mod tests;
