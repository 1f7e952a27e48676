//! Abort, drop and shutdown unwind the stacks.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};

use blitz_io::runtime::{Builder, Runtime};
use blitz_io::sync::{Notify, mpsc};
use blitz_io::{fiber, task};

fn multi(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

/// Counts its drops, which must come on the thread that made it.
struct Dropped(Arc<AtomicUsize>, ThreadId, PhantomData<Rc<()>>);

impl Dropped {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        Self(count.clone(), thread::current().id(), PhantomData)
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        assert_eq!(self.1, thread::current().id());
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A fiber that waits for ever, and says when it has begun.
fn waits_for_ever(
    count: &Arc<AtomicUsize>,
    begun: &mpsc::UnboundedSender<()>,
) -> impl FnOnce() + Send + use<> {
    let (count, begun) = (count.clone(), begun.clone());
    move || {
        let _dropped = Dropped::new(&count);
        begun.send(()).unwrap();
        fiber::block_on(pending::<()>());
    }
}

#[test]
fn abort_unwinds_the_stack() {
    for runtime in [
        multi(1),
        multi(4),
        Builder::new_current_thread().build().unwrap(),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let (begun, mut begins) = mpsc::unbounded_channel();
        runtime.block_on(async {
            let fibers: Vec<_> = (0..100)
                .map(|_| fiber::spawn(waits_for_ever(&count, &begun)))
                .collect();
            for _ in 0..100 {
                begins.recv().await.unwrap();
            }
            for fiber in &fibers {
                fiber.abort();
            }
            for fiber in fibers {
                assert!(fiber.await.unwrap_err().is_cancelled());
            }
            assert_eq!(count.load(Ordering::SeqCst), 100);
        });
    }
}

#[test]
fn a_fiber_that_has_not_begun_is_dropped() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let held = Arc::new(());
    let fiber = {
        let (held, _guard) = (held.clone(), runtime.enter());
        fiber::spawn(move || drop(held))
    };
    fiber.abort();
    assert!(runtime.block_on(fiber).unwrap_err().is_cancelled());
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn the_end_of_a_runtime_unwinds_all_stacks() {
    for workers in [1, 2, 4] {
        let runtime = multi(workers);
        let count = Arc::new(AtomicUsize::new(0));
        let (begun, mut begins) = mpsc::unbounded_channel();
        let _guard = runtime.enter();
        let fibers: Vec<_> = (0..200)
            .map(|_| fiber::spawn(waits_for_ever(&count, &begun)))
            .collect();
        (0..200).for_each(|_| begins.blocking_recv().unwrap());
        drop(_guard);
        drop(runtime);
        assert_eq!(count.load(Ordering::SeqCst), 200);
        for fiber in fibers {
            assert!(fiber::block_on(fiber).unwrap_err().is_cancelled());
        }
    }
}

/// The stack may refer to thread-local values that its own thread destroys before it drops the fiber.
#[test]
fn a_fiber_that_is_dropped_on_another_thread_is_leaked() {
    let count = Arc::new(AtomicUsize::new(0));
    let (begun, mut begins) = mpsc::unbounded_channel();
    let inner = count.clone();
    let owner = thread::spawn(move || {
        let runtime = Builder::new_current_thread().build().unwrap();
        let fiber = runtime.block_on(async {
            let fiber = fiber::spawn(waits_for_ever(&inner, &begun));
            begins.recv().await.unwrap();
            [fiber]
        });
        thread::spawn(move || drop(runtime)).join().unwrap();
        let [fiber] = fiber;
        assert!(fiber::block_on(fiber).unwrap_err().is_cancelled());
        fiber::block_on(fiber::run(|| ()));
    });
    owner.join().unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

/// The destructors of thread-local variables come in the opposite order of their first uses.
#[test]
fn a_fiber_that_is_dropped_while_its_thread_ends_is_leaked() {
    thread_local! {
        static KEPT: RefCell<Option<fiber::Fiber<()>>> = const { RefCell::new(None) };
        static VALUE: RefCell<Option<Dropped>> = const { RefCell::new(None) };
    }

    /// The value must be alive when a frame of the fiber is unwound.
    struct Frame(Arc<AtomicUsize>);
    impl Drop for Frame {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    let [unwound, dropped] = [const { AtomicUsize::new(0) }; 2].map(Arc::new);
    let counts = (unwound.clone(), dropped.clone());
    let owner = thread::spawn(move || {
        let (unwound, dropped) = counts;
        assert!(KEPT.take().is_none());
        let mut kept = fiber::run(move || {
            VALUE.set(Some(Dropped::new(&dropped)));
            VALUE.with_borrow(|_| {
                let _frame = Frame(unwound);
                fiber::block_on(pending::<()>());
            });
        });
        let context = &mut Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut kept).poll(context).is_pending());
        KEPT.set(Some(kept));
    });
    owner.join().unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    assert_eq!(unwound.load(Ordering::SeqCst), 0);
}

#[test]
fn a_fiber_whose_thread_has_ended_is_leaked() {
    let count = Arc::new(AtomicUsize::new(0));
    let (begun, mut begins) = mpsc::unbounded_channel();
    let inner = count.clone();
    let runtime = thread::spawn(move || {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            fiber::spawn(waits_for_ever(&inner, &begun));
            begins.recv().await.unwrap();
        });
        runtime
    });
    drop(runtime.join().unwrap());
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[test]
#[allow(
    clippy::async_yields_async,
    reason = "the handle is awaited by another thread"
)]
fn a_fiber_goes_on_when_its_thread_drives_the_runtime_again() {
    let runtime = Arc::new(Builder::new_current_thread().build().unwrap());
    let notify = Arc::new(Notify::new());
    let [fiber] = runtime.block_on(async {
        let notify = notify.clone();
        let fiber = fiber::spawn(move || {
            let here = thread::current().id();
            fiber::block_on(notify.notified());
            assert_eq!(here, thread::current().id());
        });
        task::yield_now().await;
        [fiber]
    });
    let other = runtime.clone();
    let fiber = thread::spawn(move || {
        notify.notify_one();
        other.block_on(async {
            for _ in 0..10 {
                task::yield_now().await;
            }
            assert!(!fiber.is_finished());
        });
        fiber
    });
    let fiber = fiber.join().unwrap();
    runtime.block_on(fiber).unwrap();
}

