use lib::runtime::{Builder, Handle, Runtime};
use lib::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use lib::task::{JoinError, JoinHandle, JoinSet, LocalSet};
use lib::time::{Duration, Instant, MissedTickBehavior};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

// #[main] and #[test].

#[lib::main(flavor = "current_thread")]
async fn parse(text: &str) -> Result<u32, std::num::ParseIntError> {
    let text = text.to_owned();
    Ok(lib::spawn(async move { text.parse::<u32>() })
        .await
        .unwrap()?
        + 1)
}

#[lib::main(worker_threads = 2)]
async fn twice(number: u32) -> u32 {
    lib::task::block_in_place(|| number * 2)
}

#[test]
fn main_returns_what_the_body_returns() {
    assert_eq!(parse("41"), Ok(42));
    assert!(parse("x").is_err());
    assert_eq!(twice(21), 42);
}

#[lib::test]
#[should_panic(expected = "as expected")]
async fn a_test_may_panic() {
    lib::task::yield_now().await;
    panic!("as expected");
}

// tokio::spawn, tokio::task.

#[lib::test]
async fn tasks_end_in_their_handles() {
    let task: JoinHandle<u8> = lib::spawn(async { 1 });
    assert_eq!(task.await.unwrap(), 1);

    let panicked: JoinError = lib::spawn(async { panic!("oh") }).await.unwrap_err();
    assert!(panicked.is_panic());
    assert_eq!(*panicked.into_panic().downcast::<&str>().unwrap(), "oh");

    let task = lib::spawn(std::future::pending::<()>());
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());

    assert_eq!(lib::task::spawn_blocking(|| 2).await.unwrap(), 2);
}

#[lib::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_of_tasks() {
    let mut set = JoinSet::new();
    for number in 0..100_u64 {
        set.spawn(async move {
            lib::task::yield_now().await;
            number
        });
    }
    set.spawn_blocking(|| 1000);
    assert_eq!(set.len(), 101);
    let mut sum = 0;
    while let Some(number) = set.join_next().await {
        sum += number.unwrap();
    }
    assert_eq!(sum, 4950 + 1000);
}

#[lib::test]
async fn tasks_that_stay_on_their_thread() {
    let local = LocalSet::new();
    let shared = Rc::new(Cell::new(0));
    let in_task = shared.clone();
    local
        .run_until(async move {
            lib::task::spawn_local(async move { in_task.set(7) })
                .await
                .unwrap();
        })
        .await;
    assert_eq!(shared.get(), 7);
}

#[lib::test(flavor = "local")]
async fn a_runtime_whose_tasks_stay() {
    let shared = Rc::new(Cell::new(0));
    let in_task = shared.clone();
    let task = lib::task::spawn_local(async move { in_task.set(7) });
    task.await.unwrap();
    assert_eq!(shared.get(), 7);
}

lib::task_local! {
    static REQUEST: u32;
}

#[lib::test]
async fn values_of_a_task() {
    let inside = REQUEST.scope(5, async {
        lib::task::yield_now().await;
        REQUEST.get()
    });
    assert_eq!(inside.await, 5);
    assert!(REQUEST.try_with(|_| ()).is_err());
}

// tokio::runtime.

#[test]
fn runtimes_by_hand() {
    let runtime: Runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("rows")
        .enable_all()
        .build()
        .unwrap();
    let handle: Handle = runtime.handle().clone();
    let task = handle.spawn(async { std::thread::current().name().map(str::to_owned) });
    assert_eq!(runtime.block_on(task).unwrap().unwrap(), "rows");
    let from_a_thread = std::thread::spawn(move || handle.block_on(async { 3 }));
    assert_eq!(from_a_thread.join().unwrap(), 3);
    runtime.shutdown_timeout(Duration::from_secs(5));
    assert!(Handle::try_current().is_err());
}

// tokio::time.

#[lib::test(start_paused = true)]
async fn time() {
    let start = Instant::now();
    lib::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(start.elapsed().as_secs(), 10);
    let never = lib::time::timeout(Duration::from_secs(5), std::future::pending::<()>());
    assert!(never.await.is_err());
    let mut ticks = lib::time::interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticks.tick().await;
    lib::time::advance(Duration::from_millis(3500)).await;
    ticks.tick().await;
    let third = ticks.tick().await;
    assert_eq!((third - start).as_secs(), 19);
}

