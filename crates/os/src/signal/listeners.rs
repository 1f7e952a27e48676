//! Listeners for events of the system: which of them have an event to receive, and their wakers.
//!
//! A lock guards, for each listener, whether an event has come that it has not been told of,
//! and its waker.
//!
//! # No event is lost
//!
//! 1. A listener checks for an event and stores its waker in one critical section.
//! 2. A notification records the event and takes the waker in another one.
//! 3. If the listener is first, its waker is woken. If the notification is first, the listener
//!    sees the event.
//!
//! The end works like an event for all listeners that no listener takes.
//!
//! Wakers are cloned, woken and dropped without the lock, because they may run foreign code.

use std::collections::BTreeMap;
use std::mem;
use std::task::{Poll, Waker};

use blitz_io_core::Panics;
use blitz_io_sync::thread::Mutex;

/// A set of listeners; see the module documentation.
pub(super) struct Listeners(Mutex<State>);

struct State {
    /// The number of the next listener.
    next: u64,
    /// There will be no more events.
    have_ended: bool,
    waiting: BTreeMap<u64, Waiting>,
}

struct Waiting {
    event: u32,
    /// The event has come since the listener was last told.
    is_pending: bool,
    waker: Option<Waker>,
}

impl Listeners {
    /// Creates an empty set.
    pub(super) const fn new() -> Self {
        Self(Mutex::new(State {
            next: 0,
            have_ended: false,
            waiting: BTreeMap::new(),
        }))
    }

    /// Adds a listener for an event, and returns its number.
    pub(super) fn add(&self, event: u32) -> u64 {
        let mut state = self.0.lock();
        let number = state.next;
        state.next += 1;
        let waiting = Waiting {
            event,
            is_pending: false,
            waker: None,
        };
        state.waiting.insert(number, waiting);
        number
    }

    /// Removes the listener with this number.
    pub(super) fn remove(&self, number: u64) {
        let waiting = self.0.lock().waiting.remove(&number);
        drop(waiting);
    }

    /// Takes the event of the listener with this number, or stores its waker. Only the waker of the
    /// last call is woken. Returns `None` if there will be no more events.
    pub(super) fn poll(&self, number: u64, waker: &Waker) -> Poll<Option<()>> {
        let mut stored = None;
        loop {
            let mut state = self.0.lock();
            if state.have_ended {
                return Poll::Ready(None);
            }
            let waiting = state.waiting.get_mut(&number);
            let waiting = waiting.expect("it is there until the drop");
            if mem::take(&mut waiting.is_pending) {
                return Poll::Ready(Some(()));
            }
            if stored.is_some() {
                mem::swap(&mut waiting.waker, &mut stored);
                // Drops the former waker afterwards.
                drop(state);
                return Poll::Pending;
            }
            if (waiting.waker.as_ref()).is_some_and(|known| known.will_wake(waker)) {
                return Poll::Pending;
            }
            drop(state);
            stored = Some(waker.clone());
        }
    }

    /// Records the events for which `has_come` is `true`, and wakes their listeners. Returns how many
    /// there are. If a waker panics, the others are woken nevertheless.
    pub(super) fn notify(&self, has_come: impl Fn(u32) -> bool) -> usize {
        let mut wakers = Vec::new();
        let mut count = 0;
        let mut state = self.0.lock();
        for waiting in state.waiting.values_mut() {
            if has_come(waiting.event) {
                waiting.is_pending = true;
                wakers.extend(waiting.waker.take());
                count += 1;
            }
        }
        drop(state);
        wake_all(wakers);
        count
    }

    /// Returns `true` if there will be no more events.
    #[cfg(unix)]
    pub(super) fn have_ended(&self) -> bool {
        self.0.lock().have_ended
    }

    /// Ends all listeners, also those that are added later.
    #[cfg(unix)]
    pub(super) fn end(&self) {
        let mut state = self.0.lock();
        state.have_ended = true;
        let waiting = state.waiting.values_mut();
        let wakers = waiting.filter_map(|waiting| waiting.waker.take()).collect();
        drop(state);
        wake_all(wakers);
    }
}

fn wake_all(wakers: Vec<Waker>) {
    let mut panics = Panics::new();
    for waker in wakers {
        panics.put_off(|| waker.wake());
    }
    panics.go_on();
}
