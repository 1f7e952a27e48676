//! A count that a task can wait for: the same few instructions under every
//! runtime, so that no contender's channel is measured with it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

/// A counter that wakes the one task that waits.
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

    /// Increments the count.
    pub(crate) fn raise(&self) {
        self.count.fetch_add(1, Ordering::Release);
        let waker = self.waiting().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits until the count is at least `count`. At most one task may wait.
    pub(crate) async fn reached(&self, count: u64) {
        poll_fn(|cx| {
            if self.count.load(Ordering::Acquire) >= count {
                return Poll::Ready(());
            }
            *self.waiting() = Some(cx.waker().clone());
            // The count may have been raised before the waker was registered.
            if self.count.load(Ordering::Acquire) >= count {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
