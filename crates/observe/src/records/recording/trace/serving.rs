//! The requests that tasks and threads work for at present, for `blitz why`.
//!
//! They are kept only in a process that answers ([`keep_requests`]). Each has an entry from its beginning to its end, under
//! a lock that is held for one operation on a map. Its waiter has polled the request's future last.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use crate::records::Waiter;

static IS_ON: AtomicBool = AtomicBool::new(false);
static LAST: AtomicU64 = AtomicU64::new(0);
/// The requests by their numbers here.
static SERVING: PerProcess<Mutex<HashMap<u64, Entry>>> = PerProcess::new(Mutex::default);

struct Entry {
    waiter: Waiter,
    name: Box<str>,
}

fn serving() -> MutexGuard<'static, HashMap<u64, Entry>> {
    SERVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the requests that begin from now on, for [`requests`].
pub fn keep_requests() {
    IS_ON.store(true, Ordering::Relaxed);
}

/// Returns `true` if requests are kept.
#[inline]
pub(super) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Returns the names of the requests that have not ended, each with the task or thread that works for it.
#[must_use]
pub fn requests() -> Vec<(Waiter, String)> {
    let serving = serving();
    let all = serving.values();
    all.map(|entry| (entry.waiter, entry.name.to_string()))
        .collect()
}

/// The entry of one request.
pub(super) struct Served {
    number: u64,
    /// The word of the waiter in the entry.
    word: AtomicU64,
}

impl Served {
    /// The current task or thread begins to work for a request with this name.
    #[cold]
    pub(super) fn new(name: &str) -> Self {
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let waiter = Waiter::current();
        let entry = Entry {
            waiter,
            name: name.into(),
        };
        serving().insert(number, entry);
        Self {
            number,
            word: AtomicU64::new(waiter.word()),
        }
    }

    /// The current task or thread works for the request. Mostly it did so before.
    pub(super) fn enter(&self) {
        let waiter = Waiter::current();
        if self.word.swap(waiter.word(), Ordering::Relaxed) != waiter.word() {
            if let Some(entry) = serving().get_mut(&self.number) {
                entry.waiter = waiter;
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        serving().remove(&self.number);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::future::{Future, pending};
    use std::task::{Context, Waker};
    use std::thread;

    use super::*;
    use crate::trace::request;

    /// Returns the waiters of the requests with this name.
    fn waiters(name: &str) -> Vec<Waiter> {
        let own = requests().into_iter().filter(|(_, other)| other == name);
        own.map(|(waiter, _)| waiter).collect()
    }

    #[test]
    fn a_request_is_kept_until_it_ends() {
        keep_requests();
        let kept = request("GET /kept");
        assert_eq!(waiters("GET /kept"), [Waiter::current()]);
        let second = request("GET /kept");
        assert_eq!(waiters("GET /kept").len(), 2);
        drop((kept, second));
        assert_eq!(waiters("GET /kept"), []);
    }

    /// As a task that moves between workers, if it is polled outside of one.
    #[test]
    fn a_request_is_that_of_the_waiter_that_polls_its_future() {
        keep_requests();
        let mut future = Box::pin(request("GET /moved").instrument(pending::<()>()));
        let other = thread::spawn(move || {
            let mut context = Context::from_waker(Waker::noop());
            assert!(future.as_mut().poll(&mut context).is_pending());
            assert_eq!(waiters("GET /moved"), [Waiter::current()]);
            (future, Waiter::current())
        });
        let (future, other) = other.join().unwrap();
        assert_eq!(waiters("GET /moved"), [other]);
        assert_ne!(other, Waiter::current());
        drop(future);
        assert_eq!(waiters("GET /moved"), []);
    }
}
