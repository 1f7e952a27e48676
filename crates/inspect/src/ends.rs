//! The ends of shared memory that this process has, which register when they join.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blitz_io_core::PerProcess;
use blitz_io_observe as records;

use crate::snapshot::{End, waiter};

static ENDS: PerProcess<Mutex<Vec<Arc<Entry>>>> = PerProcess::new(Mutex::default);

struct Entry {
    user: AtomicU64,
    read: Box<dyn Fn() -> End + Send + Sync>,
}

/// Makes an end known until this is dropped.
#[doc(hidden)]
#[must_use = "a dropped registration ends"]
pub struct RegisteredEnd(Arc<Entry>);

impl RegisteredEnd {
    /// Lets `read` answer for an end, and notes the current thread or task as its user. `read` does not
    /// wait, and is not called after the result was dropped.
    pub fn new(read: impl Fn() -> End + Send + Sync + 'static) -> Self {
        let entry = Arc::new(Entry {
            user: AtomicU64::new(records::Waiter::current().word()),
            read: Box::new(read),
        });
        ends().push(entry.clone());
        Self(entry)
    }

    /// Notes the task or future as the end's user.
    #[inline]
    pub fn used_by(&self, by: records::Acquirer) {
        self.0.user.store(by.word(), Ordering::Relaxed);
    }

    /// Notes the current thread or task as the end's user.
    #[inline]
    pub fn used(&self) {
        let user = records::Waiter::current().word();
        self.0.user.store(user, Ordering::Relaxed);
    }
}

impl Drop for RegisteredEnd {
    /// Waits for a reader.
    fn drop(&mut self) {
        ends().retain(|entry| !Arc::ptr_eq(entry, &self.0));
    }
}

impl fmt::Debug for RegisteredEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredEnd").finish_non_exhaustive()
    }
}

fn ends() -> MutexGuard<'static, Vec<Arc<Entry>>> {
    ENDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads all ends, under the lock that a drop takes.
pub(crate) fn read() -> Vec<End> {
    let read = |entry: &Arc<Entry>| End {
        user: records::Waiter::from_word(entry.user.load(Ordering::Relaxed)).map(waiter),
        ..(entry.read)()
    };
    ends().iter().map(read).collect()
}
