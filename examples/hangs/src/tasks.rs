//! Hangs of tasks.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier as ThreadBarrier};
use std::time::{Duration, Instant};

use blitz_io::inspect::{self, Named};
use blitz_io::pipeline::{self, AsyncSink, AsyncSource};
use blitz_io::runtime::{Builder, Handle};
use blitz_io::sync::{Barrier, CancellationToken, Mutex, Notify, oneshot};

use blitz_io::{pool, task, thread, time};

use crate::{is_apart, spawn};

/// Two tasks await each other.
pub async fn join_each_other() {
    let (give, take) = oneshot::channel();
    let one = spawn("one", async move {
        let two: blitz_io::task::JoinHandle<()> = take.await.expect("it is sent");
        _ = two.await;
    });
    let two = spawn("two", async move { _ = one.await });
    _ = give.send(two);
    std::future::pending().await
}

/// Two tasks that stay on one thread take two mutexes in two orders.
pub async fn local_tasks_lock() {
    let local = task::LocalSet::new();
    let hang = local.run_until(async {
        let (one, two) = (Rc::new(Mutex::new(())), Rc::new(Mutex::new(())));
        let both = Rc::new(Barrier::new(crate::meeting(2)));
        let orders = [("transfer", &one, &two), ("report", &two, &one)];
        let tasks = orders.map(|(name, first, second)| {
            let (first, second, both) = (first.clone(), second.clone(), both.clone());
            let order = async move {
                let _first = first.lock().await;
                both.wait().await;
                let _second = second.lock().await;
            };
            let task = task::Builder::new().name(name).spawn_local(order);
            task.expect("there is a set")
        });
        for task in tasks {
            _ = task.await;
        }
    });
    hang.await;
}

/// A task awaits another one, which waits for its lock.
///
/// After <https://github.com/rustdesk/rustdesk/pull/622>.
pub async fn join_holds_lock() {
    let lock = Arc::new(Mutex::new(()).named("state"));
    let wants = lock.clone();
    _ = spawn("parent", async move {
        let _guard = lock.lock().await;
        _ = spawn("child", async move { drop(wants.lock().await) }).await;
    })
    .await;
}

/// A task blocks its worker with a lock of threads that a thread never releases.
///
/// After <https://github.com/mvniekerk/tokio-cron-scheduler/issues/110>.
pub async fn blocked_worker() {
    let lock = Arc::new(thread::Mutex::new(()));
    let held = lock.clone();
    let (locked, is_locked) = oneshot::channel();
    std::thread::spawn(move || {
        let _guard = held.lock();
        _ = locked.send(());
        if is_apart() {
            return hold_until_awaited();
        }
        loop {
            std::thread::park();
        }
    });
    _ = is_locked.await;
    _ = spawn("blocks", async move { read_state(&lock) }).await;
}

/// The future of `block_on` itself blocks its thread.
pub async fn root_blocks() {
    let lock = Arc::new(thread::Mutex::new(()));
    let held = lock.clone();
    let (locked, is_locked) = oneshot::channel();
    std::thread::spawn(move || {
        let _guard = held.lock();
        _ = locked.send(());
        loop {
            std::thread::park();
        }
    });
    _ = is_locked.await;
    read_state(&lock);
}

/// Returns when a thread sleeps for a lock, and has done so for more than a moment.
fn hold_until_awaited() {
    let sleeps = |wait: &inspect::Wait| wait.blocks_thread && wait.kind == "thread::Mutex";
    while !inspect::snapshot().waits.iter().any(sleeps) {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(3));
}

fn read_state(lock: &thread::Mutex<()>) {
    drop(lock.lock());
}

/// Each closure for blocking work waits for another one, which has no thread as they keep all.
///
/// After <https://github.com/spacejam/sled/pull/1325>.
pub fn jobs_wait_for_queued_jobs() {
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(2)
        .build();
    let runtime = runtime.expect("the system has threads");
    let both = Arc::new(ThreadBarrier::new(2));
    let outer = [both.clone(), both].map(|both| {
        runtime.spawn_blocking(move || {
            both.wait();
            let inner = task::spawn_blocking(|| {});
            _ = Handle::current().block_on(inner);
        })
    });
    for job in outer {
        _ = runtime.block_on(job);
    }
}

/// A task without a name never ends its first poll.
///
/// After <https://github.com/oxidecomputer/omicron/issues/9619>.
pub async fn busy_first_poll() {
    _ = task::spawn(async { spin() }).await;
}

/// Spins for ever, or in a run that ends, for as long as other tasks should not wait.
fn spin() {
    let begin = Instant::now();
    while !is_apart() || begin.elapsed() < Duration::from_millis(100) {
        std::hint::spin_loop();
    }
}

