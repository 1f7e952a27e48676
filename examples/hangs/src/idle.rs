//! Programs that only look as if they hang: nothing certain is to be said about them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use blitz_io::pipeline::{self, AsyncSink, AsyncSource};
use blitz_io::runtime::Builder;
use blitz_io::sync::{Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, mpsc, oneshot};
use blitz_io::{task, thread, time};
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::spawn;

const LONG: Duration = Duration::from_secs(3600);

/// A task sleeps.
pub async fn sleep() {
    _ = spawn("sleeps", time::sleep(LONG)).await;
}

/// Two tasks take two mutexes in two orders, with a timeout.
pub async fn lock_with_timeout() {
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let (c, d) = (a.clone(), b.clone());
    let both = Arc::new(Barrier::new(2));
    let other = both.clone();
    let one = spawn("one", async move {
        let _a = a.lock().await;
        both.wait().await;
        _ = time::timeout(LONG, b.lock()).await;
    });
    let two = spawn("two", async move {
        let _d = d.lock().await;
        other.wait().await;
        _ = time::timeout(LONG, c.lock()).await;
    });
    _ = (one.await, two.await);
}

/// A task awaits a set of which one task waits for the set's owner, and another one sleeps.
pub async fn set_of_sleepers() {
    let lock = Arc::new(Mutex::new(()));
    _ = spawn("owner", async move {
        let _guard = lock.lock().await;
        let wants = lock.clone();
        let mut set = blitz_io::task::JoinSet::new();
        set.spawn(async move { drop(wants.lock().await) });
        set.spawn(time::sleep(LONG));
        _ = set.join_next().await;
    })
    .await;
}

/// A thread of a pool waits for a closure that another thread runs.
pub fn fork_join() {
    let is_stolen = AtomicBool::new(false);
    let wait = || {
        while !is_stolen.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    };
    let sleep = || {
        is_stolen.store(true, Ordering::Relaxed);
        std::thread::sleep(LONG);
    };
    let threads = blitz_io::pool::ThreadPoolBuilder::new()
        .num_threads(2)
        .build();
    let threads = threads.expect("the system has threads");
    threads.install(|| blitz_io::pool::join(wait, sleep));
}

/// The holder of a lock sleeps.
pub async fn holder_sleeps() {
    let lock = Arc::new(Mutex::new(()));
    let held = lock.clone();
    let holder = spawn("holder", async move {
        let _guard = held.lock().await;
        time::sleep(LONG).await;
    });
    let waiter = spawn("waiter", async move { drop(lock.lock().await) });
    _ = (holder.await, waiter.await);
}

/// Many tasks take turns.
pub async fn queue_moves() {
    let lock = Arc::new(Mutex::new(()));
    for _ in 0..8 {
        let lock = lock.clone();
        drop(spawn("turn", async move {
            loop {
                let _guard = lock.lock().await;
                blitz_io::task::yield_now().await;
            }
        }));
    }
    std::future::pending().await
}

/// A value comes much later.
pub async fn oneshot_later() {
    let (sender, receiver) = oneshot::channel();
    drop(spawn("sends", async move {
        time::sleep(LONG).await;
        _ = sender.send(());
    }));
    _ = spawn("receives", receiver).await;
}

/// A guard moves to another task, and the first task locks again.
pub async fn guard_moved() {
    let lock = Arc::new(Mutex::new(()));
    _ = spawn("first", async move {
        let guard = lock.clone().lock_owned().await;
        drop(spawn("second", async move {
            time::sleep(LONG).await;
            drop(guard);
        }));
        drop(lock.lock().await);
    })
    .await;
}

/// A task waits for its own lock, or a value.
pub async fn select_of_locks() {
    let lock = Arc::new(Mutex::new(()));
    _ = spawn("selects", async move {
        let _guard = lock.lock().await;
        blitz_io::select! {
            _ = lock.lock() => {}
            () = time::sleep(LONG) => {}
        }
    })
    .await;
}

/// A chain of tasks awaits one that sleeps.
pub async fn join_sleeper() {
    let sleeper = spawn("sleeper", time::sleep(LONG));
    let middle = spawn("middle", sleeper);
    _ = spawn("last", middle).await;
}

/// A writer waits for readers, one of which sleeps.
pub async fn readers() {
    let lock = Arc::new(RwLock::new(()));
    let all = Arc::new(Barrier::new(4));
    for _ in 0..3 {
        let (lock, all) = (lock.clone(), all.clone());
        drop(spawn("reader", async move {
            let _guard = lock.read().await;
            all.wait().await;
            time::sleep(LONG).await;
        }));
    }
    all.wait().await;
    _ = spawn("writer", async move { drop(lock.write().await) }).await;
}

/// All permits are out, and their holder sleeps.
pub async fn semaphore() {
    let limit = Arc::new(Semaphore::new(1));
    let taken = limit.clone();
    let both = Arc::new(Barrier::new(2));
    let holder = both.clone();
    drop(spawn("holder", async move {
        let _permit = taken.acquire().await;
        holder.wait().await;
        time::sleep(LONG).await;
    }));
    both.wait().await;
    _ = spawn("waiter", async move { drop(limit.acquire().await) }).await;
}

