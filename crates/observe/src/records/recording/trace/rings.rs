//! The rings of all threads. A thread takes one with its first event, and keeps it until it ends; then the next
//! thread gets it, with the events that it has. A ring is never freed, so a reader needs no reference, and there
//! are as many as threads have recorded at the same time. A thread that must lose fewer events records into a large ring for a
//! while ([`LargeRing`]); these have a list of free ones of their own.
//!
//! The list of all only grows, under the lock of `FREE`: an element is written before the release store that makes it
//! the first one. A child of a fork keeps the list, with the events of its parent, and has no free rings at first.

use std::cell::Cell;
use std::env;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use crate::records::kernel::ring::{Ring, Words};
use crate::records::recording::local::LOCAL;

/// The variable of the environment with the number of events of a ring.
const EVENTS: &str = "BLITZ_TRACE_EVENTS";
/// The number of events of a ring, unless the environment says another: 2 MiB.
const CAPACITY: usize = 1 << 16;
/// The greatest number that the environment may say: 512 MiB.
const MOST: usize = 1 << 24;

struct Element {
    ring: Ring,
    next: *const Element,
}

static ALL: AtomicPtr<Element> = AtomicPtr::new(ptr::null_mut());
static FREE: PerProcess<Mutex<Vec<&'static Ring>>> = PerProcess::new(Mutex::default);
static FREE_LARGE: PerProcess<Mutex<Vec<&'static Ring>>> = PerProcess::new(Mutex::default);
/// Number of events of threads that have no ring: they are about to end, or take a ring.
static HOMELESS: AtomicU64 = AtomicU64::new(0);
static EVENTS_OF_RING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWNED: Owned = const { Owned };
    static IS_TAKING: Cell<bool> = const { Cell::new(false) };
}

/// Gives away the ring of a thread that ends.
struct Owned;

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(ring) = LOCAL.with(|local| local.ring.take()) {
            free().push(ring);
        }
    }
}

/// The current thread records into a ring of at least this number of events until this is dropped. Then it has its own ring
/// again.
pub struct LargeRing {
    own: Option<&'static Ring>,
    /// It belongs to the thread.
    _thread: PhantomData<*mut ()>,
}

impl LargeRing {
    /// Lets the current thread record into such a ring.
    #[must_use]
    pub fn enter(events: usize) -> Self {
        let mut free = free_large();
        let known = free.iter().position(|ring| ring.capacity() >= events);
        let known = known.map(|at| free.swap_remove(at));
        drop(free);
        let large = known.unwrap_or_else(|| add(events.max(capacity())));
        Self {
            own: LOCAL.with(|local| local.ring.replace(Some(large))),
            _thread: PhantomData,
        }
    }
}

impl Drop for LargeRing {
    fn drop(&mut self) {
        if let Some(large) = LOCAL.with(|local| local.ring.replace(self.own)) {
            free_large().push(large);
        }
    }
}

fn free() -> MutexGuard<'static, Vec<&'static Ring>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn free_large() -> MutexGuard<'static, Vec<&'static Ring>> {
    FREE_LARGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds an event of this thread.
#[inline]
pub(super) fn push(words: Words) {
    match LOCAL.with(|local| local.ring.get()) {
        Some(ring) => ring.push(words),
        None => push_first(words),
    }
}

#[cold]
#[inline(never)]
fn push_first(words: Words) {
    match take() {
        Some(ring) => {
            LOCAL.with(|local| local.ring.set(Some(ring)));
            ring.push(words);
        }
        None => _ = HOMELESS.fetch_add(1, Ordering::Relaxed),
    }
}

/// Returns a ring for this thread; `None` if it is about to end, or is in this function: the memory comes from the
/// program's allocator, which may record events itself.
fn take() -> Option<&'static Ring> {
    if IS_TAKING.replace(true) {
        return None;
    }
    let ring = OWNED.try_with(|_| ()).is_ok().then(|| {
        let known = free().pop();
        known.unwrap_or_else(|| add(capacity()))
    });
    IS_TAKING.set(false);
    ring
}

