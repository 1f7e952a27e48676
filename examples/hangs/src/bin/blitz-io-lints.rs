//! Programs that end, with and without what `blitz lint` finds. `blitz-io-lints NAME` runs one.

use std::future::Future;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread as threads;
use std::time::Duration;

use blitz_io::inspect::{self, Kind, Named};
use blitz_io::runtime::Builder;
use blitz_io::sync::{Mutex, RwLock};
use blitz_io::{join, task, thread};

/// A program by its name.
const PROGRAMS: &[(&str, fn())] = &[
    ("two_orders", || run(two_orders())),
    ("one_order", || run(one_order())),
    ("three_in_a_circle", || run(three(true))),
    ("three_in_order", || run(three(false))),
    ("task_and_thread", task_and_thread),
    ("two_of_one_line", || run(two_of_one_line())),
    ("two_of_one_line_both_ways", || {
        run(two_of_one_line_both_ways());
    }),
    ("others_of_two_lines", || run(others_of_two_lines())),
    ("readers_both_ways", || run(readers_both_ways(false))),
    ("a_writer_both_ways", || run(readers_both_ways(true))),
    ("thread_readers_both_ways", thread_readers_both_ways),
    ("within_a_third_lock", || run(within_a_third_lock())),
    ("tried", || run(tried())),
    ("moved_guard", || run(moved_guard())),
    ("futures_of_one_task", || run(futures_of_one_task())),
    ("guard_over_await", || run(guard_over_await())),
    ("guard_before_await", || run(guard_before_await())),
    ("poll_waits_for_lock", || run_on_two(poll_waits_for_lock())),
    ("job_waits_for_lock", || run_on_two(job_waits_for_lock())),
    ("in_place_waits_for_lock", || {
        run_on_two(in_place_waits_for_lock());
    }),
    ("poll_sleeps", || run_on_two(poll_sleeps())),
    ("poll_computes", || run_on_two(poll_computes())),
    ("polls_are_short", || run_on_two(polls_are_short())),
    ("many_locks", many_locks),
    ("locks_in_a_loop", locks_in_a_loop),
];

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let Some((_, program)) = PROGRAMS.iter().find(|(name, _)| *name == wanted) else {
        for (name, _) in PROGRAMS {
            println!("{name}");
        }
        return ExitCode::from(2);
    };
    program();
    ExitCode::SUCCESS
}

/// Runs the program on one thread: its tasks run one after the other, up to an await.
fn run(program: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("the system has threads").block_on(program);
}

/// Runs the program on a runtime with two workers.
fn run_on_two(program: impl Future<Output = ()>) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("the system has threads").block_on(program);
}

/// Runs the future as a task to its end.
async fn alone(future: impl Future<Output = ()> + Send + 'static) {
    task::spawn(future).await.expect("the task ends");
}

async fn both(first: Arc<Mutex<()>>, second: Arc<Mutex<()>>) {
    let _first = first.lock().await;
    task::yield_now().await;
    let _second = second.lock().await;
}

async fn two_orders() {
    let a = Arc::new(Mutex::new(()).named("a"));
    let b = Arc::new(Mutex::new(()).named("b"));
    alone(both(a.clone(), b.clone())).await;
    alone(both(b, a)).await;
}

async fn one_order() {
    let a = Arc::new(Mutex::new(()).named("a"));
    let b = Arc::new(Mutex::new(()).named("b"));
    alone(both(a.clone(), b.clone())).await;
    alone(both(a.clone(), b.clone())).await;
    // The other order, but not one within the other.
    alone(async move {
        drop(b.lock().await);
        drop(a.lock().await);
    })
    .await;
}

async fn three(is_circle: bool) {
    let a = Arc::new(Mutex::new(()));
    let b = Arc::new(Mutex::new(()));
    let c = Arc::new(Mutex::new(()));
    alone(both(a.clone(), b.clone())).await;
    alone(both(b, c.clone())).await;
    if is_circle {
        alone(both(c, a)).await;
    } else {
        alone(both(a, c)).await;
    }
}

