//! Abort, drop and shutdown unwind the stacks.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};

use blitz_io::runtime::{Builder, Runtime, UnhandledPanic};
use blitz_io::sync::{Notify, mpsc};
use blitz_io::task::LocalSet;
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

thread_local! {
    static VALUE: RefCell<Option<Dropped>> = const { RefCell::new(None) };
    static KEPT: RefCell<Option<fiber::Fiber<()>>> = const { RefCell::new(None) };
}

/// A frame with a reference to a thread-local value. It expects that the value is alive when it ends.
struct Frame<'a>(&'a RefCell<Option<Dropped>>, Arc<AtomicUsize>);

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        let value = self.0.borrow();
        assert_eq!(value.as_ref().unwrap().0.load(Ordering::SeqCst), 0);
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

/// Numbers of ended frames, and of dropped thread-local values.
#[derive(Clone, Default)]
struct Counts {
    frames: Arc<AtomicUsize>,
    values: Arc<AtomicUsize>,
}

impl Counts {
    /// A fiber that waits for ever with a reference to a thread-local value.
    fn fiber(&self) -> fiber::Fiber<()> {
        let counts = self.clone();
        fiber::run(move || {
            VALUE.with(|value| {
                (value.borrow_mut()).get_or_insert_with(|| Dropped::new(&counts.values));
                let _frame = Frame(value, counts.frames);
                fiber::block_on(pending::<()>());
            });
        })
    }

    fn now(&self) -> [usize; 2] {
        [&self.frames, &self.values].map(|count| count.load(Ordering::SeqCst))
    }
}

fn poll(fiber: &mut fiber::Fiber<()>) -> std::task::Poll<()> {
    Pin::new(fiber).poll(&mut Context::from_waker(Waker::noop()))
}

/// Each way in which the future of a fiber that waits can get out of reach.
#[test]
fn a_fiber_ends_with_its_extent_wherever_its_future_is() {
    let ways: [fn(fiber::Fiber<()>); 4] = [
        std::mem::forget,
        |fiber| KEPT.set(Some(fiber)),
        |fiber| {
            struct Cycle(RefCell<Option<(fiber::Fiber<()>, Rc<Cycle>)>>);
            let cycle = Rc::new(Cycle(RefCell::new(None)));
            cycle.0.replace(Some((fiber, cycle.clone())));
        },
        |mut fiber| _ = poll(&mut fiber),
    ];
    for put in ways {
        let counts = Counts::default();
        let inner = counts.clone();
        let owner = thread::spawn(move || {
            // Its destructor comes after that of the value, as the reverse order of their first uses has it.
            assert!(KEPT.take().is_none());
            fiber::extent(|| {
                let mut fiber = inner.fiber();
                assert!(poll(&mut fiber).is_pending());
                put(fiber);
            });
            assert_eq!(inner.now(), [1, 0]);
        });
        owner.join().unwrap();
        assert_eq!(counts.now(), [1, 1]);
    }
}

/// Another thread uses the reference until the frame is gone.
#[test]
fn a_thread_that_a_forgotten_fiber_has_lent_a_value_ends_before_the_value() {
    thread_local! {
        static LENT: LentValue = const { LentValue };
    }
    struct LentValue;
    impl Drop for LentValue {
        fn drop(&mut self) {
            assert!(IS_BACK.load(Ordering::SeqCst));
        }
    }
    static IS_BACK: AtomicBool = AtomicBool::new(false);

    /// Lets the thread end when the fiber is unwound.
    struct Ends(std::sync::mpsc::Sender<()>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }

    let owner = thread::spawn(|| {
        fiber::extent(|| {
            let mut fiber = fiber::run(|| {
                LENT.with(|value| {
                    thread::scope(|scope| {
                        let (sender, ends) = std::sync::mpsc::channel();
                        let _ends = Ends(sender);
                        scope.spawn(move || {
                            ends.recv().unwrap();
                            let LentValue = value;
                            IS_BACK.store(true, Ordering::SeqCst);
                        });
                        fiber::block_on(pending::<()>());
                    });
                });
            });
            assert!(poll(&mut fiber).is_pending());
            std::mem::forget(fiber);
        });
        assert!(IS_BACK.load(Ordering::SeqCst));
    });
    owner.join().unwrap();
}

