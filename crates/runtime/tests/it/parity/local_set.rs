// Included twice: with Tokio's names, and with ours. `runtime` and `task` are the modules.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use blitz_io_testing::{Drops, Wakings, log, panic_of, poll_once, traits_of};
use task::{LocalEnterGuard, LocalSet, spawn_local};

type Log = Vec<String>;

include!("both.rs");

/// A list for one thread.
#[derive(Clone, Default)]
struct Notes(Rc<RefCell<Log>>);

impl Notes {
    fn note(&self, text: impl Into<String>) {
        self.0.borrow_mut().push(text.into());
    }

    fn take(&self) -> Log {
        std::mem::take(&mut *self.0.borrow_mut())
    }
}

/// Notes when it is dropped.
struct Bell(Notes, &'static str);

impl Drop for Bell {
    fn drop(&mut self) {
        self.0.note(format!(
            "{} dropped, {:?}",
            self.1,
            task::try_id().is_some()
        ));
    }
}

fn outcome<T: std::fmt::Debug>(result: Result<T, task::JoinError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) if error.is_cancelled() => "cancelled".into(),
        Err(error) => format!(
            "panic {:?}",
            panic_of(|| std::panic::resume_unwind(error.into_panic()))
        ),
    }
}

pub fn traits() -> Log {
    let mut log = Log::new();
    log!(log, traits_of!(LocalSet));
    log!(log, traits_of!(LocalEnterGuard));
    log!(log, blitz_io_testing::implements!(LocalSet: Default));
    log!(log, blitz_io_testing::implements!(LocalSet: Clone));
    log!(
        log,
        blitz_io_testing::implements!(LocalSet: Future<Output = ()>)
    );
    log
}

pub fn shown() -> Log {
    let mut log = Log::new();
    let set = LocalSet::default();
    log!(log, &set, set.enter());
    log!(log, set.id() == set.id(), set.id() == LocalSet::new().id());
    log
}

pub fn order() -> Log {
    let notes = Notes::default();
    for runtime in both() {
        let set = LocalSet::new();
        let tell = |text: &'static str| {
            let notes = notes.clone();
            async move { notes.note(text) }
        };
        set.spawn_local(tell("before"));
        set.block_on(&runtime, async {
            notes.note("host");
            let first = spawn_local({
                let notes = notes.clone();
                async move {
                    notes.note("first");
                    task::yield_now().await;
                    notes.note("first again");
                }
            });
            spawn_local(tell("second"));
            notes.note("host goes on");
            first.await.unwrap();
            notes.note("host ends");
            spawn_local(tell("late"));
        });
        notes.note("between");
        runtime.block_on(async {
            set.spawn_local(tell("later"));
            set.await;
        });
        notes.note("end");
    }
    notes.take()
}

pub fn woken_from_elsewhere() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let set = LocalSet::new();
        for _ in 0..50 {
            let sum = set.block_on(&runtime, async {
                let mut tasks = Vec::new();
                for number in 0..4 {
                    let (sender, receiver) = tokio::sync::oneshot::channel();
                    let here = Rc::new(number);
                    tasks.push(spawn_local(async move { receiver.await.unwrap() + *here }));
                    thread::spawn(move || sender.send(10).unwrap());
                }
                let mut sum = 0;
                for task in tasks {
                    sum += task.await.unwrap();
                }
                sum
            });
            log!(log, sum);
        }
        // Awaits the set itself.
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let got = Rc::new(Cell::new(0));
        set.spawn_local({
            let got = got.clone();
            async move { got.set(receiver.await.unwrap()) }
        });
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_millis(10));
            sender.send(7).unwrap();
        });
        runtime.block_on(set);
        thread.join().unwrap();
        log!(log, got.get());
    }
    log
}

pub fn outside() -> Log {
    let mut log = Log::new();
    log!(log, panic_of(|| spawn_local(async {})));
    for runtime in both() {
        log!(
            log,
            runtime.block_on(async { panic_of(|| spawn_local(async {})) })
        );
        let within = LocalSet::new().block_on(&runtime, async {
            // Tasks of the runtime are none of the set.
            let other = task::spawn(async { panic_of(|| spawn_local(async {})) });
            let thread = task::spawn_blocking(|| panic_of(|| spawn_local(async {})));
            (other.await.unwrap(), thread.await.unwrap())
        });
        log!(log, within);
        log!(log, panic_of(|| spawn_local(async {})));
    }
    log
}

