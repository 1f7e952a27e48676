//! Receivers of moments: `after`, `at`, `tick`, and `never`.
//!
//! One thread, started by the first use, sends them all; it sleeps until the earliest one is due.
//! It does not keep channels alive: when the receivers of a channel have been dropped, its entry
//! is removed when it is due, or when the entries have doubled in number. The channels count a
//! sender that does not exist, so they are never closed.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_core::PerProcess;
use blitz_io_observe::decisions;
use blitz_io_sync::thread::{Condvar, Mutex};

use super::chan::Channel;
use super::receiver::Receiver;

/// Number of entries below which no search for dead ones begins.
const FEW: usize = 64;

/// A channel to which the clock sends a moment.
struct Entry {
    period: Option<Duration>,
    channel: Weak<Channel<Instant>>,
}

struct Schedule {
    /// The entries, by the time when they are due, and by their channels.
    entries: BTreeMap<(Instant, usize), Entry>,
    /// The number of entries at which a search for dead ones begins.
    crowded: usize,
    has_thread: bool,
}

struct Clock {
    schedule: Mutex<Schedule>,
    /// Notified when another moment is the earliest one.
    changed: Condvar,
}

// A forked child does not have the thread.
static CLOCK: PerProcess<Clock> = PerProcess::new(|| Clock {
    schedule: Mutex::new(Schedule {
        entries: BTreeMap::new(),
        crowded: FEW,
        has_thread: false,
    }),
    changed: Condvar::new(),
});

/// Schedules a moment, and wakes the thread if it is the next one.
fn schedule(due: Instant, entry: Entry) {
    let mut schedule = CLOCK.schedule.lock();
    let next = schedule.entries.first_key_value();
    let is_next = next.is_none_or(|(&(next, _), _)| due < next);
    let key = (due, entry.channel.as_ptr() as usize);
    schedule.entries.insert(key, entry);
    if schedule.entries.len() >= schedule.crowded {
        let is_alive = |_: &_, entry: &mut Entry| entry.channel.strong_count() != 0;
        schedule.entries.retain(is_alive);
        schedule.crowded = (2 * schedule.entries.len()).max(FEW);
    }
    if !schedule.has_thread {
        let thread = thread::Builder::new().name("blitz-clock".into());
        // It is none of a test's.
        let started = decisions::with_system(|| thread.spawn(run));
        started.expect("failed to start a thread");
        schedule.has_thread = true;
    } else if is_next {
        CLOCK.changed.notify_one();
    }
}

/// Runs the thread of the clock.
fn run() {
    blitz_io_observe::serves_process();
    let mut locked = CLOCK.schedule.lock();
    loop {
        let now = Instant::now();
        match locked.entries.first_entry() {
            Some(first) if first.key().0 <= now => {
                let ((due, _), entry) = first.remove_entry();
                // A waker may be called, so without the lock.
                drop(locked);
                send(due, entry, now);
                locked = CLOCK.schedule.lock();
            }
            Some(first) => {
                let due = first.key().0;
                CLOCK.changed.wait_until(&mut locked, due);
            }
            None => CLOCK.changed.wait(&mut locked),
        }
    }
}

/// Sends the moment, and schedules the next one.
fn send(due: Instant, entry: Entry, now: Instant) {
    let Some(channel) = entry.channel.upgrade() else {
        return;
    };
    // Full: the last tick has not been received, and this one is left out. A waker that
    // panics is reported by the panic hook, and by nothing else.
    let result = std::panic::catch_unwind(|| channel.try_send(now));
    drop(result);
    let period = entry.period;
    if let Some(due) = period.and_then(|period| next_tick(due, period, now)) {
        schedule(due, entry);
    }
}

/// Returns the first tick after `now`.
fn next_tick(due: Instant, period: Duration, now: Instant) -> Option<Instant> {
    let late = now.saturating_duration_since(due).as_nanos();
    let missed = late / period.as_nanos();
    let missed = u32::try_from(missed).ok()?;
    due.checked_add(period.checked_mul(missed.checked_add(1)?)?)
}

/// Creates a channel with room for one moment, which no sender closes.
fn receiver(due: Option<Instant>, period: Option<Duration>) -> Receiver<Instant> {
    let channel = Arc::new(Channel::new(1));
    if let Some(due) = due {
        let now = Instant::now();
        if due <= now && period.is_none() {
            let _ = channel.try_send(now);
        } else {
            let channel = Arc::downgrade(&channel);
            schedule(due, Entry { period, channel });
        }
    }
    Receiver::new(channel)
}

/// Creates a receiver that gets the current moment once, after `duration`. The channel
/// is never closed.
///
/// The first receiver of this kind starts a thread that sends to all of them.
///
/// ```
/// use blitz_io::sync::mpmc::{after, select, unbounded};
/// use std::time::Duration;
///
/// let (_sender, receiver) = unbounded::<u32>();
/// let timeout = Duration::from_millis(5);
/// select! {
///     recv(receiver) -> value => panic!("nobody sends {value:?}"),
///     recv(after(timeout)) -> _ => println!("timed out"),
/// }
/// ```
#[must_use]
pub fn after(duration: Duration) -> Receiver<Instant> {
    receiver(Instant::now().checked_add(duration), None)
}

/// Creates a receiver that gets the current moment once, at `when`. The channel is never
/// closed.
///
/// ```
/// use blitz_io::sync::mpmc::at;
/// use std::time::{Duration, Instant};
///
/// let when = Instant::now() + Duration::from_millis(5);
/// assert!(at(when).blocking_recv().unwrap() >= when);
/// ```
#[must_use]
pub fn at(when: Instant) -> Receiver<Instant> {
    receiver(Some(when), None)
}

/// Creates a receiver that gets the current moment every `duration`, for the first time
/// after `duration`. The channel is never closed. It keeps one moment: ticks that come
/// before that has been received are left out.
///
/// # Panics
///
/// Panics if `duration` is zero.
///
/// ```
/// use blitz_io::sync::mpmc::tick;
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let ticks = tick(Duration::from_millis(5));
/// ticks.blocking_recv().unwrap();
/// ticks.blocking_recv().unwrap();
/// assert!(start.elapsed() >= Duration::from_millis(10));
/// ```
#[must_use]
#[track_caller]
pub fn tick(duration: Duration) -> Receiver<Instant> {
    assert!(!duration.is_zero(), "`duration` must be non-zero");
    receiver(Instant::now().checked_add(duration), Some(duration))
}

/// Creates a receiver that never gets anything. The channel is never closed.
///
/// ```
/// use blitz_io::sync::mpmc::{after, never, select};
/// use std::time::Duration;
///
/// let timeout: Option<Duration> = None;
/// let timeout = timeout.map_or_else(never, after);
/// select! {
///     recv(timeout) -> _ => panic!("it never times out"),
///     default => {}
/// }
/// ```
#[must_use]
pub fn never<T>() -> Receiver<T> {
    Receiver::new(Arc::new(Channel::new(0)))
}