#[test]
fn unwinding_that_is_caught_goes_on() {
    let runtime = multi(1);
    let count = Arc::new(AtomicUsize::new(0));
    let (begun, mut begins) = mpsc::unbounded_channel();
    runtime.block_on(async {
        let inner = count.clone();
        let fiber = fiber::spawn(move || {
            let _dropped = Dropped::new(&inner);
            for _ in 0..3 {
                _ = std::panic::catch_unwind(|| {
                    begun.send(()).unwrap();
                    fiber::block_on(pending::<()>());
                });
            }
            fiber::block_on(pending::<()>());
        });
        begins.recv().await.unwrap();
        fiber.abort();
        assert!(fiber.await.unwrap_err().is_cancelled());
        assert_eq!(count.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_panic_of_a_destructor_is_the_error() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            if !thread::panicking() {
                std::panic::resume_unwind(Box::new("dropped"));
            }
        }
    }

    let runtime = multi(1);
    runtime.block_on(async {
        let fiber = fiber::spawn(|| {
            let panics = Panics;
            fiber::yield_now();
            drop(panics);
        });
        let error = fiber.await.unwrap_err();
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"dropped"));
    });
}

#[test]
fn a_destructor_that_waits_blocks_the_thread() {
    struct Waits(std::sync::mpsc::Sender<u32>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let (sender, mut receiver) = mpsc::channel(1);
            thread::spawn(move || sender.blocking_send(3).unwrap());
            self.0
                .send(fiber::block_on(receiver.recv()).unwrap())
                .unwrap();
        }
    }

    let runtime = multi(1);
    let (sender, receiver) = std::sync::mpsc::channel();
    let (begun, mut begins) = mpsc::unbounded_channel();
    runtime.block_on(async {
        let fiber = fiber::spawn(move || {
            let _waits = Waits(sender);
            begun.send(()).unwrap();
            fiber::block_on(pending::<()>());
        });
        begins.recv().await.unwrap();
        fiber.abort();
        assert!(fiber.await.unwrap_err().is_cancelled());
    });
    assert_eq!(receiver.recv(), Ok(3));
}

#[test]
fn fibers_of_a_thread_that_lost_its_core_go_on() {
    let runtime = multi(1);
    let count = Arc::new(AtomicUsize::new(0));
    let notify = Arc::new(Notify::new());
    let (begun, mut begins) = mpsc::unbounded_channel();
    runtime.block_on(async {
        let fibers: Vec<_> = (0..10)
            .map(|_| {
                let (count, notify, begun) = (count.clone(), notify.clone(), begun.clone());
                fiber::spawn(move || {
                    let _dropped = Dropped::new(&count);
                    begun.send(()).unwrap();
                    fiber::block_on(notify.notified());
                })
            })
            .collect();
        for _ in 0..10 {
            begins.recv().await.unwrap();
        }
        // Another thread becomes the worker and keeps the core while this one blocks.
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let blocker =
            task::spawn(async move { task::block_in_place(|| receiver.recv().unwrap_err()) });
        let busy = task::spawn(async move {
            drop(sender);
            for _ in 0..1000 {
                task::yield_now().await;
            }
        });
        blocker.await.unwrap();
        busy.await.unwrap();
        notify.notify_waiters();
        for fiber in fibers {
            fiber.await.unwrap();
        }
        assert_eq!(count.load(Ordering::SeqCst), 10);
    });
}