pub fn entered() -> Log {
    let mut log = Log::new();
    let runtime = current();
    let set = LocalSet::new();
    let other = LocalSet::new();
    let ran = Rc::new(Cell::new(0));
    let add = |more: u32| {
        let ran = ran.clone();
        async move { ran.set(ran.get() + more) }
    };
    {
        let _outer = set.enter();
        spawn_local(add(1));
        {
            let _inner = other.enter();
            spawn_local(add(10));
        }
        spawn_local(add(100));
    }
    log!(log, ran.get(), panic_of(|| spawn_local(async {})));
    runtime.block_on(set);
    log!(log, ran.get());
    runtime.block_on(other);
    log!(log, ran.get());
    // A task that is added while the host waits wakes it.
    let set = LocalSet::new();
    let (wakings, waker) = Wakings::new();
    let mut host = pin!(set.run_until(pending::<()>()));
    log!(
        log,
        poll_once(host.as_mut(), &waker).is_pending(),
        wakings.count()
    );
    {
        let _guard = set.enter();
        spawn_local(add(1000));
    }
    log!(log, wakings.count() > 0, ran.get());
    log!(
        log,
        poll_once(host.as_mut(), &waker).is_pending(),
        ran.get()
    );
    let before = wakings.count();
    set.spawn_local(add(10_000));
    log!(log, wakings.count() - before);
    log!(
        log,
        poll_once(host.as_mut(), &waker).is_pending(),
        ran.get()
    );
    log
}

pub fn guards_out_of_order() -> Log {
    let mut log = Log::new();
    let runtime = current();
    let (first, second) = (LocalSet::new(), LocalSet::new());
    let (one, two) = (first.enter(), second.enter());
    drop(one);
    log!(log, panic_of(|| spawn_local(async {})));
    drop(two);
    let task = spawn_local(async { 1 });
    log!(log, runtime.block_on(first.run_until(task)).unwrap());
    // Replaces the other set again, and leaves none.
    drop((first.enter(), second));
    // A guard that is kept for longer than the set.
    let set = LocalSet::new();
    let kept = set.enter();
    drop(set);
    let late = spawn_local(async { 2 });
    log!(log, late.is_finished());
    drop(kept);
    log!(log, outcome(runtime.block_on(late)));
    // And one that was made within a poll.
    let (outer, inner) = (LocalSet::new(), LocalSet::new());
    let escaped = outer.block_on(&runtime, async { inner.enter() });
    drop((outer, escaped));
    log
}

pub fn dropped() -> Log {
    let notes = Notes::default();
    for runtime in both() {
        let set = LocalSet::new();
        let waits = |name| {
            let bell = Bell(notes.clone(), name);
            async move {
                let _bell = bell;
                pending::<()>().await;
            }
        };
        let never_polled = set.spawn_local(waits("never polled"));
        let [waiting] = set.block_on(&runtime, async {
            let task = spawn_local(waits("waiting"));
            task::yield_now().await;
            task::yield_now().await;
            [task]
        });
        let woken = set.spawn_local(async {});
        let another = set.spawn_local(waits("another"));
        drop(another);
        notes.note("drop");
        drop(set);
        notes.note("dropped");
        for task in [never_polled, waiting, woken] {
            notes.note(outcome(runtime.block_on(task)));
        }
    }
    let mut log = notes.take();
    // The order in which tasks are dropped is not specified.
    log.sort();
    log
}

pub fn dropped_in_its_own_task() -> Log {
    let mut log = Log::new();
    let runtime = current();
    let set = Rc::new(RefCell::new(Some(Box::pin(LocalSet::new()))));
    let drops = Drops::new();
    let counted = drops.counted(());
    let inner = set.clone();
    let task = set.borrow().as_ref().unwrap().spawn_local(async move {
        let _counted = counted;
        // No host polls this one, so it may go.
        drop(inner.borrow_mut().take());
        task::yield_now().await;
    });
    let waits = {
        let counted = drops.counted(());
        set.borrow().as_ref().unwrap().spawn_local(async move {
            let _counted = counted;
            pending::<()>().await;
        })
    };
    // Polled by hand, with the set taken out, so that its task may drop it.
    let mut polled = set.borrow_mut().take().unwrap();
    let ready = poll_once(polled.as_mut(), Waker::noop()).is_ready();
    log!(log, ready);
    drop(polled);
    log!(log, drops.count());
    log!(
        log,
        outcome(runtime.block_on(task)),
        outcome(runtime.block_on(waits))
    );
    log
}

pub fn spawned_after_the_end() -> Log {
    let notes = Notes::default();
    let runtime = current();
    let set = LocalSet::new();
    /// Adds a task to its own set when it is dropped.
    struct Adds(Notes, Rc<RefCell<Vec<task::JoinHandle<u32>>>>);
    impl Drop for Adds {
        fn drop(&mut self) {
            let bell = Bell(self.0.clone(), "late");
            let late = spawn_local(async move {
                drop(bell);
                3
            });
            self.1.borrow_mut().push(late);
        }
    }
    let late = Rc::<RefCell<Vec<task::JoinHandle<u32>>>>::default();
    let adds = Adds(notes.clone(), late.clone());
    set.spawn_local(async move {
        let _adds = adds;
        pending::<()>().await;
    });
    drop(set);
    for task in late.take() {
        notes.note(outcome(runtime.block_on(task)));
    }
    notes.take()
}

