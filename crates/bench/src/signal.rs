//! A count that a task can wait for: the same few instructions under every
//! runtime, so that nobody's channel is measured with it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

/// Counts up, and wakes the one task that waits.
pub(crate) struct Signal {
    count: AtomicU64,
    waiting: Mutex<Option<Waker>>,
}

impl Signal {
    pub(crate) const fn new() -> Signal {
        Signal {
            count: AtomicU64::new(0),
            waiting: Mutex::new(None),
        }
    }

    /// Counts one up.
    pub(crate) fn raise(&self) {
        self.count.fetch_add(1, Ordering::Release);
        let waker = self.waiting().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits until the count is at least `count`. One task at a time.
    pub(crate) async fn reached(&self, count: u64) {
        poll_fn(|cx| {
            if self.count.load(Ordering::Acquire) >= count {
                return Poll::Ready(());
            }
            *self.waiting() = Some(cx.waker().clone());
            // It may have been raised before the waker was there to be taken.
            match self.count.load(Ordering::Acquire) >= count {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
