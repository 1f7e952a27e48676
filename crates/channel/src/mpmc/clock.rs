//! Receivers of moments: `after`, `at`, `tick`, and `never`.
//!
//! One thread, started by the first use, sends them all; it sleeps until the earliest
//! one is due. It holds no channel: one whose receivers have been dropped is gone, and
//! its entry is removed when it is due, or when the entries have doubled in number. The
//! channels count a sender that does not exist, so they are never closed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use blitz_sync::thread::{Condvar, Mutex};

use super::channel::Channel;
use super::receiver::Receiver;

/// With fewer entries than this none are searched for dead ones.
const FEW: usize = 64;

/// When to send a moment, and where.
struct Entry {
    due: Instant,
    period: Option<Duration>,
    channel: Weak<Channel<Instant>>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.due.cmp(&other.due)
    }
}

/// The entries, the earliest first.
struct Schedule {
    entries: BinaryHeap<Reverse<Entry>>,
    /// The number of entries from which on dead ones are searched for.
    crowded: usize,
    has_thread: bool,
}

static SCHEDULE: Mutex<Option<Schedule>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

/// Schedules a moment, and wakes the thread if it is the next one.
fn schedule(entry: Entry) {
    let mut locked = SCHEDULE.lock();
    let schedule = locked.get_or_insert_with(|| Schedule {
        entries: BinaryHeap::new(),
        crowded: FEW,
        has_thread: false,
    });
    let next = schedule.entries.peek();
    let is_next = next.is_none_or(|Reverse(next)| entry.due < next.due);
    schedule.entries.push(Reverse(entry));
    if schedule.entries.len() >= schedule.crowded {
        let is_alive = |Reverse(entry): &Reverse<Entry>| entry.channel.strong_count() != 0;
        schedule.entries.retain(is_alive);
        schedule.crowded = (2 * schedule.entries.len()).max(FEW);
    }
    if !schedule.has_thread {
        let thread = thread::Builder::new().name("blitz-clock".into());
        thread.spawn(run).expect("failed to start a thread");
        schedule.has_thread = true;
    } else if is_next {
        CHANGED.notify_one();
    }
}

/// The thread.
fn run() {
    let mut locked = SCHEDULE.lock();
    loop {
        let entries = locked.as_mut().map(|schedule| &mut schedule.entries);
        let due = entries
            .as_ref()
            .and_then(|entries| entries.peek().map(|Reverse(next)| next.due));
        let now = Instant::now();
        match (due, entries) {
            (Some(due), Some(entries)) if due <= now => {
                if let Some(Reverse(entry)) = entries.pop() {
                    // A waker may be called, so without the lock.
                    drop(locked);
                    send(entry, now);
                    locked = SCHEDULE.lock();
                }
            }
            (Some(due), _) => {
                CHANGED.wait_until(&mut locked, due);
            }
            _ => CHANGED.wait(&mut locked),
        }
    }
}

/// Sends the moment, and schedules the next one.
fn send(mut entry: Entry, now: Instant) {
    let Some(channel) = entry.channel.upgrade() else {
        return;
    };
    // Full: the last tick has not been received, and this one is left out. A waker that
    // panics has nobody to tell but the panic hook, which has been called.
    let result = std::panic::catch_unwind(|| channel.try_send(now));
    drop(result);
    if let Some(due) = entry
        .period
        .and_then(|period| next_tick(entry.due, period, now))
    {
        entry.due = due;
        schedule(entry);
    }
}

/// The first tick after `now`.
fn next_tick(due: Instant, period: Duration, now: Instant) -> Option<Instant> {
    let late = now.saturating_duration_since(due).as_nanos();
    let missed = late / period.as_nanos();
    let missed = u32::try_from(missed).ok()?;
    due.checked_add(period.checked_mul(missed.checked_add(1)?)?)
}

/// A channel with room for one moment, which no sender closes.
fn receiver(due: Option<Instant>, period: Option<Duration>) -> Receiver<Instant> {
    let channel = Arc::new(Channel::new(1));
    if let Some(due) = due {
        let now = Instant::now();
        if due <= now && period.is_none() {
            let _ = channel.try_send(now);
        } else {
            schedule(Entry {
                due,
                period,
                channel: Arc::downgrade(&channel),
            });
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
/// assert!(at(when).recv_blocking().unwrap() >= when);
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
/// ticks.recv_blocking().unwrap();
/// ticks.recv_blocking().unwrap();
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