pub fn panics() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let set = LocalSet::new();
        let failed = set.spawn_local(async { panic!("a task") });
        let goes_on = set.spawn_local(async { 2 });
        log!(log, outcome(set.block_on(&runtime, failed)));
        log!(log, outcome(set.block_on(&runtime, goes_on)));
        // The host's panic leaves the set as it was.
        log!(
            log,
            panic_of(|| set.block_on(&runtime, async { panic!("host") }))
        );
        log!(log, panic_of(|| spawn_local(async {})));
        let after = set.spawn_local(async { 3 });
        log!(log, outcome(set.block_on(&runtime, after)));
    }
    log
}

pub fn aborts() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let set = LocalSet::new();
        let drops = Drops::new();
        let waits = || {
            let counted = drops.counted(());
            async move {
                let _counted = counted;
                pending::<()>().await;
            }
        };
        let queued = set.spawn_local(waits());
        queued.abort();
        log!(log, drops.count(), queued.is_finished());
        log!(log, outcome(set.block_on(&runtime, queued)), drops.count());
        let waiting = set.spawn_local(waits());
        set.block_on(&runtime, async {
            task::yield_now().await;
            task::yield_now().await;
        });
        // From another thread: the task is dropped here nevertheless.
        let abort = waiting.abort_handle();
        thread::spawn(move || abort.abort()).join().unwrap();
        log!(log, drops.count(), waiting.is_finished());
        log!(log, outcome(set.block_on(&runtime, waiting)), drops.count());
    }
    log
}

pub fn many_tasks() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let set = LocalSet::new();
        let sum = Rc::new(Cell::new(0_u64));
        for number in 0..1000 {
            let sum = sum.clone();
            set.spawn_local(async move {
                for _ in 0..number % 7 {
                    task::yield_now().await;
                }
                let inner = sum.clone();
                spawn_local(async move { inner.set(inner.get() + 1) });
                sum.set(sum.get() + number);
            });
        }
        runtime.block_on(set);
        log!(log, sum.get());
    }
    log
}

/// A set with much to do lets its host have its turn now and then.
pub fn hosts_have_their_turn() -> Log {
    let mut log = Log::new();
    let set = LocalSet::new();
    let ran = Rc::new(Cell::new(0));
    for _ in 0..200 {
        let ran = ran.clone();
        set.spawn_local(async move { ran.set(ran.get() + 1) });
    }
    let (wakings, waker) = Wakings::new();
    let mut set = pin!(set);
    let mut polls = 0;
    loop {
        polls += 1;
        let ready = poll_once(set.as_mut(), &waker).is_ready();
        log!(log, polls, ran.get(), wakings.count(), ready);
        if ready {
            return log;
        }
    }
}

/// Wakes a thread.
struct Sleeper(thread::Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Sleeper(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park_timeout(Duration::from_secs(20));
    }
}

/// Any executor will do.
pub fn without_a_runtime() -> Log {
    let mut log = Log::new();
    let set = LocalSet::new();
    let count = Arc::new(AtomicUsize::new(0));
    let task = set.spawn_local({
        let count = count.clone();
        async move {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            thread::spawn(move || {
                count.fetch_add(1, SeqCst);
                sender.send(()).unwrap();
            });
            receiver.await.unwrap();
            spawn_local(async { 3 }).await.unwrap()
        }
    });
    log!(log, block_on(set.run_until(task)).unwrap());
    block_on(set);
    log!(log, count.load(SeqCst));
    log
}

pub fn in_place_refused() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let set = LocalSet::new();
        let host = set.block_on(&runtime, async { panic_of(|| task::block_in_place(|| 1)) });
        let task = set.spawn_local(async { panic_of(|| task::block_in_place(|| 1)) });
        log!(log, host, set.block_on(&runtime, task).unwrap());
        let after = runtime.block_on(async { panic_of(|| task::block_in_place(|| 1)) });
        log!(log, after);
    }
    log
}

/// A set that is polled by a task of another set.
pub fn sets_in_sets() -> Log {
    let notes = Notes::default();
    let runtime = current();
    let outer = LocalSet::new();
    let inner_notes = notes.clone();
    outer.block_on(&runtime, async move {
        let notes = inner_notes;
        let inner = LocalSet::new();
        let of_inner = inner.spawn_local({
            let notes = notes.clone();
            async move {
                notes.note("inner");
                let mut times = 0;
                poll_fn(|context| {
                    times += 1;
                    context.waker().wake_by_ref();
                    if times < 3 {
                        Poll::Pending
                    } else {
                        Poll::Ready(())
                    }
                })
                .await;
                spawn_local({
                    let notes = notes.clone();
                    async move { notes.note("inner's own") }
                });
                notes.note("inner ends");
            }
        });
        let of_outer = spawn_local({
            let notes = notes.clone();
            async move {
                inner.run_until(of_inner).await.unwrap();
                notes.note("outer");
                let own = notes.clone();
                spawn_local(async move { own.note("outer's own") })
                    .await
                    .unwrap();
                inner.await;
            }
        });
        of_outer.await.unwrap();
        notes.note("end");
    });
    notes.take()
}
