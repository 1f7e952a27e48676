// Included twice: with Tokio's names, and with ours. `runtime` and `task` are the modules.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_testing::{log, panic_of};
use runtime::{Builder, Handle, Runtime};
use task::JoinHandle;

type Log = Vec<String>;

const LONG: Duration = Duration::from_secs(900);

include!("both.rs");

/// Waits until something is so.
fn until(what: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !what() {
        if began.elapsed() > LONG {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
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

fn wait<T: std::fmt::Debug>(handle: JoinHandle<T>) -> String {
    outcome(current().block_on(handle))
}

pub fn results() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        log!(log, runtime.block_on(runtime.spawn_blocking(|| 7)).unwrap());
        log!(
            log,
            runtime
                .block_on(runtime.handle().spawn_blocking(|| "handle"))
                .unwrap()
        );
        let nested = runtime.block_on(async {
            let outer = task::spawn_blocking(|| {
                Handle::current().block_on(async { task::spawn_blocking(|| 1).await.unwrap() + 1 })
            });
            outer.await.unwrap()
        });
        log!(log, nested);
        let many: Vec<_> = (0..200)
            .map(|n| runtime.spawn_blocking(move || n))
            .collect();
        let sum = runtime.block_on(async {
            let mut sum = 0;
            for one in many {
                sum += one.await.unwrap();
            }
            sum
        });
        log!(log, sum);
        // A large closure.
        let large = [3_u8; 40_000];
        let first =
            runtime.spawn_blocking(move || large.iter().map(|&n| u32::from(n)).sum::<u32>());
        log!(log, runtime.block_on(first).unwrap());
    }
    log
}

pub fn panics() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let failed = runtime.spawn_blocking(|| panic!("oh no"));
        let error: task::JoinError = runtime.block_on(failed).map(|_: ()| ()).unwrap_err();
        log!(log, error.is_panic(), error.is_cancelled());
        // The thread runs other closures.
        log!(log, runtime.block_on(runtime.spawn_blocking(|| 8)).unwrap());
    }
    log
}

pub fn outside() -> Log {
    let mut log = Log::new();
    log!(log, panic_of(|| task::spawn_blocking(|| ())));
    log!(log, task::block_in_place(|| 5));
    log!(log, panic_of(|| task::block_in_place(|| panic!("inside"))));
    log!(
        log,
        panic_of(|| {
            Builder::new_current_thread().max_blocking_threads(0);
        })
    );
    log
}

pub fn in_place() -> Log {
    let mut log = Log::new();
    let runtime = multi();
    log!(log, runtime.block_on(async { task::block_in_place(|| 1) }));
    let inside = runtime.spawn(async { task::block_in_place(|| task::block_in_place(|| 2)) });
    log!(log, wait(inside));
    let blocks = runtime.spawn(async {
        let inner = task::block_in_place(|| {
            Handle::current().block_on(async { task::spawn(async { 3 }).await.unwrap() })
        });
        let again = task::block_in_place(|| {
            Handle::current().block_on(async { task::block_in_place(|| inner) })
        });
        task::yield_now().await;
        again
    });
    log!(log, wait(blocks));
    let failed = runtime.spawn(async { task::block_in_place(|| panic!("in place")) });
    log!(log, wait(failed));
    // The worker is one again.
    let after = runtime.spawn(async {
        task::spawn(async { task::block_in_place(|| 4) })
            .await
            .unwrap()
    });
    log!(log, wait(after));
    log!(
        log,
        wait(runtime.spawn_blocking(|| task::block_in_place(|| 5)))
    );
    let _guard = runtime.enter();
    log!(log, task::block_in_place(|| 6));
    log
}

pub fn in_place_refused() -> Log {
    let mut log = Log::new();
    let runtime = current();
    log!(
        log,
        runtime.block_on(async { panic_of(|| task::block_in_place(|| 1)) })
    );
    log!(
        log,
        wait_on(&runtime, async { panic_of(|| task::block_in_place(|| 1)) })
    );
    // But on a thread of its pool, or when it is only entered.
    log!(
        log,
        runtime
            .block_on(runtime.spawn_blocking(|| task::block_in_place(|| 2)))
            .unwrap()
    );
    let _guard = runtime.enter();
    log!(log, task::block_in_place(|| 3));
    // A current-thread runtime within a worker that has handed over.
    let multi = multi();
    let nested = multi.spawn(async {
        task::block_in_place(|| {
            current().block_on(async { panic_of(|| task::block_in_place(|| 4)) })
        })
    });
    log!(log, wait(nested));
    log
}

fn wait_on<T: Send + 'static>(
    runtime: &Runtime,
    future: impl Future<Output = T> + Send + 'static,
) -> T {
    let task = runtime.spawn(future);
    runtime.block_on(task).unwrap()
}

