//! Helpers that the models share.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use blitz_io_driver::{Driver, Registration, Wakers, model::Source};
use blitz_io_futex::atomic::{AtomicU32, Ordering};

/// Explores with up to `preemptions` preemptions, or fewer if the environment says so.
pub fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(bound.min(preemptions));
    builder.check(test);
}

/// Creates a driver and one source that is registered with it. The registration is not
/// dropped, since it cannot be after a deadlock was found.
pub fn driver() -> (Arc<Driver>, Source, ManuallyDrop<Registration>) {
    let driver = Driver::new(8, None).unwrap();
    let (source, registration) = register(&driver);
    (driver, source, registration)
}

/// Registers one more source.
pub fn register(driver: &Arc<Driver>) -> (Source, ManuallyDrop<Registration>) {
    let mut source = Source::default();
    let registration = Registration::new(&mut source, (), driver).unwrap();
    (source, ManuallyDrop::new(registration))
}

/// Parks once, and wakes the ready tasks.
pub fn park(driver: &Driver) -> bool {
    let mut wakers = Wakers::new();
    let unparked = driver.park(None, &mut wakers);
    wakers.wake_all();
    unparked
}

/// Runs a future to its end. It is dropped only then, since it cannot be after a deadlock
/// was found.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let flag = Arc::new(Flag(AtomicU32::new(0)));
    let waker = Waker::from(flag.clone());
    let mut future = ManuallyDrop::new(Box::pin(future));
    loop {
        if let Poll::Ready(result) = poll(future.as_mut(), &waker) {
            drop(ManuallyDrop::into_inner(future));
            return result;
        }
        blitz_io_futex::wait(&flag.0, 0);
        flag.0.swap(0, Ordering::AcqRel);
    }
}

/// Polls a future once.
pub fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Wakes the thread that runs a future.
struct Flag(AtomicU32);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.swap(1, Ordering::AcqRel);
        blitz_io_futex::wake_one(&raw const self.0);
    }
}
