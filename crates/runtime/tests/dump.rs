//! Task dumps.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use blitz_io::fiber;
use blitz_io_channel::{mpsc, oneshot};
use blitz_io_runtime::runtime::dump::{Trace, TraceMeta, trace_with};
use blitz_io_runtime::runtime::{Builder, Handle, Runtime};
use blitz_io_runtime::task::{self, Id, yield_now};
use blitz_io_sync::task::{Barrier, Mutex, Notify, Semaphore};

/// Waits until the task waits for something, and returns its trace.
async fn trace_of(handle: &Handle, task: Id) -> (String, usize) {
    loop {
        let dump = handle.dump().await;
        let found = dump.tasks().iter().find(|dumped| dumped.id() == task);
        if let Some(found) = found {
            let stacks = found.trace().resolve_backtraces();
            if !stacks.is_empty() {
                return (found.trace().to_string(), stacks.len());
            }
        }
    }
}

#[test]
fn a_dump_follows_the_chain_of_waits() {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let mutex = Arc::new(Mutex::new(()));
        let (sender, receiver) = oneshot::channel::<()>();
        let (locked, mut is_locked) = mpsc::channel(1);
        let holder = task::spawn({
            let mutex = mutex.clone();
            async move {
                let _guard = mutex.lock().await;
                locked.send(()).await.unwrap();
                _ = receiver.await;
            }
        });
        is_locked.recv().await.unwrap();
        let waiter = task::spawn(async move { drop(mutex.lock().await) });

        let (trace, stacks) = trace_of(runtime.handle(), waiter.id()).await;
        assert_eq!(stacks, 1);
        for part in [
            "for Mutex",
            "dump.rs",
            &format!("held by task {}", holder.id()),
        ] {
            assert!(trace.contains(part), "{part}: {trace}");
        }
        let (trace, _) = trace_of(runtime.handle(), holder.id()).await;
        assert!(trace.contains("oneshot::Receiver"), "{trace}");
        drop(sender);
        waiter.await.unwrap();
        holder.await.unwrap();
        assert_eq!(runtime.handle().dump().await.tasks().iter().count(), 0);
    });
}

/// The tasks of other runtimes, and those that run, are not in it.
#[test]
fn a_dump_has_the_tasks_of_its_runtime_that_wait() {
    let [ours, other] = [(); 2].map(|()| {
        Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap()
    });
    let (_sender, receiver) = oneshot::channel::<()>();
    let theirs = other.spawn(receiver);
    let (tx, rx) = std::sync::mpsc::channel::<()>();
    let (started, is_started) = std::sync::mpsc::channel();
    // It blocks its worker, which delays no dump.
    let blocked = ours.spawn(async move {
        started.send(()).unwrap();
        rx.recv().unwrap();
    });
    is_started.recv().unwrap();
    ours.block_on(async {
        trace_of(other.handle(), theirs.id()).await;
        assert_eq!(ours.handle().dump().await.tasks().iter().count(), 0);
    });
    tx.send(()).unwrap();
    ours.block_on(blocked).unwrap();
}

struct Flag(std::sync::atomic::AtomicUsize);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Captures one poll. Returns how many operations it has reached, and how many have been woken.
fn capture<F: Future>(future: Pin<&mut F>) -> (usize, usize) {
    let flag = Arc::new(Flag(0.into()));
    let waker = Waker::from(flag.clone());
    let mut reached = 0;
    let result = trace_with(
        || {
            assert!(Handle::is_tracing());
            let result = future.poll(&mut Context::from_waker(&waker));
            assert_eq!(flag.0.load(std::sync::atomic::Ordering::Relaxed), 0);
            result
        },
        |_| {
            assert!(!Handle::is_tracing());
            reached += 1;
        },
    );
    assert!(result.is_pending());
    assert!(!Handle::is_tracing());
    (reached, flag.0.load(std::sync::atomic::Ordering::Relaxed))
}

/// In a capture nothing is done, also by operations that could be.
#[test]
fn a_capture_reaches_each_kind_of_operation_and_does_nothing() {
    let runtime = Runtime::new().unwrap();
    let _guard = runtime.enter();
    let (mutex, semaphore, barrier, notify) = (
        Mutex::new(()),
        Semaphore::new(1),
        Barrier::new(2),
        Notify::new(),
    );
    notify.notify_one();
    let (bounded, mut values) = mpsc::channel::<u8>(1);
    let (sender, receiver) = oneshot::channel::<u8>();
    sender.send(1).unwrap();
    let mut all = pin!(async {
        join(
            [
                Box::pin(async { drop(mutex.lock().await) }) as Boxed<'_>,
                Box::pin(async { drop(semaphore.acquire().await.unwrap()) }),
                Box::pin(async { _ = barrier.wait().await }),
                Box::pin(notify.notified()),
                Box::pin(async { bounded.send(1).await.unwrap() }),
                Box::pin(async { assert_eq!(values.recv().await, Some(1)) }),
                Box::pin(async { assert_eq!(receiver.await, Ok(1)) }),
                Box::pin(yield_now()),
                Box::pin(async { blitz_io_runtime::time::sleep(std::time::Duration::ZERO).await }),
                Box::pin(async { task::spawn(async {}).await.unwrap() }),
            ]
            .into(),
        )
        .await;
    });
    assert_eq!(capture(all.as_mut()), (10, 10));
    assert_eq!(
        (mutex.try_lock().is_ok(), semaphore.available_permits()),
        (true, 1)
    );
    runtime.block_on(async {
        let mut other = pin!(barrier.wait());
        poll_fn(|cx| {
            _ = other.as_mut().poll(cx);
            all.as_mut().poll(cx)
        })
        .await;
    });
}