/// A task awaits its set of tasks, and has what they need.
///
/// After <https://github.com/linera-io/linera-protocol/pull/3574>.
pub async fn set_waits_for_owner() {
    let lock = Arc::new(Mutex::new(()).named("state"));
    _ = spawn("owner", async move {
        let guard = lock.lock().await;
        let mut set = task::JoinSet::new().named("children");
        for _ in 0..2 {
            let wants = lock.clone();
            let child = async move { drop(wants.lock().await) };
            _ = set.build_task().name("child").spawn(child);
        }
        if is_apart() {
            // It gives up in the end.
            time::sleep(Duration::from_millis(1_200)).await;
            drop(guard);
            return while set.join_next().await.is_some() {};
        }
        while set.join_next().await.is_some() {}
        drop(guard);
    })
    .await;
}

/// A task begins to wait after all waiters have been notified.
///
/// After <https://github.com/containerd/ttrpc-rust/pull/227>.
pub async fn notified_too_early() {
    let exit = Arc::new(Notify::new().named("exit"));
    exit.notify_waiters();
    _ = spawn("waits", async move { exit.notified().await }).await;
}

/// A condition variable is signalled before a thread waits, which does not look at the condition.
///
/// After <https://github.com/rust-lang/rust/issues/108147>.
pub fn condvar_signalled_before() {
    let value = thread::Mutex::new(0);
    let changed = thread::Condvar::new().named("changed");
    *value.lock() += 1;
    changed.notify_one();
    changed.wait(&mut value.lock());
}

/// A thread of a pool keeps a lock across `join`, and the other closure, which another thread runs,
/// wants that lock. The main thread waits for the scope in which they do so.
///
/// After <https://github.com/rayon-rs/rayon/issues/592>.
pub fn fork_join_holds_lock() {
    let lock = thread::Mutex::new(());
    let is_stolen = AtomicBool::new(false);
    let holds = || {
        let _guard = lock.lock();
        let wait = || {
            while !is_stolen.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        };
        let wants = || {
            is_stolen.store(true, Ordering::Relaxed);
            drop(lock.lock());
        };
        pool::join(wait, wants);
    };
    two_threads().scope(|_| holds());
}

/// A thread holds a lock and waits for a closure in a pool, which wants that lock.
///
/// After <https://github.com/rayon-rs/rayon/issues/592>.
pub fn install_wants_lock() {
    let lock = thread::Mutex::new(());
    let _guard = lock.lock();
    two_threads().install(|| drop(lock.lock()));
}

/// A thread holds a lock and takes part in a loop, an item of which wants that lock in another thread.
pub fn loop_wants_lock() {
    let lock = thread::Mutex::new(());
    let caller = std::thread::current().id();
    let is_taken = AtomicBool::new(false);
    let _guard = lock.lock();
    two_threads().for_each(0..2, 1, |_| {
        if std::thread::current().id() != caller {
            is_taken.store(true, Ordering::Relaxed);
            drop(lock.lock());
        }
        while !is_taken.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    });
}

fn two_threads() -> pool::ThreadPool {
    let threads = pool::ThreadPoolBuilder::new().num_threads(2).build();
    threads.expect("the system has threads")
}

/// A thread drives its runtime for as long as it needs something itself. A task that is woken later is not
/// polled.
///
/// After <https://github.com/tokio-rs/tokio/issues/8212>.
pub fn executor_stops() {
    let runtime = Builder::new_current_thread().build();
    let runtime = runtime.expect("the system has threads");
    let (give, take) = oneshot::channel();
    runtime.block_on(async {
        _ = spawn("late", take);
        task::yield_now().await;
    });
    _ = give.send(());
    loop {
        std::thread::park();
    }
}

/// A thread drives its runtime until a task sleeps, and then does something else.
pub fn timer_not_driven() {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system has threads");
    runtime.block_on(async {
        drop(spawn("late", time::sleep(Duration::from_millis(20))));
        task::yield_now().await;
    });
    loop {
        std::thread::park();
    }
}

/// A barrier for three, of which one never comes.
///
/// After <https://github.com/h2oai/datatable/pull/2521>.
pub async fn missing_party() {
    let ready = Arc::new(Barrier::new(3).named("ready"));
    let tasks = ["one", "two"].map(|name| {
        let ready = ready.clone();
        spawn(name, async move { _ = ready.wait().await })
    });
    for task in tasks {
        _ = task.await;
    }
}

/// The same with threads.
///
/// After <https://github.com/jonhoo/bustle/pull/11>.
pub fn thread_missing_party() {
    let ready = thread::Barrier::new(3).named("ready");
    std::thread::scope(|scope| {
        scope.spawn(|| ready.wait());
        ready.wait();
    });
}

/// A latch counts one worker more than there are.
pub fn latch_counts_too_few() {
    let started = thread::Latch::new(3).named("started");
    std::thread::scope(|scope| {
        scope.spawn(|| started.count_down());
        scope.spawn(|| started.arrive_and_wait());
        started.wait();
    });
}