/// The destructor of a thread-local variable has an extent of its own.
#[test]
fn a_destructor_of_a_thread_local_value_runs_fibers() {
    thread_local! {
        static RUNS: Runs = Runs::default();
    }
    #[derive(Default)]
    struct Runs(RefCell<Counts>);
    impl Drop for Runs {
        fn drop(&mut self) {
            fiber::extent(|| {
                let mut fiber = self.0.borrow().fiber();
                assert!(poll(&mut fiber).is_pending());
                KEPT.set(Some(fiber));
            });
            assert_eq!(self.0.borrow().now(), [1, 0]);
        }
    }

    let counts = Counts::default();
    let inner = counts.clone();
    let owner = thread::spawn(move || {
        assert!(KEPT.take().is_none());
        assert!(VALUE.take().is_none());
        fiber::block_on(fiber::run(|| ()));
        RUNS.with(|runs| runs.0.replace(inner));
    });
    owner.join().unwrap();
    assert_eq!(counts.now(), [1, 1]);
}

#[test]
fn a_fiber_runs_only_in_its_extent() {
    let mut fiber = fiber::run(fiber::yield_now);
    let fails = |fiber: &mut fiber::Fiber<()>| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| poll(fiber)));
        let payload = polled.unwrap_err();
        let message = payload.downcast_ref::<String>().map(String::as_str);
        message
            .unwrap_or_else(|| payload.downcast_ref::<&str>().unwrap())
            .to_owned()
    };
    let message = fails(&mut fiber);
    assert!(message.contains("in `fiber::extent`"), "{message}");
    let mut fiber = fiber::run(fiber::yield_now);
    fiber::extent(|| assert!(poll(&mut fiber).is_pending()));
    fiber::extent(|| {
        fiber::block_on(fiber::run(fiber::yield_now));
        let message = fails(&mut fiber);
        assert!(message.contains("after the extent"), "{message}");
    });
}

/// Code on the stacks that end drops fibers, and begins others.
#[test]
fn fibers_that_end_may_use_and_begin_fibers() {
    struct Uses(Rc<RefCell<Option<fiber::Fiber<()>>>>, Counts);
    impl Drop for Uses {
        fn drop(&mut self) {
            drop(self.0.take());
            let mut new = self.1.fiber();
            assert!(poll(&mut new).is_pending());
            std::mem::forget(new);
        }
    }

    // The other fiber is older or newer, and each of them also refers to itself.
    for older in [false, true] {
        let counts = Counts::default();
        fiber::extent(|| {
            let other = Rc::new(RefCell::new(Some(counts.fiber())));
            let begin = || assert!(poll(other.borrow_mut().as_mut().unwrap()).is_pending());
            if older {
                begin();
            }
            let own = Rc::new(RefCell::new(None));
            let uses = [&other, &own].map(|fiber| Uses(fiber.clone(), counts.clone()));
            *own.borrow_mut() = Some(fiber::run(move || {
                // While the fiber is unwound, a new one would block the thread.
                _ = std::panic::catch_unwind(|| fiber::block_on(pending::<()>()));
                drop(uses);
            }));
            let mut running = own.take().unwrap();
            assert!(poll(&mut running).is_pending());
            own.replace(Some(running));
            if !older {
                begin();
            }
        });
        assert_eq!(counts.frames.load(Ordering::SeqCst), 3);
    }
}

#[test]
fn a_panic_of_a_destructor_does_not_keep_the_other_fibers() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("dropped"));
        }
    }

    let counts = Counts::default();
    fiber::extent(|| {
        for number in 0..3 {
            let mut fiber = match number {
                1 => fiber::run(|| {
                    // A panic while the fiber is unwound would end the process.
                    _ = std::panic::catch_unwind(|| fiber::block_on(pending::<()>()));
                    drop(Panics);
                }),
                _ => counts.fiber(),
            };
            assert!(poll(&mut fiber).is_pending());
            std::mem::forget(fiber);
        }
    });
    assert_eq!(counts.frames.load(Ordering::SeqCst), 2);
}