/// A thread that holds a lock sleeps.
pub fn thread_holder_sleeps() {
    let lock = thread::Mutex::new(());
    std::thread::scope(|scope| {
        let _guard = lock.lock();
        scope.spawn(|| drop(lock.lock()));
        std::thread::sleep(LONG);
    });
}

/// A thread reads twice, with a writer between that gives up in the end.
pub fn timed_writer() {
    let lock = thread::RwLock::new(());
    std::thread::scope(|scope| {
        let _outer = lock.read();
        scope.spawn(|| drop(lock.try_write_for(LONG)));
        while lock.try_read().is_some() {
            std::thread::yield_now();
        }
        let _inner = lock.read();
    });
}

/// A task waits for its own lock, or for a future of another library.
pub async fn foreign_future() {
    let lock = Arc::new(Mutex::new(()));
    _ = spawn("selects", async move {
        let _guard = lock.lock().await;
        blitz_io::select! {
            _ = lock.lock() => {}
            () = foreign() => {}
        }
    })
    .await;
}

/// Ends when a thread that has no record wakes it.
async fn foreign() {
    let mut thread = None;
    std::future::poll_fn(|cx| {
        if thread.is_none() {
            let waker = cx.waker().clone();
            thread = Some(std::thread::spawn(move || {
                std::thread::sleep(LONG);
                waker.wake();
            }));
        }
        std::task::Poll::<()>::Pending
    })
    .await;
}

/// A task that waits for its own lock, which a sleeping task can abort.
pub async fn abort() {
    let lock = Arc::new(Mutex::new(()));
    let task = spawn("selects", async move {
        let _guard = lock.lock().await;
        drop(lock.lock().await);
    });
    let handle = task.abort_handle();
    time::sleep(LONG).await;
    handle.abort();
}

/// A task waits for a lock of a closure on a thread for blocking work, which sleeps.
pub async fn job_holds_lock() {
    let lock = Arc::new(thread::Mutex::new(()));
    let held = lock.clone();
    let (locked, is_locked) = oneshot::channel();
    let job = task::spawn_blocking(move || {
        let _held = held.lock();
        _ = locked.send(());
        std::thread::sleep(LONG);
    });
    _ = is_locked.await;
    let waits = task::spawn_blocking(move || drop(lock.lock()));
    _ = (job.await, waits.await);
}

/// A closure waits for the only thread for blocking work, on which another one sleeps.
pub fn queued_job() {
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(1)
        .build();
    let runtime = runtime.expect("the system has threads");
    let sleeps = runtime.spawn_blocking(|| std::thread::sleep(LONG));
    let queued = runtime.spawn_blocking(|| {});
    _ = runtime.block_on(async { (sleeps.await, queued.await) });
}

/// A pipeline whose sink waits for a timer.
pub async fn pipeline() {
    let mut numbers = 0..100;
    let source = AsyncSource::ready(move || Ok::<_, Infallible>(numbers.next()));
    let sink = AsyncSink::fold((), |(), _| async {
        time::sleep(LONG).await;
        Ok(())
    });
    let stages = pipeline::async_source(source).async_sink(sink);
    _ = stages.run_tasks(|task| drop(spawn("worker", task))).await;
}

/// The same on threads.
pub fn thread_pipeline() {
    let mut numbers = 0..100;
    let stages = pipeline::source(move || Ok::<_, Infallible>(numbers.next()));
    let stages = stages.sink(|_| {
        std::thread::sleep(LONG);
        Ok(())
    });
    _ = stages.workers(3).run();
}

/// A scope on a thread waits for a child that sleeps.
pub async fn scope_of_sleepers() {
    _ = spawn("owner", async {
        task::blocking_scope(|scope| {
            scope.spawn(time::sleep(LONG));
        });
    })
    .await;
}

/// A child of a scope on a thread returns a guard, which the scope keeps, while a task waits for the lock.
pub async fn guard_of_child() {
    let lock = Arc::new(Mutex::new(()));
    // In a task, it would be a long poll.
    let owner = task::spawn_blocking(move || {
        task::blocking_scope(|scope| {
            let child = scope.spawn(lock.lock());
            let guard = scope.block_on(child);
            let wanted = lock.clone();
            let waits = spawn("waits", async move { drop(wanted.lock().await) });
            scope.block_on(time::sleep(LONG));
            drop(guard);
            waits
        })
    });
    if let Ok(waits) = owner.await {
        _ = waits.await;
    }
}

/// A task returns a guard to another one, which keeps it while a third one waits for the lock.
pub async fn guard_of_task() {
    let lock = Arc::new(Mutex::new(()));
    let taken = spawn("takes", lock.clone().lock_owned());
    _ = spawn("keeps", async move {
        let guard = taken.await;
        let waits = spawn("waits", async move { drop(lock.lock().await) });
        time::sleep(LONG).await;
        drop(guard);
        _ = waits.await;
    })
    .await;
}

