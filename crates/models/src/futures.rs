//! Futures, run by a thread of loom's.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use loom::thread::{self, Thread};

/// Runs a future to its end. loom's own function of this name cannot be dropped after a deadlock was
/// found; nor can the future, so it is dropped only when it has ended.
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

/// Runs a future; loom's thread sleeps while it waits. The panic that says "deadlock" cannot
/// leave loom's own `block_on`, as the model counts its waker.
pub fn block_on_parking<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match poll(future.as_mut(), &waker) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future once.
pub fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Polls a future once, with a waker that does nothing.
pub fn poll_idly<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    poll(future, Waker::noop())
}