#[test]
fn an_extent_that_panics_ends_its_fibers() {
    let counts = Counts::default();
    let result = std::panic::catch_unwind(|| {
        fiber::extent(|| {
            let mut fiber = counts.fiber();
            assert!(poll(&mut fiber).is_pending());
            std::mem::forget(fiber);
            std::panic::resume_unwind(Box::new(()));
        });
    });
    result.unwrap_err();
    assert_eq!(counts.frames.load(Ordering::SeqCst), 1);
}

/// Otherwise code that waits again, once it has caught the unwinding, would block the thread.
#[test]
fn fibers_do_not_see_the_panic_that_ends_their_extent() {
    let sees = Rc::new(RefCell::new(None));
    let seen = sees.clone();
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| {
        fiber::extent(|| {
            let mut fiber = fiber::run(move || {
                _ = std::panic::catch_unwind(|| fiber::block_on(pending::<()>()));
                seen.replace(Some(thread::panicking()));
                if !thread::panicking() {
                    fiber::block_on(pending::<()>());
                }
            });
            assert!(poll(&mut fiber).is_pending());
            std::mem::forget(fiber);
            std::panic::resume_unwind(Box::new("on purpose"));
        });
    }));
    assert_eq!(
        result.unwrap_err().downcast_ref::<&str>(),
        Some(&"on purpose")
    );
    assert_eq!(*sees.borrow(), Some(false));
    assert_eq!(Rc::strong_count(&sees), 1);
}

/// A destructor on the stack polls the fiber that is being unwound, and then one that has been.
#[test]
fn a_fiber_that_ends_with_its_extent_cannot_be_polled() {
    type Shared = Rc<RefCell<Option<fiber::Fiber<()>>>>;
    struct Polls([Shared; 2], Rc<RefCell<Vec<String>>>);
    impl Drop for Polls {
        fn drop(&mut self) {
            for shared in &self.0 {
                let mut fiber = shared.borrow_mut();
                let polls = AssertUnwindSafe(|| poll(fiber.as_mut().unwrap()));
                let payload = std::panic::catch_unwind(polls).unwrap_err();
                let message = payload.downcast_ref::<String>().unwrap();
                self.1.borrow_mut().push(message.clone());
            }
        }
    }

    let messages = Rc::default();
    let [own, ended] = [Shared::default(), Shared::default()];
    fiber::extent(|| {
        let polls = Polls([own.clone(), ended.clone()], Rc::clone(&messages));
        let mut fiber = fiber::run(move || {
            let _polls = polls;
            fiber::block_on(pending::<()>());
        });
        assert!(poll(&mut fiber).is_pending());
        own.replace(Some(fiber));
        // The newer one ends first.
        let mut fiber = fiber::run(|| fiber::block_on(pending::<()>()));
        assert!(poll(&mut fiber).is_pending());
        ended.replace(Some(fiber));
    });
    let messages = messages.borrow();
    assert_eq!(messages.len(), 2);
    for message in messages.iter() {
        assert!(message.contains("has come to its end"), "{message}");
    }
    drop([own.take(), ended.take()]);
}

/// The drop of a fiber's future has unwound the fiber when it returns, also at the end of the extent.
#[test]
fn a_destructor_at_the_end_of_an_extent_unwinds_the_fiber_that_it_drops() {
    struct Drops(Option<fiber::Fiber<()>>, Counts, Rc<RefCell<Vec<usize>>>);
    impl Drop for Drops {
        fn drop(&mut self) {
            drop(self.0.take());
            let frames = self.1.frames.load(Ordering::SeqCst);
            self.2.borrow_mut().push(frames);
        }
    }

    let (counts, seen) = (Counts::default(), Rc::default());
    fiber::extent(|| {
        let mut older = counts.fiber();
        assert!(poll(&mut older).is_pending());
        let drops = Drops(Some(older), counts.clone(), Rc::clone(&seen));
        let mut fiber = fiber::run(move || {
            let _drops = drops;
            fiber::block_on(pending::<()>());
        });
        assert!(poll(&mut fiber).is_pending());
        std::mem::forget(fiber);
    });
    assert_eq!(*seen.borrow(), [1]);
    assert_eq!(counts.frames.load(Ordering::SeqCst), 1);
}