/// A task polls a set of futures that wait for a lock and a timer, beside its own wait for that lock.
pub async fn unordered() {
    let lock = Arc::new(Mutex::new(()));
    let wanted = lock.clone();
    let both = spawn("both", async move {
        loop {
            let mut requests = FuturesUnordered::new();
            for _ in 0..2 {
                requests.push(async {
                    let _guard = wanted.lock().await;
                    time::sleep(Duration::from_millis(30)).await;
                });
            }
            _ = requests.next().await;
            drop(requests);
            drop(wanted.lock().await);
        }
    });
    _ = both.await;
}

/// Very many tasks, which wait for a channel, a lock, a notification or the time. The variable has their number.
pub async fn many() {
    let count = std::env::var("BLITZ_HANGS_COUNT");
    let count = count
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(100);
    let lock = Arc::new(Mutex::new(()));
    let ready = Arc::new(Notify::new());
    let _guard = lock.lock().await;
    let begun = Arc::new(AtomicUsize::new(0));
    for n in 0..count {
        let begun = begun.clone();
        let begins = move || _ = begun.fetch_add(1, Ordering::Relaxed);
        match n % 4 {
            0 => drop(task::spawn(async move {
                begins();
                let (sender, receiver) = oneshot::channel::<u32>();
                _ = receiver.await;
                drop(sender);
            })),
            1 => {
                let lock = lock.clone();
                drop(task::spawn(async move {
                    begins();
                    drop(lock.lock().await);
                }));
            }
            2 => {
                let ready = ready.clone();
                drop(task::spawn(async move {
                    begins();
                    ready.notified().await;
                }));
            }
            _ => drop(task::spawn(async move {
                begins();
                time::sleep(LONG).await;
            })),
        }
    }
    // Each task gets its record when it waits.
    while begun.load(Ordering::Relaxed) < count {
        task::yield_now().await;
    }
    println!("{count} tasks");
    time::sleep(LONG).await;
}

/// A task has a future that reads under a lock, and another one that waits for that lock.
pub async fn read_under_own_lock() {
    let lock = Arc::new(Mutex::new(()));
    _ = spawn("both", async move {
        let reads = async {
            let _guard = lock.lock().await;
            time::sleep(LONG).await;
        };
        let wants = async { drop(lock.lock().await) };
        blitz_io::join!(reads, wants);
    })
    .await;
}

/// A value that is made once takes long, and tasks wait for it.
pub async fn cell_is_made() {
    let cell = Arc::new(OnceCell::new());
    let tasks = ["one", "two", "three"].map(|name| {
        let cell = cell.clone();
        spawn(name, async move {
            let made = async {
                time::sleep(LONG).await;
                1
            };
            *cell.get_or_init(|| made).await
        })
    });
    for task in tasks {
        _ = task.await;
    }
}

/// A channel is full, and its consumer sleeps before it receives anything.
pub async fn receives_later() {
    let (give, mut take) = mpsc::channel(4);
    let fills = spawn("fills", async move {
        for number in 0..5 {
            _ = give.send(number).await;
        }
    });
    let empties = spawn("empties", async move {
        time::sleep(LONG).await;
        while take.recv().await.is_some() {}
    });
    _ = (fills.await, empties.await);
}

/// Clients wait for the answers of a task, which sleeps with the first request.
pub async fn answers_later() {
    let (ask, mut asked) = mpsc::channel::<oneshot::Sender<()>>(4);
    let answers = spawn("answers", async move {
        while let Some(request) = asked.recv().await {
            time::sleep(LONG).await;
            _ = request.send(());
        }
    });
    let clients = [(); 3].map(|()| {
        let ask = ask.clone();
        spawn("asks", async move {
            let (request, answer) = oneshot::channel();
            _ = ask.send(request).await;
            _ = answer.await;
        })
    });
    drop(ask);
    for client in clients {
        _ = client.await;
    }
    _ = answers.await;
}

/// A dispatcher makes the ends of the answer. It gives one to the client and one to an older task, which answers later: as clients
/// of HTTP/2 do.
pub async fn answers_of_a_dispatcher() {
    let (work, mut asked) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
    let answers = spawn("answers", async move {
        while let Some(request) = asked.recv().await {
            time::sleep(LONG).await;
            _ = request.send(());
        }
    });
    let (ask, mut requests) = mpsc::channel::<oneshot::Sender<oneshot::Receiver<()>>>(4);
    let dispatches = spawn("dispatches", async move {
        while let Some(client) = requests.recv().await {
            let (request, answer) = oneshot::channel();
            _ = work.send(request);
            _ = client.send(answer);
        }
    });
    let asks = spawn("asks", async move {
        let (client, answer) = oneshot::channel();
        _ = ask.send(client).await;
        if let Ok(answer) = answer.await {
            _ = answer.await;
        }
    });
    _ = (asks.await, dispatches.await, answers.await);
}

/// A task has released its permit, and another one wants more permits than the semaphore has. It waits for ever, and nobody keeps
/// a permit.
pub async fn more_permits_than_there_are() {
    let limit = Arc::new(Semaphore::new(1));
    let first = limit.clone();
    let released = spawn("releases", async move { drop(first.acquire().await) });
    _ = released.await;
    _ = spawn("wants", async move { drop(limit.acquire_many(2).await) }).await;
}