/// Makes a ring, and adds it to the list.
fn add(capacity: usize) -> &'static Ring {
    let mut new = Box::new(Element {
        ring: Ring::new(capacity),
        next: ptr::null(),
    });
    let _free = free();
    new.next = ALL.load(Ordering::Relaxed);
    let new: &'static Element = Box::leak(new);
    ALL.store(ptr::from_ref(new).cast_mut(), Ordering::Release);
    &new.ring
}

/// Returns the number of events of a ring.
fn capacity() -> usize {
    let known = EVENTS_OF_RING.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let wanted = env::var(EVENTS).ok().and_then(|text| text.parse().ok());
    let capacity = wanted.unwrap_or(CAPACITY).clamp(1, MOST);
    EVENTS_OF_RING.store(capacity, Ordering::Relaxed);
    capacity
}

/// The events of all threads that are lost.
pub(super) struct Lost {
    pub(super) count: u64,
    /// Each of them, but for those of threads without a ring, was before this moment, in ticks.
    pub(super) until: u64,
}

impl Lost {
    /// Adds the lost events of a ring. `first`: the first event that it has, which is later than these.
    fn add(&mut self, count: u64, first: Option<&Words>) {
        self.count += count;
        if let Some([ticks, ..]) = first.filter(|_| count != 0) {
            self.until = self.until.max(*ticks);
        }
    }
}

/// Copies the events of all threads, in no order, and returns those that are lost.
pub(super) fn read(into: &mut Vec<Words>) -> Lost {
    let mut lost = Lost {
        count: HOMELESS.load(Ordering::Relaxed),
        until: 0,
    };
    let mut next: *const Element = ALL.load(Ordering::Acquire);
    // SAFETY: null, or that of an element, which was written before it was linked. None is ever freed.
    while let Some(element) = unsafe { next.as_ref() } {
        let from = into.len();
        let count = element.ring.read(into);
        lost.add(count, into.get(from));
        next = element.next;
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No other test has events with this word.
    const MARK: u64 = 0x5eed;

    #[test]
    fn the_events_of_a_thread_that_has_ended_are_kept() {
        for number in 1..=3 {
            let thread = std::thread::spawn(move || push([number, 1, 1, MARK]));
            thread.join().unwrap();
            let mut events = vec![];
            read(&mut events);
            let marked = events.iter().filter(|words| words[3] == MARK);
            assert_eq!(marked.count() as u64, number);
        }
    }

    #[test]
    fn no_event_is_lost_after_the_latest_first_one() {
        let mut lost = Lost { count: 0, until: 0 };
        lost.add(3, Some(&[70, 1, 1, MARK]));
        lost.add(2, Some(&[50, 1, 1, MARK]));
        // This ring has all of its events.
        lost.add(0, Some(&[90, 1, 1, MARK]));
        lost.add(0, None);
        assert_eq!((lost.count, lost.until), (5, 70));
    }

    #[test]
    fn a_large_ring_is_used_for_a_while_and_again() {
        const MARK: u64 = 0x1a46e;
        let marked = || {
            let mut events = vec![];
            read(&mut events);
            events.iter().filter(|words| words[3] == MARK).count()
        };
        // More than another ring has.
        let count = capacity() + 1;
        let thread = std::thread::spawn(move || {
            push([1, 1, 1, MARK]);
            for _ in 0..2 {
                let _large = LargeRing::enter(4 * count);
                (0..count).for_each(|_| push([1, 1, 1, MARK]));
            }
            push([1, 1, 1, MARK]);
        });
        thread.join().unwrap();
        assert_eq!(marked(), 2 * count + 2);
        let free = free_large();
        let rings = free.iter().filter(|ring| ring.capacity() >= 4 * count);
        assert_eq!(rings.count(), 1);
    }
}