// tokio::sync, on the runtime.

#[lib::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_in_sync() {
    let (jobs, mut inbox) = mpsc::channel::<(u32, oneshot::Sender<u32>)>(4);
    let server = lib::spawn(async move {
        let mut served = 0;
        while let Some((number, answer)) = inbox.recv().await {
            answer.send(number * number).unwrap();
            served += 1;
        }
        served
    });
    let total = Arc::new(Mutex::new(0));
    let at_once = Arc::new(Semaphore::new(3));
    let gate = Arc::new(Barrier::new(5));
    let (news, _) = broadcast::channel(16);
    let (state, mut seen) = watch::channel(0);
    let clients: JoinSet<()> = (1..=5)
        .map(|number| {
            let (jobs, total, at_once) = (jobs.clone(), total.clone(), at_once.clone());
            let (gate, mut news) = (gate.clone(), news.subscribe());
            async move {
                gate.wait().await;
                let permit = at_once.acquire().await.unwrap();
                let (answer, square) = oneshot::channel();
                jobs.send((number, answer)).await.unwrap();
                *total.lock().await += square.await.unwrap();
                drop((permit, jobs));
                assert_eq!(news.recv().await.unwrap(), "end");
            }
        })
        .collect();
    drop(jobs);
    assert_eq!(server.await.unwrap(), 5);
    news.send("end").unwrap();
    clients.join_all().await;
    assert_eq!(*total.lock().await, 55);
    state.send(1).unwrap();
    seen.changed().await.unwrap();
    let table = RwLock::new(1);
    *table.write().await += 1;
    assert_eq!(*table.read().await, 2);
    let notify = Notify::new();
    notify.notify_one();
    notify.notified().await;
}

/// Blocking methods panic at once in a task, and work where blocking is allowed.
#[lib::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_task_must_not_block() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn all() -> [fn(); 10] {
        [
            || drop(Mutex::new(()).blocking_lock()),
            || drop(Arc::new(Mutex::new(())).blocking_lock_owned()),
            || drop(Semaphore::new(1).blocking_acquire().unwrap()),
            || drop(RwLock::new(()).blocking_read()),
            || drop(RwLock::new(()).blocking_write()),
            || {
                let (sender, _receiver) = mpsc::channel(1);
                sender.blocking_send(()).unwrap();
            },
            || {
                let (_, mut receiver) = mpsc::channel::<()>(1);
                assert!(receiver.blocking_recv().is_none());
            },
            || {
                let (_, mut receiver) = mpsc::unbounded_channel::<()>();
                assert_eq!(receiver.blocking_recv_many(&mut Vec::new(), 1), 0);
            },
            || {
                let (_, receiver) = oneshot::channel::<()>();
                assert!(receiver.blocking_recv().is_err());
            },
            || {
                let (_, mut receiver) = broadcast::channel::<()>(1);
                assert!(receiver.blocking_recv().is_err());
            },
        ]
    }

    fn refused(operation: fn()) -> bool {
        let panicked = catch_unwind(AssertUnwindSafe(operation)).unwrap_err();
        let text = panicked.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| panicked.downcast_ref::<String>().cloned());
        text.unwrap()
            .starts_with("Cannot block the current thread from within a runtime.")
    }

    // In the future of `block_on`, and in a task.
    assert!(all().into_iter().all(refused));
    let task = lib::spawn(async { all().into_iter().all(refused) });
    assert!(task.await.unwrap());

    let task = lib::task::spawn_blocking(|| all().into_iter().for_each(|operation| operation()));
    task.await.unwrap();
    let task = lib::spawn(async {
        lib::task::block_in_place(|| all().into_iter().for_each(|operation| operation()));
        refused(all()[0])
    });
    assert!(task.await.unwrap());
}

// select!, join!, try_join!, pin!.