/// A task takes the lock of threads within that of tasks, and a thread the other way round.
fn task_and_thread() {
    let ours = Arc::new(thread::Mutex::new(()));
    let theirs = Arc::new(Mutex::new(()).named("theirs"));
    let (a, b) = (ours.clone(), theirs.clone());
    run(alone(async move {
        let _theirs = b.lock().await;
        task::yield_now().await;
        drop(a.lock());
    }));
    let _ours = ours.lock();
    drop(theirs.blocking_lock());
}

/// Locks of one line, always in the order of the program's list.
async fn two_of_one_line() {
    let nodes: Vec<_> = (0..4).map(|_| Arc::new(Mutex::new(()))).collect();
    for (first, second) in [(3, 1), (1, 0), (0, 2)] {
        alone(both(nodes[first].clone(), nodes[second].clone())).await;
    }
}

async fn two_of_one_line_both_ways() {
    let nodes: Vec<_> = (0..2).map(|_| Arc::new(Mutex::new(()))).collect();
    alone(both(nodes[0].clone(), nodes[1].clone())).await;
    alone(both(nodes[1].clone(), nodes[0].clone())).await;
}

/// Each pair is taken in one order. The pairs are of the same two lines.
async fn others_of_two_lines() {
    let pair = || (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let ((a, b), (c, d)) = (pair(), pair());
    alone(both(a, b)).await;
    alone(both(d, c)).await;
}

async fn readers_both_ways(writes: bool) {
    let a = Arc::new(RwLock::new(()).named("a"));
    let b = Arc::new(RwLock::new(()).named("b"));
    for (first, second) in [(a.clone(), b.clone()), (b, a)] {
        alone(async move {
            let _first = first.read().await;
            if writes {
                drop(second.write().await);
            } else {
                drop(second.read().await);
            }
        })
        .await;
    }
}

fn thread_readers_both_ways() {
    let (a, b) = (thread::RwLock::new(()), thread::RwLock::new(()));
    for (first, second) in [(&a, &b), (&b, &a)] {
        threads::scope(|scope| {
            scope.spawn(|| {
                let _first = first.read();
                drop(second.read());
            });
        });
    }
}

/// Both orders, but only one task at a time has the first lock.
async fn within_a_third_lock() {
    let gate = Arc::new(Mutex::new(()).named("gate"));
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    for (first, second) in [(a.clone(), b.clone()), (b, a)] {
        let gate = gate.clone();
        alone(async move {
            let _gate = gate.lock().await;
            both(first, second).await;
        })
        .await;
    }
}

/// A lock that is tried waits for nothing.
async fn tried() {
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    alone(both(a.clone(), b.clone())).await;
    alone(async move {
        let _b = b.lock().await;
        drop(a.try_lock().expect("it is free"));
    })
    .await;
}

/// A guard moves to another task, which releases it. Its first owner then has nothing.
async fn moved_guard() {
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    alone(both(a.clone(), b.clone())).await;
    alone(async move {
        let guard = b.lock_owned().await;
        alone(async move { drop(guard) }).await;
        drop(a.lock().await);
    })
    .await;
}

/// Two futures of one task hold one lock each. Neither has two.
async fn futures_of_one_task() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    let (more, gets) = (new_notify(), new_notify());
    let one = async {
        let _a = a.lock().await;
        more.notify_one();
        gets.notified().await;
    };
    let two = async {
        more.notified().await;
        let _b = b.lock().await;
        gets.notify_one();
    };
    join!(one, two);
    let one = async {
        let _b = b.lock().await;
        more.notify_one();
        gets.notified().await;
    };
    let two = async {
        more.notified().await;
        let _a = a.lock().await;
        gets.notify_one();
    };
    join!(one, two);
}

fn new_notify() -> blitz_io::sync::Notify {
    blitz_io::sync::Notify::new()
}

async fn guard_over_await() {
    let table = thread::Mutex::new(0);
    let mut guard = table.lock();
    task::yield_now().await;
    *guard += 1;
}

async fn guard_before_await() {
    let table = thread::Mutex::new(0);
    *table.lock() += 1;
    task::yield_now().await;
    *table.lock() += 1;
}