/// The tasks of the only worker run while one of them blocks.
pub fn in_place_hands_over() -> Log {
    let mut log = Log::new();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    for _ in 0..20 {
        let (sender, receiver) = mpsc::channel();
        let blocks = runtime.spawn(async move {
            // Both tasks are in this worker's queues.
            let first = task::spawn(async move { sender.send(1).unwrap() });
            let second = task::spawn(async { 2 });
            let got = task::block_in_place(|| receiver.recv_timeout(LONG));
            first.await.unwrap();
            (got, second.await.unwrap())
        });
        log!(log, wait(blocks));
    }
    log
}

pub fn names_and_hooks() -> Log {
    let mut log = Log::new();
    let (starts, stops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (s, e) = (starts.clone(), stops.clone());
    let runtime = Builder::new_current_thread()
        .thread_name("blocks")
        .thread_stack_size(1 << 20)
        .on_thread_start(move || {
            // The runtime exists already.
            let _ = Handle::current();
            s.fetch_add(1, SeqCst);
        })
        .on_thread_stop(move || {
            let _ = Handle::current();
            e.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    let name =
        runtime.block_on(runtime.spawn_blocking(|| thread::current().name().map(str::to_owned)));
    log!(log, name.unwrap(), starts.load(SeqCst), stops.load(SeqCst));
    drop(runtime);
    log!(log, starts.load(SeqCst), stops.load(SeqCst));
    let name = current();
    let name = name.block_on(name.spawn_blocking(|| thread::current().name().map(str::to_owned)));
    // The name is Tokio's in the drop-in package only.
    log!(
        log,
        name.unwrap()
            .map(|name| name.replace("blitz-worker", "tokio-rt-worker"))
    );
    log
}

/// Jobs that wait for a permission, and say how many run at once.
#[derive(Clone)]
struct Gate {
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    done: Arc<AtomicUsize>,
    open: Arc<(Mutex<bool>, std::sync::Condvar)>,
}

impl Gate {
    fn new() -> Self {
        Self {
            running: Arc::default(),
            most: Arc::default(),
            done: Arc::default(),
            open: Arc::default(),
        }
    }

    fn pass(&self) {
        let running = self.running.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(running, SeqCst);
        let open = self.open.0.lock().unwrap();
        drop(self.open.1.wait_while(open, |open| !*open).unwrap());
        self.running.fetch_sub(1, SeqCst);
        self.done.fetch_add(1, SeqCst);
    }

    fn open(&self) {
        *self.open.0.lock().unwrap() = true;
        self.open.1.notify_all();
    }

    fn job(&self) -> impl FnOnce() + Send + 'static {
        let gate = self.clone();
        move || gate.pass()
    }
}

fn pool_of(threads: usize) -> Runtime {
    Builder::new_current_thread()
        .max_blocking_threads(threads)
        .build()
        .unwrap()
}

pub fn jobs_wait_when_the_pool_is_full() -> Log {
    let mut log = Log::new();
    for threads in 1..4 {
        let (runtime, gate) = (pool_of(threads), Gate::new());
        let jobs: Vec<_> = (0..10)
            .map(|_| runtime.spawn_blocking(gate.job()))
            .collect();
        log!(log, until(|| gate.running.load(SeqCst) == threads));
        thread::sleep(Duration::from_millis(5));
        log!(
            log,
            gate.running.load(SeqCst),
            runtime.metrics().num_alive_tasks()
        );
        gate.open();
        for job in jobs {
            log!(log, wait(job));
        }
        log!(log, gate.most.load(SeqCst), gate.done.load(SeqCst));
    }
    log
}

pub fn queued_jobs_and_the_end() -> Log {
    let mut log = Log::new();
    for threads in 1..3 {
        let (runtime, gate) = (pool_of(threads), Gate::new());
        let jobs: Vec<_> = (0..6).map(|_| runtime.spawn_blocking(gate.job())).collect();
        log!(log, until(|| gate.running.load(SeqCst) == threads));
        let opener = {
            let gate = gate.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                gate.open();
            })
        };
        drop(runtime);
        log!(log, gate.done.load(SeqCst));
        opener.join().unwrap();
        for job in jobs {
            log!(log, wait(job));
        }
    }
    log
}

pub fn queued_jobs_and_a_hasty_end() -> Log {
    let mut log = Log::new();
    let (runtime, gate) = (pool_of(1), Gate::new());
    let jobs: Vec<_> = (0..4).map(|_| runtime.spawn_blocking(gate.job())).collect();
    log!(log, until(|| gate.running.load(SeqCst) == 1));
    runtime.shutdown_background();
    log!(log, gate.done.load(SeqCst));
    gate.open();
    for job in jobs {
        log!(log, wait(job));
    }
    log
}

pub fn submitted_after_the_end() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let handle = runtime.handle().clone();
        drop(runtime);
        let drops = blitz_io_testing::Drops::new();
        let counted = drops.counted(());
        let late = handle.spawn_blocking(move || drop(counted));
        log!(log, drops.count(), late.is_finished());
        log!(log, wait(late));
        let _guard = handle.enter();
        log!(log, wait(task::spawn_blocking(|| 3)));
    }
    log
}