#[lib::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_futures_in_one_task() {
    let (tell, mut told) = mpsc::unbounded_channel();
    lib::spawn(async move {
        for number in 1..=3 {
            tell.send(number).unwrap();
            lib::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let late = lib::time::sleep(Duration::from_secs(60));
    lib::pin!(late);
    let mut sum = 0;
    loop {
        lib::select! {
            biased;
            () = &mut late => panic!("the sender sleeps"),
            Some(number) = told.recv(), if sum < 100 => sum += number,
            else => break,
        }
        if sum == 6 {
            told.close();
            sum = 106;
            assert!(told.is_closed());
            break;
        }
    }
    assert_eq!(sum, 106);
    let (left, right) = lib::join!(lib::spawn(async { 1 }), lib::spawn(async { 2 }));
    assert_eq!(left.unwrap() + right.unwrap(), 3);
    let both = lib::try_join!(
        lib::spawn(async { 1 }),
        lib::spawn(async { panic!() as u8 })
    );
    assert!(both.unwrap_err().is_panic());
}

/// The macros use the budget: a task whose branches are always ready yields nevertheless.
#[lib::test]
async fn select_lets_others_have_their_turn() {
    let (send, mut receive) = mpsc::unbounded_channel();
    for number in 0..10_000 {
        send.send(number).unwrap();
    }
    let other = lib::spawn(async {});
    let mut before = 0;
    while !other.is_finished() {
        lib::select! {
            number = receive.recv() => before = number.unwrap(),
            () = std::future::pending() => {}
        }
    }
    assert!(before < 1_000, "{before}");
}

/// Every primitive is pending when the budget is spent. `select!` must not take another
/// branch then: it yields before it polls any.
#[lib::test]
async fn select_takes_no_branch_for_lack_of_budget() {
    let (send, mut receive) = mpsc::unbounded_channel();
    (0..1000).for_each(|number| send.send(number).unwrap());
    let mut taken = 0;
    loop {
        lib::select! {
            biased;
            Some(_) = receive.recv() => taken += 1,
            () = std::future::ready(()) => break,
        }
    }
    assert_eq!(taken, 1000);
}

// A task that yields runs again, however busy the others are.

async fn yield_among_busy_tasks() {
    let (stop, stopped) = watch::channel(false);
    let mut busy = JoinSet::new();
    for _ in 0..50 {
        let (ping, mut pinged) = mpsc::unbounded_channel();
        let (pong, mut ponged) = mpsc::unbounded_channel();
        let stopped = stopped.clone();
        busy.spawn(async move {
            while !*stopped.borrow() {
                ping.send(()).unwrap();
                ponged.recv().await.unwrap();
            }
        });
        busy.spawn(async move {
            while pinged.recv().await.is_some() {
                _ = pong.send(());
            }
        });
    }
    let yielding = lib::spawn(async {
        for _ in 0..5 {
            lib::task::yield_now().await;
        }
    });
    let yielded = lib::time::timeout(Duration::from_secs(900), yielding).await;
    stop.send(true).unwrap();
    busy.join_all().await;
    yielded.expect("it did not have its turn").unwrap();
}

#[lib::test]
async fn a_task_that_yields_has_its_turn() {
    yield_among_busy_tasks().await;
}

#[lib::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_yields_has_its_turn_among_workers() {
    yield_among_busy_tasks().await;
}

/// The future of `block_on` does not overtake tasks that were ready before it.
#[test]
fn block_on_yields_too() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let (tell, mut told) = mpsc::unbounded_channel();
    runtime.spawn(async move { tell.send("a task").unwrap() });
    runtime.block_on(lib::task::yield_now());
    assert_eq!(told.try_recv(), Ok("a task"));
}

// tokio-util.

#[lib::test(flavor = "multi_thread", worker_threads = 2)]
async fn ending_well() {
    let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
    for _ in 0..10 {
        let stop = stop.child_token();
        tracker.spawn(async move { stop.cancelled().await });
    }
    assert_eq!(tracker.len(), 10);
    tracker.close();
    drop(stop.clone().drop_guard());
    tracker.wait().await;
    assert!(tracker.is_empty() && stop.is_cancelled());
    let never = stop.run_until_cancelled(std::future::pending::<()>());
    assert!(never.await.is_none());
}

// Without rayon.

#[lib::test]
async fn a_few_big_pieces() {
    let numbers: Arc<[u64]> = (0..40_000).collect();
    let mut pieces = JoinSet::new();
    for piece in 0..4 {
        let numbers = numbers.clone();
        pieces.spawn_blocking(move || numbers[piece * 10_000..][..10_000].iter().sum::<u64>());
    }
    let sum: u64 = pieces.join_all().await.iter().sum();
    assert_eq!(sum, 40_000 * 39_999 / 2);
}
