//! Models of one operation: its completion against a future that waits, changes its waker,
//! or is dropped.

use std::future::poll_fn;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::{Poll, Waker};

use blitz_io_driver::Wakers;
use blitz_io_driver::model::{Finish, Shared, cancelled, complete};
use blitz_io_futex::atomic::{AtomicBool, Ordering};
use loom::thread;

use crate::model::{block_on, model};

/// An operation that returns its result.
struct Number;

impl Finish for Number {
    type Output = i32;

    fn finish(self, result: i32) -> i32 {
        result
    }
}

/// Acts as the kernel: it has a reference, and completes the operation.
fn kernel<O: Finish, F: FnOnce() + 'static>(
    shared: &Arc<Shared<O>>,
    before: F,
) -> impl FnOnce() + 'static + use<O, F> {
    let lent = Shared::lend(shared);
    move || {
        before();
        let mut wakers = Wakers::new();
        // SAFETY: the address is from `lend`, and this is the only completion.
        unsafe { complete(lent, 7, &mut wakers) };
        wakers.wake_all();
    }
}

/// The future gets the result, whatever waker it had before.
fn a_completion_arrives(wakers_before: usize) {
    model(3, move || {
        let shared = ManuallyDrop::new(Shared::new(Number));
        let kernel = thread::spawn(kernel(&shared, || ()));
        for _ in 0..wakers_before {
            if let Some((_, result)) = shared.poll(Waker::noop()) {
                assert_eq!(result, 7);
                kernel.join().unwrap();
                return;
            }
        }
        let result = block_on(poll_fn(|context| match shared.poll(context.waker()) {
            Some((operation, result)) => Poll::Ready(operation.finish(result)),
            None => Poll::Pending,
        }));
        assert_eq!(result, 7);
        kernel.join().unwrap();
    });
}

#[test]
fn a_completion_wakes_the_future() {
    a_completion_arrives(0);
}

#[test]
fn a_completion_wakes_the_last_waker() {
    a_completion_arrives(1);
}

/// A buffer that the kernel writes to until it reports completion.
struct Buffer(Arc<AtomicBool>);

impl Finish for Buffer {
    type Output = ();

    fn finish(self, _: i32) {}
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let is_free = self.0.load(Ordering::Relaxed);
        assert!(is_free || thread_panics(), "freed while the kernel has it");
    }
}

fn thread_panics() -> bool {
    std::thread::panicking()
}

/// A future that is dropped at any moment leaves its buffer to the kernel, and the buffer
/// is freed.
fn a_drop_keeps_the_buffer() {
    model(3, || {
        let is_free = Arc::new(AtomicBool::new(false));
        let shared = Shared::new(Buffer(is_free.clone()));
        let free = is_free.clone();
        let kernel = kernel(&shared, move || free.store(true, Ordering::Relaxed));
        let kernel = thread::spawn(kernel);
        let polled = shared.poll(Waker::noop());
        drop(polled);
        drop(shared);
        kernel.join().unwrap();
        // Only this test's reference: the buffer's was dropped.
        assert_eq!(Arc::strong_count(&is_free), 1);
    });
}

#[test]
fn a_buffer_stays_until_the_kernel_lets_go() {
    a_drop_keeps_the_buffer();
}

/// A request to cancel may reach the kernel after the operation has completed and its
/// future was dropped. No other operation gets the address before that.
fn a_cancelled_operation_stays_while_it_is_named() {
    model(3, || {
        let is_gone = Arc::new(AtomicBool::new(false));
        let shared = Shared::new(Named(is_gone.clone()));
        let kernel = thread::spawn(kernel(&shared, || ()));
        if shared.poll(Waker::noop()).is_some() {
            // A completed operation is not cancelled.
            kernel.join().unwrap();
            return;
        }
        let lent = Shared::lend_to_cancel(&shared).expose_provenance();
        drop(shared);
        let gone = is_gone.clone();
        let canceller = thread::spawn(move || {
            assert!(!gone.load(Ordering::Relaxed), "the address is another's");
            let mut wakers = Wakers::new();
            let lent = std::ptr::with_exposed_provenance(lent);
            // SAFETY: the address is from `lend_to_cancel`, and this is the only completion.
            unsafe { cancelled(lent, &mut wakers) };
            wakers.wake_all();
        });
        kernel.join().unwrap();
        canceller.join().unwrap();
        assert!(is_gone.load(Ordering::Relaxed), "never freed");
    });
}

/// An operation that records when its memory may be reused.
struct Named(Arc<AtomicBool>);

impl Finish for Named {
    type Output = ();

    fn finish(self, _: i32) {}
}

impl Drop for Named {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_request_to_cancel_names_no_other_operation() {
    a_cancelled_operation_stays_while_it_is_named();
}