pub fn time_outs() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let gate = Gate::new();
        let job = runtime.spawn_blocking(gate.job());
        log!(log, until(|| gate.running.load(SeqCst) == 1));
        let began = Instant::now();
        runtime.shutdown_timeout(Duration::from_millis(30));
        let took = began.elapsed();
        log!(
            log,
            took >= Duration::from_millis(30),
            took < LONG,
            job.is_finished()
        );
        gate.open();
        log!(log, wait(job));
    }
    for runtime in both() {
        let job = runtime.spawn_blocking(|| 4);
        runtime.shutdown_timeout(LONG);
        log!(log, job.is_finished());
    }
    log
}

pub fn aborts() -> Log {
    let mut log = Log::new();
    let (runtime, gate) = (pool_of(1), Gate::new());
    let drops = blitz_io_testing::Drops::new();
    let runs = runtime.spawn_blocking(gate.job());
    log!(log, until(|| gate.running.load(SeqCst) == 1));
    let queued = {
        let counted = drops.counted(());
        runtime.spawn_blocking(move || drop(counted))
    };
    queued.abort();
    runs.abort();
    log!(log, queued.is_finished(), runs.is_finished(), drops.count());
    gate.open();
    log!(log, wait(queued), wait(runs), drops.count());
    log
}

pub fn ids() -> Log {
    let mut log = Log::new();
    let runtime = current();
    let job = runtime.spawn_blocking(task::try_id);
    let id = job.id();
    log!(log, runtime.block_on(job).unwrap() == Some(id));
    let error = runtime.spawn_blocking(|| panic!("a"));
    let id = error.id();
    log!(
        log,
        runtime.block_on(error).map(|_: ()| ()).unwrap_err().id() == id
    );
    log
}

/// The functions that a job may call.
pub fn inside_of_jobs() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let handle = runtime.handle().clone();
        let id = handle.id();
        let inside = runtime.spawn_blocking(move || {
            let same = Handle::current().id() == id;
            let own = current().block_on(async { 2 });
            let later = task::spawn_blocking(|| 4);
            let blocked = Handle::current().block_on(later).unwrap();
            (same, own, blocked)
        });
        log!(log, runtime.block_on(inside).unwrap());
        // A runtime may be dropped there.
        let other = current();
        let dropped = runtime.spawn_blocking(move || panic_of(move || drop(other)));
        log!(log, runtime.block_on(dropped).unwrap());
    }
    log
}

/// Each queued job has a thread of its own, as long as there may be more.
pub fn jobs_need_each_other() -> Log {
    let mut log = Log::new();
    let runtime = pool_of(8);
    for jobs in [2, 5, 8, 3, 8] {
        for _ in 0..10 {
            let barrier = Arc::new(Barrier::new(jobs));
            let all: Vec<_> = (0..jobs)
                .map(|_| {
                    let barrier = barrier.clone();
                    runtime.spawn_blocking(move || {
                        barrier.wait();
                    })
                })
                .collect();
            let ended = until(|| all.iter().all(JoinHandle::is_finished));
            log!(log, jobs, ended);
            if !ended {
                std::process::abort();
            }
        }
    }
    log
}

/// Idle threads end after their time.
pub fn threads_end() -> Log {
    let mut log = Log::new();
    let stops = Arc::new(AtomicUsize::new(0));
    let stopped = stops.clone();
    let runtime = Builder::new_current_thread()
        .thread_keep_alive(Duration::from_millis(20))
        .on_thread_stop(move || {
            stopped.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    let barrier = Arc::new(Barrier::new(3));
    let jobs: Vec<_> = (0..3)
        .map(|_| {
            let barrier = barrier.clone();
            runtime.spawn_blocking(move || {
                barrier.wait();
            })
        })
        .collect();
    for job in jobs {
        log!(log, wait(job));
    }
    log!(log, until(|| stops.load(SeqCst) == 3));
    // New ones start.
    log!(log, runtime.block_on(runtime.spawn_blocking(|| 1)).unwrap());
    log!(log, until(|| stops.load(SeqCst) == 4));
    drop(runtime);
    log!(log, stops.load(SeqCst));
    log
}

pub fn counts() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        // A worker counts as a thread of the pool from its first task on, in Tokio's.
        runtime.block_on(runtime.spawn(async {})).unwrap();
        let gate = Gate::new();
        let before = runtime.metrics().num_workers();
        let job = runtime.spawn_blocking(gate.job());
        log!(log, until(|| gate.running.load(SeqCst) == 1), before);
        gate.open();
        log!(log, wait(job));
        // Tokio's worker counts a task for a moment after it has told that it is done.
        log!(log, until(|| runtime.metrics().num_alive_tasks() == 0));
    }
    log
}