/// A thread waits for a group while it keeps another member of it.
pub fn group_keeps_a_member() {
    let workers = thread::WaitGroup::new().named("workers");
    let kept = workers.clone();
    workers.wait();
    drop(kept);
}

/// An event with manual reset is unset before one of the threads comes; one with automatic reset lets
/// one of two threads through.
pub fn event_reset_too_early() {
    let open = thread::Event::new_manual(false).named("open");
    open.set();
    open.reset();
    let work = thread::Event::new_auto(true).named("work");
    std::thread::scope(|scope| {
        scope.spawn(|| open.wait());
        scope.spawn(|| work.wait());
        work.wait();
    });
}

/// A thread is unparked twice before it parks, which leaves one token, and parks twice.
pub fn parked_twice() {
    let parker = thread::Parker::new().named("work");
    parker.unparker().unpark();
    parker.unparker().unpark();
    parker.park();
    parker.park();
}

/// A task blocks its worker until a task has ended that waits for it.
///
/// After <https://github.com/tokio-rs/tokio/issues/2376>.
pub async fn block_on_in_worker() {
    let lock = Arc::new(Mutex::new(()).named("state"));
    let wants = lock.clone();
    _ = spawn("outer", async move {
        let _guard = lock.lock().await;
        let inner = spawn("inner", async move { drop(wants.lock().await) });
        task::block_in_place(|| Handle::current().block_on(inner)).expect("it does not panic");
    })
    .await;
}

/// The main thread keeps its lock while it runs a pipeline, of which a stage wants that lock.
///
/// After <https://github.com/rayon-rs/rayon/issues/592>.
pub fn pipeline_holds_lock() {
    let total = thread::Mutex::new(0);
    let held = total.lock();
    let mut numbers = 0..4;
    let run = pipeline::source(move || Ok::<_, Infallible>(numbers.next()))
        .map(|n| *total.lock() + n)
        .sink(|_| Ok(()))
        .workers(2)
        .run();
    _ = run;
    drop(held);
}

/// The same with tasks: a sink wants the lock of the task that awaits the pipeline.
///
/// After <https://github.com/rayon-rs/rayon/issues/592>.
pub async fn pipeline_tasks_hold_lock() {
    let total = Arc::new(Mutex::new(0).named("total"));
    let wanted = total.clone();
    let owner = spawn("owner", async move {
        let held = total.lock().await;
        let mut numbers = 0..4;
        let source = AsyncSource::ready(move || Ok::<_, Infallible>(numbers.next()));
        let sink = AsyncSink::fold(wanted, |total, n: i32| async move {
            *total.lock().await += n;
            Ok(total)
        });
        let stages = pipeline::async_source(source).async_sink(sink).workers(1);
        _ = stages.run_tasks(|task| drop(spawn("worker", task))).await;
        drop(held);
    });
    _ = owner.await;
}

/// A scope waits for a child that wants a lock which the scope's task holds.
///
/// After <https://github.com/rayon-rs/rayon/issues/592>.
pub async fn scope_holds_lock() {
    let lock = Arc::new(thread::Mutex::new(0));
    _ = spawn("owner", async move {
        let held = lock.lock();
        let wanted = &lock;
        task::blocking_scope(|scope| {
            scope.spawn(async move { *wanted.lock() += 1 });
        });
        drop(held);
    })
    .await;
}

/// A task waits until all children of its scope have ended; one waits for a token that no task cancels.
pub async fn scope_without_an_end() {
    let token = CancellationToken::new();
    _ = spawn("parent", async move {
        let stop = &token;
        task::scope(|scope| async move {
            scope.spawn(stop.cancelled());
        })
        .await;
    })
    .await;
}

/// The body of a parallel scope waits for a child which wants a lock that the body has.
pub async fn parallel_scope_holds_lock() {
    let lock = Arc::new(Mutex::new(0).named("total"));
    _ = spawn("owner", async move {
        task::parallel_scope(|scope| async move {
            let held = lock.lock().await;
            let wanted = lock.clone();
            let adds = async move { *wanted.lock().await += 1 };
            _ = scope.spawn(adds).await;
            drop(held);
        })
        .await;
    })
    .await;
}

/// A parallel scope waits for ten children, each of which waits for a token that no task cancels.
pub async fn parallel_scope_without_an_end() {
    let token = CancellationToken::new();
    _ = spawn("parent", async move {
        task::parallel_scope(|scope| async move {
            for _ in 0..10 {
                scope.spawn(token.clone().cancelled_owned());
            }
        })
        .await;
    })
    .await;
}

/// A task waits until a tracker has no tasks, and it has one.
pub async fn tracker_without_an_end() {
    let tracker = task::TaskTracker::new();
    let _token = tracker.token();
    tracker.close();
    _ = spawn("stop", async move { tracker.wait().await }).await;
}