/// An older fiber goes on until its own turn comes.
#[test]
fn a_destructor_at_the_end_of_an_extent_polls_an_older_fiber() {
    struct Polls(fiber::Fiber<()>, Rc<RefCell<Vec<bool>>>);
    impl Drop for Polls {
        fn drop(&mut self) {
            for _ in 0..2 {
                let is_ready = poll(&mut self.0).is_ready();
                self.1.borrow_mut().push(is_ready);
            }
        }
    }

    let seen = Rc::default();
    fiber::extent(|| {
        let waits = || {
            std::future::poll_fn({
                let mut polls = 0;
                move |_| {
                    polls += 1;
                    if polls == 3 {
                        std::task::Poll::Ready(())
                    } else {
                        std::task::Poll::Pending
                    }
                }
            })
        };
        let mut older = fiber::run(move || fiber::block_on(waits()));
        assert!(poll(&mut older).is_pending());
        let polls = Polls(older, Rc::clone(&seen));
        let mut fiber = fiber::run(move || {
            let _polls = polls;
            fiber::block_on(pending::<()>());
        });
        assert!(poll(&mut fiber).is_pending());
        std::mem::forget(fiber);
    });
    assert_eq!(*seen.borrow(), [false, true]);
}

thread_local! {
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

/// Counts the panics of this thread from now on.
fn count_panics() {
    PANICS.set(0);
    static COUNTS: Once = Once::new();
    COUNTS.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.set(PANICS.get() + 1);
            before(info);
        }));
    });
}

/// The task of a fiber that has ended with `block_on` was cancelled: nothing panics or reacts to a panic.
#[test]
fn a_fiber_ends_with_the_block_on_of_a_current_thread_runtime() {
    count_panics();
    let count = Arc::new(AtomicUsize::new(0));
    let (begun, mut begins) = mpsc::unbounded_channel();
    let runtime = Builder::new_current_thread()
        .unhandled_panic(UnhandledPanic::ShutdownRuntime)
        .build()
        .unwrap();
    let [fiber, other] = runtime.block_on(async {
        let fiber = fiber::spawn(waits_for_ever(&count, &begun));
        begins.recv().await.unwrap();
        [fiber, task::spawn(task::yield_now())]
    });
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(runtime.block_on(fiber).unwrap_err().is_cancelled());
    runtime.block_on(other).unwrap();
    assert_eq!(PANICS.get(), 0);
    // The runtime does react.
    let panics = runtime.spawn(async { panic!("on purpose") });
    let reacts = AssertUnwindSafe(|| runtime.block_on(panics));
    std::panic::catch_unwind(reacts).unwrap_err();
    assert_eq!(PANICS.get(), 2);
}

/// The same for a fiber that is a local task, or a part of one.
#[test]
fn a_local_task_is_cancelled_when_it_polls_a_fiber_that_has_ended() {
    count_panics();
    let runtime = Builder::new_current_thread().build().unwrap();
    let mut set = LocalSet::new();
    set.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    let waits = || fiber::run(|| fiber::block_on(pending::<()>()));
    let tasks = set.block_on(&runtime, async {
        let whole = task::spawn_local(waits());
        let part = task::spawn_local(async move { waits().await });
        let other = task::spawn_local(async move {
            let mut fiber = waits();
            assert!(poll(&mut fiber).is_pending());
            task::yield_now().await;
            drop(fiber);
        });
        task::yield_now().await;
        [whole, part, other]
    });
    let ends = tasks.map(|task| set.block_on(&runtime, task));
    let are_cancelled = ends.map(|end| end.is_err_and(|error| error.is_cancelled()));
    assert_eq!(are_cancelled, [true, true, false]);
    assert_eq!(PANICS.get(), 0);
}

