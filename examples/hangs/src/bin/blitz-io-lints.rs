//! Programs that end, with and without what `blitz lint` finds. `blitz-io-lints NAME` runs one.

use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::sync::Arc;
use std::task::Poll;
use std::thread as threads;
use std::time::Duration;

use blitz_io::inspect::{self, Kind, Named};
use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::runtime::Builder;
use blitz_io::sync::{Mutex, RwLock, oneshot};
use blitz_io::{join, select, task, thread, time};

/// A program by its name.
const PROGRAMS: &[(&str, fn())] = &[
    ("two_orders", || run(two_orders())),
    ("one_order", || run(one_order())),
    ("handlers_in_two_orders", || run(handlers(true))),
    ("handlers_in_one_order", || run(handlers(false))),
    ("children_in_two_orders", || run(children(true))),
    ("children_in_one_order", || run(children(false))),
    ("child_within_a_lock", || run(child_within_a_lock(true))),
    ("child_within_a_lock_in_one_order", || {
        run(child_within_a_lock(false));
    }),
    ("child_computes", || run_on_two(children_compute(1, 15))),
    ("children_compute_together", || {
        run_on_two(children_compute(6, 4));
    }),
    ("child_of_request_without_deadline", || {
        run(child_of_request(false));
    }),
    ("child_of_request_with_deadline", || {
        run(child_of_request(true));
    }),
    ("three_in_a_circle", || run(three(true))),
    ("three_in_order", || run(three(false))),
    ("task_and_thread", task_and_thread),
    ("two_of_one_line", || run(two_of_one_line())),
    ("two_of_one_line_both_ways", || {
        run(two_of_one_line_both_ways());
    }),
    ("others_of_two_lines", || run(others_of_two_lines())),
    ("made_by_default", || run(made_by_default())),
    ("readers_both_ways", || run(readers_both_ways(false))),
    ("a_writer_both_ways", || run(readers_both_ways(true))),
    ("thread_readers_both_ways", thread_readers_both_ways),
    ("within_a_third_lock", || run(within_a_third_lock())),
    ("tried", || run(tried())),
    ("moved_guard", || run(moved_guard())),
    ("futures_of_one_task", || run(futures_of_one_task())),
    ("beside_a_socket", || run(beside_a_socket())),
    ("guard_over_await", || run(guard_over_await())),
    ("guard_before_await", || run(guard_before_await())),
    ("guard_of_tasks_is_kept", || {
        run(guard_of_tasks(Duration::from_millis(1_200), true))
    }),
    ("guard_of_tasks_is_kept_alone", || {
        run(guard_of_tasks(Duration::from_millis(1_200), false))
    }),
    ("guard_of_tasks_is_kept_shortly", || {
        run(guard_of_tasks(Duration::from_millis(20), true))
    }),
    ("poll_waits_for_lock", || run_on_two(poll_waits_for_lock())),
    ("job_waits_for_lock", || run_on_two(job_waits_for_lock())),
    ("in_place_waits_for_lock", || {
        run_on_two(in_place_waits_for_lock());
    }),
    ("poll_sleeps", || run_on_two(poll_sleeps())),
    ("poll_computes", || run_on_two(poll_computes())),
    ("poll_of_request_computes", || {
        run_on_two(poll_of_request_computes())
    }),
    ("poll_panics", || run_on_two(poll_panics())),
    ("polls_are_short", || run_on_two(polls_are_short())),
    ("reads_twice", || run(reads_twice(true))),
    ("reads_twice_and_writes_alone", || run(reads_twice(false))),
    ("reads_twice_in_two_futures", || {
        run(reads_twice_in_two_futures());
    }),
    ("future_keeps_lock", || {
        run(future_waits_for_lock(true, false))
    }),
    ("future_gives_lock_up", || {
        run(future_waits_for_lock(true, true))
    }),
    ("future_gets_lock", || {
        run(future_waits_for_lock(false, false))
    }),
    ("notified_later", || run(notified_later())),
    ("tasks_await_each_other", || run(tasks_await_each_other())),
    ("task_awaits_nothing", || run(task_awaits_nothing())),
    ("tasks_are_left", || run(tasks_are_left())),
    ("channel_grows", || run(channel_fills(true, 0))),
    ("channel_is_emptied", || run(channel_fills(true, 40_000))),
    ("channel_is_filled_first", || run(channel_fills(false, 0))),
    ("permits_are_forgotten", || {
        run(permits_are_forgotten(false))
    }),
    ("permits_are_added", || run(permits_are_forgotten(true))),
    ("all_permits_are_forgotten", || {
        run(all_permits_are_forgotten())
    }),
    ("permit_is_forgotten_and_awaited", || {
        run(permit_is_forgotten_and_awaited(false))
    }),
    ("permit_was_awaited_and_is_forgotten", || {
        run(permit_is_forgotten_and_awaited(true))
    }),
    ("permit_lets_through_once", || {
        run(permit_lets_through_once())
    }),
    ("request_without_deadline", || run(request(false))),
    ("request_with_deadline", || run(request(true))),
    ("connection_without_request", || {
        run(connection_without_request())
    }),
    ("socket_of_no_request", || run(reads_late(false))),
    ("many_are_woken", || run(many_are_woken(true))),
    ("all_have_work", || run(many_are_woken(false))),
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

/// The handlers of two connections take two locks. Each connection's task also waits for its socket, as hyper's does.
async fn handlers(in_two_orders: bool) {
    let a = Arc::new(Mutex::new(()).named("a"));
    let b = Arc::new(Mutex::new(()).named("b"));
    let connection = |first: Arc<Mutex<()>>, second: Arc<Mutex<()>>| async move {
        let (mut here, there) = pair().await.expect("the system has sockets");
        let mut byte = [0];
        let handler = async {
            let _first = first.lock().await;
            // The client is looked for while the handler has its first lock.
            task::yield_now().await;
            let _second = second.lock().await;
        };
        blitz_io::select! {
            biased;
            () = handler => {}
            _ = here.read_exact(&mut byte) => {}
        }
        drop(there);
    };
    alone(connection(a.clone(), b.clone())).await;
    let (first, second) = if in_two_orders { (b, a) } else { (a, b) };
    alone(connection(first, second)).await;
}

/// Two children of a scope take two locks one within the other, while the other one is pending.
async fn children(in_two_orders: bool) {
    let (a, b) = (Mutex::new(()).named("a"), Mutex::new(()).named("b"));
    let (a, b) = (&a, &b);
    task::scope(|scope| async move {
        scope.spawn(async move {
            let _a = a.lock().await;
            task::yield_now().await;
            let _b = b.lock().await;
        });
        let (first, second) = if in_two_orders { (b, a) } else { (a, b) };
        scope.spawn(async move {
            time::sleep(Duration::from_millis(1)).await;
            let _first = first.lock().await;
            task::yield_now().await;
            let _second = second.lock().await;
        });
    })
    .await;
}

/// A child takes a lock while its task keeps another one, and a task takes both.
async fn child_within_a_lock(in_two_orders: bool) {
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let first = (a.clone(), b.clone());
    alone(async move {
        let (a, b) = &first;
        let _a = a.lock().await;
        task::scope(|scope| async move {
            scope.spawn(async move { drop(b.lock().await) });
        })
        .await;
    })
    .await;
    if in_two_orders {
        alone(both(b, a)).await;
    } else {
        alone(both(a, b)).await;
    }
}

/// Children of a task compute in one poll of it, each for so many milliseconds.
async fn children_compute(count: usize, millis: u64) {
    alone(task::scope(move |scope| async move {
        for _ in 0..count {
            scope.spawn(async move {
                let before = processor_time();
                while processor_time() - before < Duration::from_millis(millis) {
                    black_box(before);
                }
            });
        }
    }))
    .await;
}

/// A child reads from a socket. Its task has the request, and the deadline.
async fn child_of_request(has_deadline: bool) {
    let (mut here, mut there) = pair().await.expect("the system has sockets");
    let task = task::spawn(async move {
        let _request = blitz_io::trace::request("GET /");
        let there = &mut there;
        let reads = task::scope(|scope| async move {
            scope.spawn(async move {
                let mut byte = [0];
                there.read_exact(&mut byte).await.expect("it reads");
            });
        });
        if has_deadline {
            let limit = Duration::from_secs(3_600);
            time::timeout(limit, reads).await.expect("it is in time");
        } else {
            reads.await;
        }
    });
    settle().await;
    here.write_all(&[1]).await.expect("the task reads");
    task.await.expect("it ends");
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

/// Always in one order: the first lock, the one between, the last one. Nothing but `Default` makes two of one kind.
async fn made_by_default() {
    for (first, last) in [
        (Arc::default(), Arc::default()),
        (Arc::new(Mutex::default()), Arc::new(Mutex::default())),
    ] {
        let between = Arc::new(Mutex::new(()));
        alone(both(first, between.clone())).await;
        alone(both(between, last)).await;
    }
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

/// Tasks wait for a socket and handle a request with a time limit meanwhile, as a connection of a server does.
async fn beside_a_socket() {
    let a = Arc::new(Mutex::new(()).named("a"));
    let b = Arc::new(Mutex::new(()).named("b"));
    alone(connection(a.clone(), b.clone())).await;
    alone(connection(b, a)).await;
}

async fn connection(first: Arc<Mutex<()>>, second: Arc<Mutex<()>>) {
    let (_client, mut here) = pair().await.expect("the system has sockets");
    let mut byte = [0];
    let other = second.clone();
    let holder = task::spawn(async move {
        let _held = other.lock().await;
        time::sleep(Duration::from_millis(2)).await;
    });
    let handles = async {
        let _first = first.lock().await;
        time::sleep(Duration::from_millis(1)).await;
        // It waits here, too.
        let _second = second.lock().await;
    };
    select! {
        biased;
        _ = here.read(&mut byte) => unreachable!("the client sends nothing"),
        ended = time::timeout(Duration::from_secs(3_600), handles) => ended.expect("it is in time"),
    }
    holder.await.expect("the task ends");
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

/// A task sleeps with the guard of a lock of tasks. `is_wanted`: another one waits for it.
async fn guard_of_tasks(time: Duration, is_wanted: bool) {
    let table = Arc::new(Mutex::new(0));
    let wanted = table.clone();
    let (locked, is_locked) = oneshot::channel();
    let holder = task::spawn(async move {
        let _guard = table.lock().await;
        _ = locked.send(());
        blitz_io::time::sleep(time).await;
    });
    _ = is_locked.await;
    if is_wanted {
        *wanted.lock().await += 1;
    }
    _ = holder.await;
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

/// So long that it is found on a busy machine, too.
async fn poll_sleeps() {
    alone(async { threads::sleep(Duration::from_millis(120)) }).await;
}

async fn poll_computes() {
    alone(async { compute() }).await;
}

fn compute() {
    let before = processor_time();
    while processor_time() - before < Duration::from_millis(15) {
        black_box(before);
    }
}

/// A task computes between two waits, for a request.
async fn poll_of_request_computes() {
    let handles = async {
        time::sleep(Duration::from_millis(1)).await;
        compute();
        time::sleep(Duration::from_millis(1)).await;
    };
    alone(blitz_io::trace::request("GET /hash").instrument(handles)).await;
}

/// The hook of a panic takes longer than a poll may.
async fn poll_panics() {
    std::panic::set_hook(Box::new(|_| threads::sleep(Duration::from_millis(11))));
    let panics = task::spawn(async { panic!("as it is meant to") });
    assert!(
        panics
            .await
            .is_err_and(|error: task::JoinError| error.is_panic())
    );
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

/// A task reads twice. `beside`: another task writes, at another time; or else the same one.
async fn reads_twice(beside: bool) {
    let table = Arc::new(RwLock::new(()).named("table"));
    let own = table.clone();
    alone(async move {
        let outer = own.read().await;
        drop((own.read().await, outer));
        if !beside {
            drop(own.write().await);
        }
    })
    .await;
    if beside {
        alone(async move { drop(table.write().await) }).await;
    }
}

/// Two futures of one task read. Each ends for itself, and so does the writer.
async fn reads_twice_in_two_futures() {
    let table = Arc::new(RwLock::new(()).named("table"));
    let (own, both) = (table.clone(), new_notify());
    alone(async move {
        let one = async {
            let _read = own.read().await;
            both.notified().await;
        };
        let two = async {
            let _read = own.read().await;
            both.notify_one();
        };
        join!(one, two);
    })
    .await;
    alone(async move { drop(table.write().await) }).await;
}

/// Polls a future once. It waits.
async fn begin(mut future: Pin<&mut impl Future>) {
    std::future::poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// A future waits for a lock, and its task for something else. `is_handed`: the lock is released meanwhile.
/// `is_dropped`: the future is dropped before.
async fn future_waits_for_lock(is_handed: bool, is_dropped: bool) {
    let lock = Arc::new(Mutex::new(()).named("shared"));
    let held = lock.clone().lock_owned().await;
    let (tell, is_told) = blitz_io::sync::oneshot::channel();
    let (more, has_more) = blitz_io::sync::oneshot::channel::<()>();
    let task = task::spawn(async move {
        let mut first = Box::pin(lock.lock());
        begin(first.as_mut()).await;
        if is_dropped {
            first = Box::pin(lock.lock());
        }
        tell.send(()).expect("the main task waits for it");
        _ = has_more.await;
        drop(first.await);
    });
    is_told.await.expect("the task sends it");
    if is_handed {
        drop(held);
        // The task is polled, as it has the lock.
        task::yield_now().await;
        more.send(()).expect("the task waits for it");
    } else {
        more.send(()).expect("the task waits for it");
        task::yield_now().await;
        drop(held);
    }
    task.await.expect("it ends");
}

/// A loop whose notification waits until its task has done something else. That keeps nobody out.
async fn notified_later() {
    let stop = Arc::new(new_notify());
    let stops = stop.clone();
    let (tell, is_told) = blitz_io::sync::oneshot::channel();
    let (more, has_more) = blitz_io::sync::oneshot::channel::<()>();
    let task = task::spawn(async move {
        let mut stopped = pin!(stops.notified());
        begin(stopped.as_mut()).await;
        tell.send(()).expect("the main task waits for it");
        _ = has_more.await;
        stopped.await;
    });
    is_told.await.expect("the task sends it");
    stop.notify_one();
    task::yield_now().await;
    more.send(()).expect("the task waits for it");
    task.await.expect("it ends");
}

/// Polls all tasks until they wait.
async fn settle() {
    for _ in 0..16 {
        task::yield_now().await;
    }
}

/// The main task ends, and two tasks await each other.
async fn tasks_await_each_other() {
    let (give, take) = blitz_io::sync::oneshot::channel();
    let one = task::spawn(async move {
        let two: task::JoinHandle<()> = take.await.expect("it is sent");
        _ = two.await;
    });
    _ = give.send(task::spawn(async move { _ = one.await }));
    settle().await;
}

/// The main task ends, and a task has nothing that would wake it.
async fn task_awaits_nothing() {
    drop(task::spawn(std::future::pending::<()>()));
    settle().await;
}

/// The main task ends, and tasks wait as those of servers do: for a timer, a socket, a value, a notification, a lock.
async fn tasks_are_left() {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("the system has a port");
    task::spawn(async move { listener.accept().await.map(|_| ()) });
    task::spawn(time::sleep(Duration::from_secs(3_600)));
    let (sender, mut receiver) = blitz_io::sync::mpsc::channel::<()>(1);
    task::spawn(async move { receiver.recv().await });
    let stop = Arc::new(new_notify());
    let stops = stop.clone();
    task::spawn(async move { stops.notified().await });
    let lock = Arc::new(Mutex::new(()));
    let wanted = lock.clone();
    task::spawn(async move {
        let _guard = lock.lock().await;
        time::sleep(Duration::from_secs(3_600)).await;
    });
    task::spawn(async move { drop(wanted.lock().await) });
    settle().await;
    drop((sender, stop));
}

/// Fills a channel without a limit. `takes`: the receiver takes one value of eight; and in the end so many.
async fn channel_fills(takes: bool, in_the_end: usize) {
    let (sender, mut receiver) = blitz_io::sync::mpsc::unbounded_channel();
    for n in 0..40_000 {
        sender.send(n).expect("the receiver lives");
        if takes && n % 8 == 0 {
            receiver.recv().await;
        }
    }
    for _ in 0..in_the_end {
        _ = receiver.try_recv();
    }
}

/// Jobs that fail forget their permits. `adds`: they are a budget, which is filled again.
async fn permits_are_forgotten(adds: bool) {
    let limit = Arc::new(blitz_io::sync::Semaphore::new(8).named("limit"));
    for _ in 0..4 {
        limit.acquire().await.expect("it is open").forget();
        if adds {
            limit.add_permits(1);
        }
    }
    drop(limit.acquire().await);
}

/// The semaphore has no permit left in the end, and no task waits.
async fn all_permits_are_forgotten() {
    let limit = blitz_io::sync::Semaphore::new(3);
    for _ in 0..3 {
        drop(limit.acquire().await);
        limit.acquire().await.expect("it is open").forget();
    }
}

/// A task waits for the only permit, which never comes back. `before`: it has begun to wait when the permit is forgotten.
async fn permit_is_forgotten_and_awaited(before: bool) {
    let limit = Arc::new(blitz_io::sync::Semaphore::new(1));
    let permit = limit.clone().acquire_owned().await.expect("it is open");
    let wait = async {
        let task = task::spawn(async move { drop(limit.acquire().await) });
        settle().await;
        task
    };
    let task = if before {
        let task = wait.await;
        permit.forget();
        task
    } else {
        permit.forget();
        wait.await
    };
    task.abort();
    assert!(task.await.is_err());
}

/// A permit that lets one of several through, once.
async fn permit_lets_through_once() {
    let once = Arc::new(blitz_io::sync::Semaphore::new(1));
    for _ in 0..4 {
        let once = once.clone();
        alone(async move {
            if let Ok(permit) = once.try_acquire() {
                permit.forget();
            }
        })
        .await;
    }
}

/// Returns both ends of a connection.
async fn pair() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let here = TcpStream::connect(listener.local_addr()?).await?;
    Ok((here, listener.accept().await?.0))
}

/// Reads what another task sends later. `is_request`: for a request of the program.
async fn reads_late(is_request: bool) {
    let (mut here, mut there) = pair().await.expect("the system has sockets");
    let reads = async move {
        let mut byte = [0];
        there.read_exact(&mut byte).await.map(|_| ())
    };
    let task = if is_request {
        task::spawn(blitz_io::trace::request("GET /").instrument(reads))
    } else {
        task::spawn(reads)
    };
    settle().await;
    here.write_all(&[1]).await.expect("the task reads");
    task.await.expect("it ends").expect("it reads");
}

/// The task of a connection handles requests, and reads the next one in the poll in which it has handled one.
async fn connection_without_request() {
    const REQUESTS: usize = 3;
    let (mut here, mut there) = pair().await.expect("the system has sockets");
    let connection = task::spawn(async move {
        let mut byte = [0];
        for _ in 0..REQUESTS {
            there.read_exact(&mut byte).await.expect("it is sent");
            let handles = task::yield_now();
            blitz_io::trace::request("GET /").instrument(handles).await;
        }
    });
    for _ in 0..REQUESTS {
        settle().await;
        here.write_all(&[1]).await.expect("the task reads");
    }
    connection.await.expect("it ends");
}

async fn request(has_deadline: bool) {
    if !has_deadline {
        return reads_late(true).await;
    }
    let (mut here, mut there) = pair().await.expect("the system has sockets");
    let task = task::spawn(async move {
        let _request = blitz_io::trace::request("GET /");
        let mut byte = [0];
        let limit = Duration::from_secs(3_600);
        time::timeout(limit, there.read_exact(&mut byte)).await
    });
    settle().await;
    here.write_all(&[1]).await.expect("the task reads");
    task.await
        .expect("it ends")
        .expect("it is in time")
        .expect("it reads");
}

/// Tasks wait for work, and all are woken for it. `for_one`: there is work for one, which then takes a lock that is
/// held. Or else all of them do something.
async fn many_are_woken(for_one: bool) {
    const TASKS: usize = 16;
    const ROUNDS: usize = 200;
    let changed = Arc::new(new_notify());
    let work = Arc::new(std::sync::Mutex::new(0_usize));
    let (done, mut is_done) = blitz_io::sync::mpsc::unbounded_channel();
    for _ in 0..TASKS {
        let (changed, work, done) = (changed.clone(), work.clone(), done.clone());
        task::spawn(async move {
            loop {
                changed.notified().await;
                let has_work = {
                    let mut work = work.lock().expect("it is not poisoned");
                    let has_work = *work != 0;
                    *work = work.saturating_sub(1);
                    has_work
                };
                if has_work {
                    _ = done.send(());
                    task::yield_now().await;
                }
            }
        });
    }
    settle().await;
    for _ in 0..ROUNDS {
        let count = if for_one { 1 } else { TASKS };
        *work.lock().expect("it is not poisoned") = count;
        changed.notify_waiters();
        for _ in 0..count {
            is_done.recv().await;
        }
        settle().await;
    }
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
