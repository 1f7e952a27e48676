//! Code that the models share.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::fences;
use loom::cell::UnsafeCell;

/// Explores with up to `preemptions` of them, or fewer if the environment says:
/// once with every store in order, once with stores that may be late.
#[allow(dead_code)]
pub fn model(preemptions: usize, test: impl Fn() + Copy + Sync + Send + 'static) {
    model_in_order(preemptions, test);
    fences::model::with_late_stores(|| model_in_order(preemptions, test));
}

/// Runs `test` like `model`, but with every store in order: for code that publishes lightly only inside of a
/// lock with models of its own.
#[allow(dead_code)]
pub fn model_in_order(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(bound.min(preemptions));
    builder.check(test);
}

/// A deadline that passes only when the model says so.
#[allow(dead_code)]
pub fn soon() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

/// Runs a future to its end. loom's own can not be dropped after a deadlock was
/// found; nor can the future, so it is dropped only when it has ended.
#[allow(dead_code)]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let wake_thread = Arc::new(WakeThread(AtomicU32::new(0)));
    let waker = Waker::from(wake_thread.clone());
    let mut future = ManuallyDrop::new(Box::pin(future));
    loop {
        if let Poll::Ready(result) = poll(future.as_mut(), &waker) {
            drop(ManuallyDrop::into_inner(future));
            return result;
        }
        blitz_io_futex::wait(&wake_thread.0, 0);
        wake_thread.0.swap(0, Ordering::AcqRel);
    }
}

/// Polls a future once.
#[allow(dead_code)]
pub fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Wakes the thread that runs a future.
struct WakeThread(AtomicU32);

impl Wake for WakeThread {
    fn wake(self: Arc<Self>) {
        // Not a plain store: a wake that is overwritten must still be visible to the woken
        // thread.
        self.0.swap(1, Ordering::AcqRel);
        blitz_io_futex::wake_one(&raw const self.0);
    }
}

/// A number that a lock guards, and that loom watches for unsynchronised access.
#[allow(dead_code)]
pub struct Counter<L> {
    pub lock: L,
    value: UnsafeCell<u32>,
}

// SAFETY: the callers of `add` and `get` keep each other out by the lock, which loom checks.
unsafe impl<L: Sync> Sync for Counter<L> {}
// SAFETY: a number may go anywhere.
unsafe impl<L: Send> Send for Counter<L> {}

#[allow(dead_code)]
impl<L> Counter<L> {
    pub fn of(lock: L) -> Arc<Self> {
        let value = UnsafeCell::new(0);
        Arc::new(Self { lock, value })
    }

    /// Adds one. The caller has the lock.
    pub fn add(&self) {
        // SAFETY: as the caller has the lock.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    /// The number. The caller has the lock, or the other threads have ended.
    pub fn get(&self) -> u32 {
        // SAFETY: no other thread uses it now, which loom checks.
        self.value.with(|value| unsafe { *value })
    }
}