/// The end of the extent drops the value of the fiber.
#[test]
fn a_fiber_that_catches_its_unwinding_is_cancelled() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let (begun, mut begins) = mpsc::unbounded_channel();
    let handle = runtime.block_on(async {
        let waits = waits_for_ever(&count, &begun);
        let value = Value(count.clone());
        let fiber = fiber::spawn(move || {
            let payload = std::panic::catch_unwind(AssertUnwindSafe(waits)).unwrap_err();
            assert!(!payload.is::<&str>() && !payload.is::<String>());
            value
        });
        begins.recv().await.unwrap();
        Some(fiber)
    });
    assert_eq!(count.load(Ordering::SeqCst), 2);
    let error = runtime.block_on(handle.unwrap()).err().unwrap();
    assert!(error.is_cancelled());

    struct Value(Arc<AtomicUsize>);
    impl Drop for Value {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Waits for a task on a runtime, in another thread. Returns when that thread waits.
fn wait_elsewhere(
    runtime: &Arc<Runtime>,
    mut handle: fiber::JoinHandle<()>,
) -> thread::JoinHandle<bool> {
    let runtime = runtime.clone();
    let (sender, waits) = std::sync::mpsc::channel();
    let other = thread::spawn(move || {
        let waiting = std::future::poll_fn(|context| {
            let polled = Pin::new(&mut handle).poll(context);
            _ = sender.send(());
            polled
        });
        runtime.block_on(waiting).unwrap_err().is_cancelled()
    });
    waits.recv().unwrap();
    other
}

/// Whether the other thread waits before the fiber ends, or afterwards.
#[test]
fn another_thread_is_told_of_the_end_of_a_fiber() {
    for waits_before in [false, true] {
        for yields in [false, true] {
            let runtime = Arc::new(Builder::new_current_thread().build().unwrap());
            let (runs_on, count) = (runtime.clone(), Arc::new(AtomicUsize::new(0)));
            let (begun, mut begins) = mpsc::unbounded_channel();
            let counts = count.clone();
            let owner = thread::spawn(move || {
                runs_on.block_on(async {
                    let fiber = fiber::spawn(move || {
                        let _dropped = Dropped::new(&counts);
                        begun.send(()).unwrap();
                        if yields {
                            loop {
                                fiber::yield_now();
                            }
                        }
                        fiber::block_on(pending::<()>());
                    });
                    begins.recv().await.unwrap();
                    if waits_before {
                        Err(wait_elsewhere(&runs_on, fiber))
                    } else {
                        Ok(fiber)
                    }
                })
            });
            let other = owner.join().unwrap();
            assert_eq!(count.load(Ordering::SeqCst), 1);
            let other = other.map_or_else(|other| other, |fiber| wait_elsewhere(&runtime, fiber));
            assert!(other.join().unwrap());
        }
    }
}

/// The other thread has the turn, and has set the fiber's task aside.
#[test]
fn a_fiber_whose_task_was_set_aside_ends() {
    for aborts in [false, true] {
        let runtime = Arc::new(Builder::new_current_thread().build().unwrap());
        let (count, notify) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let other = fiber::extent(|| {
            let fiber = runtime.block_on(async {
                let (count, notify) = (count.clone(), notify.clone());
                let fiber = fiber::spawn(move || {
                    let _dropped = Dropped::new(&count);
                    fiber::block_on(notify.notified());
                });
                task::yield_now().await;
                Some(fiber)
            });
            let fiber = fiber.unwrap();
            let runs_on = runtime.clone();
            let sets_aside = thread::spawn(move || {
                notify.notify_one();
                runs_on.block_on(async {
                    for _ in 0..10 {
                        task::yield_now().await;
                    }
                });
                assert!(!fiber.is_finished());
                if aborts {
                    fiber.abort();
                }
                wait_elsewhere(&runs_on, fiber)
            });
            let other = sets_aside.join().unwrap();
            assert_eq!(count.load(Ordering::SeqCst), 0);
            other
        });
        assert!(other.join().unwrap());
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

/// The same, in a runtime that another thread drops.
#[test]
fn a_fiber_that_is_dropped_on_another_thread_ends_on_its_own() {
    let count = Arc::new(AtomicUsize::new(0));
    let (begun, mut begins) = mpsc::unbounded_channel();
    fiber::extent(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        let [fiber] = runtime.block_on(async {
            let fiber = fiber::spawn(waits_for_ever(&count, &begun));
            begins.recv().await.unwrap();
            [fiber]
        });
        thread::spawn(move || drop(runtime)).join().unwrap();
        assert!(fiber::block_on(fiber).unwrap_err().is_cancelled());
        assert_eq!(count.load(Ordering::SeqCst), 0);
    });
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
#[allow(
    clippy::async_yields_async,
    reason = "the handle is awaited by another thread"
)]
fn a_fiber_goes_on_when_its_thread_drives_the_runtime_again() {
    let runtime = Arc::new(Builder::new_current_thread().build().unwrap());
    let notify = Arc::new(Notify::new());
    fiber::extent(|| {
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
    });
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