/// Holds the lock until another thread sleeps for it, and for longer than the limit.
fn held_until_awaited(lock: &thread::Mutex<()>, is_held: impl FnOnce()) {
    let guard = lock.lock();
    is_held();
    let kind = Kind::ThreadMutex.name();
    while !inspect::snapshot()
        .waits
        .iter()
        .any(|wait| wait.blocks_thread && wait.kind == kind)
    {
        threads::yield_now();
    }
    threads::sleep(Duration::from_millis(3));
    drop(guard);
}

/// Runs `waits` with a lock that a thread holds until then.
async fn with_held_lock<F: Future<Output = ()>>(waits: impl FnOnce(Arc<thread::Mutex<()>>) -> F) {
    let lock = Arc::new(thread::Mutex::new(()));
    let (tell, is_told) = blitz_io::sync::oneshot::channel();
    let held = lock.clone();
    let holder = threads::spawn(move || {
        held_until_awaited(&held, || tell.send(()).expect("the task waits for it"));
    });
    is_told.await.expect("the thread sends it");
    waits(lock).await;
    holder.join().expect("the thread ends");
}

async fn poll_waits_for_lock() {
    with_held_lock(|lock| alone(async move { drop(lock.lock()) })).await;
}

async fn job_waits_for_lock() {
    with_held_lock(|lock| async move {
        let job = task::spawn_blocking(move || drop(lock.lock()));
        job.await.expect("the job ends");
    })
    .await;
}

async fn in_place_waits_for_lock() {
    with_held_lock(|lock| alone(async move { task::block_in_place(|| drop(lock.lock())) })).await;
}

async fn poll_sleeps() {
    alone(async { threads::sleep(Duration::from_millis(11)) }).await;
}

async fn poll_computes() {
    alone(async {
        let before = processor_time();
        while processor_time() - before < Duration::from_millis(15) {
            black_box(before);
        }
    })
    .await;
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the pointer is to a value that the call may write.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
    #[cfg(not(target_os = "linux"))]
    {
        static BEGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        BEGIN.get_or_init(std::time::Instant::now).elapsed()
    }
}

async fn polls_are_short() {
    alone(async {
        for _ in 0..10_000 {
            task::yield_now().await;
        }
    })
    .await;
}

/// Many pairs of locks, all of the same two lines.
fn many_locks() {
    let locks: Vec<_> = (0..100_000).map(|_| thread::Mutex::new(())).collect();
    for pair in locks.windows(2) {
        let _first = pair[0].lock();
        drop(pair[1].lock());
    }
    // A thread that holds more than its list has room for.
    let guards: Vec<_> = locks.iter().map(thread::Mutex::lock).collect();
    drop(guards);
}

/// For measurements: `perf stat`, or the time of the process.
fn locks_in_a_loop() {
    let (outer, inner) = (thread::Mutex::new(0), thread::Mutex::new(0));
    let begin = std::time::Instant::now();
    const ROUNDS: u32 = 5_000_000;
    for _ in 0..ROUNDS {
        *inner.lock() += 1;
    }
    let single = begin.elapsed() / ROUNDS;
    let begin = std::time::Instant::now();
    for _ in 0..ROUNDS {
        let _outer = outer.lock();
        *inner.lock() += 1;
    }
    let nested = begin.elapsed() / ROUNDS;
    let begin = std::time::Instant::now();
    const TURNS: u32 = 500_000;
    run_on_two(alone(async {
        let (to, mut from) = blitz_io::sync::mpsc::channel::<u32>(1);
        let (back, mut gets) = blitz_io::sync::mpsc::channel::<u32>(1);
        let echo = task::spawn(async move {
            while let Some(value) = from.recv().await {
                _ = back.send(value).await;
            }
        });
        for turn in 0..TURNS {
            to.send(turn).await.expect("the other task lives");
            gets.recv().await.expect("the other task lives");
        }
        drop(to);
        echo.await.expect("the task ends");
    }));
    let turn = begin.elapsed() / TURNS;
    println!("lock and unlock {single:?}, of two {nested:?}, ping-pong {turn:?}");
}