type Boxed<'a> = std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Polls all of them until they are ready.
async fn join(mut futures: Vec<Boxed<'_>>) {
    poll_fn(|cx| {
        futures.retain_mut(|future| future.as_mut().poll(cx).is_pending());
        if futures.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// A lock that was handed to a future before the capture stays that future's.
#[test]
fn a_capture_keeps_the_place_in_a_queue() {
    let mutex = Mutex::new(());
    let held = mutex.try_lock().unwrap();
    let mut waiter = pin!(mutex.lock());
    assert!(
        waiter
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    drop(held);
    assert_eq!(capture(waiter.as_mut()), (1, 1));
    assert!(mutex.try_lock().is_err());
    assert!(
        waiter
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    );
}

// A frame of its own in each build.
#[inline(never)]
fn poll_inner(future: Pin<&mut impl Future>, cx: &mut Context<'_>) -> bool {
    future.poll(cx).is_pending()
}

#[test]
fn a_captured_stack_ends_at_the_root() {
    let mut future = pin!(yield_now());
    let mut root = pin!(Trace::root(poll_fn(|cx| {
        Poll::Ready(Trace::capture(|| poll_inner(future.as_mut(), cx)))
    })));
    let Poll::Ready((is_pending, trace)) =
        root.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    else {
        unreachable!("it is ready at once");
    };
    assert!(is_pending);
    let text = trace.to_string();
    assert!(text.contains("dump::poll_inner"), "{text}");
    assert!(!text.contains("is_captured"), "{text}");
    assert!(
        !text.contains("a_captured_stack_ends_at_the_root at"),
        "{text}"
    );
    assert_eq!(trace.resolve_backtraces().len(), 1);
}

/// A future that is pending, and reached by a capture, until it is woken by hand.
fn reached_until(go: Rc<Cell<bool>>) -> impl Future<Output = ()> {
    poll_fn(move |cx| {
        if go.get() {
            return Poll::Ready(());
        }
        pin!(yield_now()).poll(cx)
    })
}

/// Two fibers are within captures, and roots, of their own, which end in the order in which they began.
#[test]
fn captures_of_two_fibers_end_in_any_order() {
    let found = Rc::new(RefCell::new(Vec::new()));
    let fiber = |name, go: &Rc<Cell<bool>>| {
        let (go, found) = (go.clone(), found.clone());
        Box::pin(fiber::run(move || {
            let mut root = pin!(Trace::root(async {
                let leaf =
                    |meta: &TraceMeta| found.borrow_mut().push((name, meta.root_addr.is_some()));
                trace_with(|| fiber::block_on(reached_until(go)), leaf);
            }));
            assert!(
                root.as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()))
                    .is_ready()
            );
        }))
    };
    let is_ready = |fiber: &mut Pin<Box<fiber::Fiber<()>>>| {
        let polled = fiber.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        // Outside of the fibers there is no capture.
        let future = pin!(yield_now());
        assert!(
            future
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        polled.is_ready()
    };
    fiber::extent(|| {
        for first in [0, 1] {
            let gone = [const { Cell::new(false) }; 2].map(Rc::new);
            let mut fibers = [fiber("a", &gone[0]), fiber("b", &gone[1])];
            assert!(fibers.iter_mut().all(|fiber| !is_ready(fiber)));
            assert_eq!(found.take(), [("a", true), ("b", true)]);
            for next in [first, 1 - first] {
                gone[next].set(true);
                assert!(is_ready(&mut fibers[next]));
            }
            assert!(found.take().is_empty());
        }
    });
}

/// The capture may end, or reach another operation, before the fiber resumes.
#[test]
fn a_fiber_does_not_wait_in_the_function_of_a_capture() {
    let fiber = fiber::run(|| {
        let future = pin!(yield_now());
        let poll = || future.poll(&mut Context::from_waker(Waker::noop()));
        let wait = |_: &TraceMeta| fiber::yield_now();
        let caught = catch_unwind(AssertUnwindSafe(|| trace_with(poll, wait)));
        *caught.unwrap_err().downcast::<String>().unwrap()
    });
    assert!(fiber::block_on(fiber).contains("`trace_with`"));
}
