// Scenarios of tasks and their handles, compiled against Tokio and against ours.

use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use blitz_io_testing::{Drops, Wakings, implements, poll_once, shouting_waker, traits_of};

type Seen = Vec<String>;

/// Runs a scenario as a task, on a runtime with one thread and on one with one worker. A
/// task that a task of a single worker spawns does not run before its parent waits, so
/// the order is the same each time.
fn on_both<F>(scenario: impl Fn() -> F) -> Seen
where
    F: Future<Output = Seen> + Send + 'static,
{
    let run = |on: runtime::Runtime| on.block_on(on.spawn(scenario())).unwrap();
    both().into_iter().flat_map(run).collect()
}

/// A runtime with one thread and one with a worker.
fn both() -> [runtime::Runtime; 2] {
    let mut multi = runtime::Builder::new_multi_thread();
    [
        runtime::Builder::new_current_thread().build().unwrap(),
        multi.worker_threads(1).build().unwrap(),
    ]
}

/// A text without the number of the task.
fn anonymous(text: String, id: task::Id) -> String {
    text.replace(&format!("task {id} "), "task N ")
        .replace(&format!("Id({id})"), "Id(N)")
        .replace(&format!("    {id},"), "    N,")
}

/// The message of the panic in `run`.
fn message(run: impl FnOnce()) -> String {
    let payload = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(()) => return "no panic".into(),
        Err(payload) => payload,
    };
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast_ref::<&str>().unwrap()).into(),
    }
}

/// Everything about an error.
fn describe(error: task::JoinError) -> String {
    let id = error.id();
    let io = std::io::Error::from(if error.is_panic() {
        panic_error()
    } else {
        cancelled_error()
    });
    let texts = format!(
        "{error} | {error:?} | {} {} | {:?} {io}",
        error.is_panic(),
        error.is_cancelled(),
        io.kind(),
    );
    let payload = match error.try_into_panic() {
        Ok(payload) => format!("{:?}", payload.downcast_ref::<&str>()),
        Err(error) => format!("none: {error}"),
    };
    anonymous(format!("{texts} | {payload}"), id)
}

fn error_of<F>(future: F, abort: bool) -> task::JoinError
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let join = task::spawn(future);
        if abort {
            join.abort();
        }
        join.await.unwrap_err()
    })
}

fn panic_error() -> task::JoinError {
    error_of(async { panic!("for io") }, false)
}

fn cancelled_error() -> task::JoinError {
    error_of(pending(), true)
}

pub fn traits() -> Seen {
    type NotSend = std::rc::Rc<()>;
    type NotSync = std::cell::Cell<()>;
    vec![
        format!("{:?}", traits_of!(task::JoinHandle<()>)),
        format!("{:?}", traits_of!(task::JoinHandle<NotSend>)),
        format!("{:?}", traits_of!(task::JoinHandle<NotSync>)),
        format!("{:?}", traits_of!(task::AbortHandle)),
        format!("{:?}", traits_of!(task::JoinError)),
        format!("{:?}", traits_of!(task::Id)),
        format!("{}", implements!(task::JoinHandle<()>: Future)),
        format!("{}", implements!(task::JoinHandle<NotSend>: Future)),
        format!(
            "{}",
            implements!(task::JoinHandle<NotSend>: std::fmt::Debug)
        ),
        format!(
            "{}",
            implements!(task::JoinHandle<Vec<()>>: std::fmt::Debug)
        ),
        format!(
            "{}",
            implements!(task::JoinHandle<Waiting>: std::fmt::Debug)
        ),
        format!("{}", implements!(task::JoinHandle<()>: Clone)),
        format!("{}", implements!(task::AbortHandle: Clone)),
        format!("{}", implements!(task::AbortHandle: std::fmt::Debug)),
        format!("{}", implements!(task::AbortHandle: PartialEq)),
        format!("{}", implements!(task::JoinError: std::error::Error)),
        format!("{}", implements!(task::JoinError: Into<std::io::Error>)),
        format!("{}", implements!(task::JoinError: Clone)),
        format!(
            "{}",
            implements!(task::Id: Copy + Clone + Eq + Ord + std::hash::Hash)
        ),
        format!(
            "{}",
            implements!(task::Id: std::fmt::Display + std::fmt::Debug)
        ),
        format!("{}", implements!(task::Id: Default)),
    ]
}

/// A type that is not `Debug`.
struct Waiting;

pub fn texts() -> Seen {
    on_both(|| async {
        let join = task::spawn(ready(7));
        let id = join.id();
        let abort = join.abort_handle();
        let seen = vec![
            anonymous(format!("{join:?} {join:#?} {abort:?} {abort:#?}"), id),
            anonymous(format!("task {id} {id:?} {id:#?}"), id),
            format!("{}", abort.id() == id),
        ];
        assert_eq!(join.await.unwrap(), 7);
        seen
    })
}

pub fn errors() -> Seen {
    vec![
        describe(error_of(async { panic!("text") }, false)),
        describe(error_of(
            async {
                let what = String::from("a \"string\"\n");
                panic!("{what}");
            },
            false,
        )),
        describe(error_of(async { panic_any(7) }, false)),
        describe(error_of(pending(), true)),
        message(|| drop(cancelled_error().into_panic()))
            .split_inclusive(|c: char| !c.is_numeric())
            .map(|part| part.trim_start_matches(char::is_numeric))
            .collect::<String>(),
        message(|| drop(panic_error().into_panic())),
        format!("{:?}", panic_error().into_panic().downcast_ref::<&str>()),
    ]
}

pub fn polled_after_the_end() -> Seen {
    on_both(|| async {
        let mut join = task::spawn(ready(()));
        let mut seen = vec![format!("{:?}", (&mut join).await.is_ok())];
        let mut context = Context::from_waker(Waker::noop());
        seen.push(message(|| {
            let _ = Pin::new(&mut join).poll(&mut context);
        }));
        seen.push(format!("{}", join.is_finished()));
        seen
    })
}

pub fn ids() -> Seen {
    let mut seen = Seen::new();
    for runtime in both() {
        seen.extend(runtime.block_on(async {
            [
                format!("{:?}", task::try_id()),
                message(|| _ = task::id()),
            ]
        }));
    }
    seen.extend(on_both(|| async {
        let join = task::spawn(async {
            let inner = task::spawn(async { task::try_id() });
            (task::id(), inner.id(), inner.await.unwrap(), task::try_id())
        });
        let id = join.id();
        let (outer, inner, seen_by_inner, later) = join.await.unwrap();
        vec![format!(
            "{} {} {} {}",
            outer == id,
            inner == id,
            seen_by_inner == Some(inner),
            later == Some(id)
        )]
    }));
    seen
}

/// Logs that it is dropped, and in which task.
struct Tells(&'static str, Arc<Mutex<Seen>>);

impl Drop for Tells {
    fn drop(&mut self) {
        let place = if task::try_id().is_some() {
            "in a task"
        } else {
            "outside"
        };
        self.1
            .lock()
            .unwrap()
            .push(format!("{} dropped {place}", self.0));
    }
}

async fn yields(times: usize) {
    for _ in 0..times {
        task::yield_now().await;
    }
}

/// A future that is ready when the gate is open.
fn gated(gate: &Arc<AtomicBool>) -> impl Future<Output = ()> + Send + use<> {
    let gate = gate.clone();
    async move {
        while !gate.load(Ordering::Acquire) {
            task::yield_now().await;
        }
    }
}

/// The order of drops, on one thread.
pub fn order_of_drops() -> Seen {
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let log = Arc::new(Mutex::new(Vec::new()));
        let tells = |what| Tells(what, log.clone());
        let note = |what: &str| log.lock().unwrap().push(what.into());

        let (future, output) = (tells("future 1"), tells("output 1"));
        let join = task::spawn(async move {
            let _future = future;
            output
        });
        let output = join.await.unwrap();
        note("joined");
        drop(output);

        let (future, output) = (tells("future 2"), tells("output 2"));
        drop(task::spawn(async move {
            let _future = future;
            output
        }));
        note("detached");
        task::spawn(yields(3)).await.unwrap();

        let (future, output) = (tells("future 3"), tells("output 3"));
        let join = task::spawn(async move {
            let _future = future;
            output
        });
        task::spawn(yields(3)).await.unwrap();
        note(&format!("finished: {}", join.is_finished()));
        drop(join);
        note("forgotten");

        let future = tells("future 4");
        let join = task::spawn(async move {
            let _future = future;
            pending::<()>().await;
        });
        task::spawn(yields(3)).await.unwrap();
        join.abort();
        note(&format!("aborted: {}", join.is_finished()));
        note(&format!("{}", join.await.unwrap_err().is_cancelled()));

        let future = tells("future 5");
        let join = task::spawn(async move {
            let _future = future;
            panic!("in the poll");
        });
        note(&format!("{}", join.await.unwrap_err().is_panic()));
        let log = log.lock().unwrap();
        log.clone()
    })
}

/// Aborts at all times.
pub fn aborts() -> Seen {
    on_both(|| async {
        let drops = Drops::new();
        let mut seen = Vec::new();

        // Before the first poll.
        let kept = drops.counted(());
        let join = task::spawn(async move { drop(kept) });
        join.abort();
        join.abort();
        let abort = join.abort_handle();
        seen.push(format!("{:?}", join.await.map_err(|e| e.is_cancelled())));
        seen.push(format!("{} {}", drops.count(), abort.is_finished()));

        // While it waits.
        let join = task::spawn(pending::<()>());
        task::yield_now().await;
        let abort = join.abort_handle();
        abort.clone().abort();
        seen.push(format!("{:?}", join.await.map_err(|e| e.is_cancelled())));
        abort.abort();

        // Aborts itself, in a poll that is not the last one.
        let place = Arc::new(Mutex::new(None::<task::AbortHandle>));
        let handle = place.clone();
        let kept = drops.counted(());
        let join = task::spawn(async move {
            while handle.lock().unwrap().is_none() {
                task::yield_now().await;
            }
            handle.lock().unwrap().take().unwrap().abort();
            drop(kept);
            pending::<()>().await;
        });
        *place.lock().unwrap() = Some(join.abort_handle());
        seen.push(format!("{:?}", join.await.map_err(|e| e.is_cancelled())));

        // Aborts itself, in its last poll.
        let place = Arc::new(Mutex::new(None::<task::AbortHandle>));
        let handle = place.clone();
        let join = task::spawn(async move {
            while handle.lock().unwrap().is_none() {
                task::yield_now().await;
            }
            handle.lock().unwrap().take().unwrap().abort();
            7
        });
        *place.lock().unwrap() = Some(join.abort_handle());
        seen.push(format!("{:?}", join.await.map_err(|e| e.is_cancelled())));

        // After its end.
        let join = task::spawn(ready(7));
        while !join.is_finished() {
            task::yield_now().await;
        }
        join.abort();
        seen.push(format!("{:?}", join.await.map_err(|e| e.is_cancelled())));

        // While it yields all the time.
        let join = task::spawn(async {
            loop {
                task::yield_now().await;
            }
        });
        task::yield_now().await;
        join.abort();
        let result: Result<(), _> = join.await;
        seen.push(format!("{:?}", result.map_err(|e| e.is_cancelled())));
        seen.push(format!("{}", drops.count()));
        seen
    })
}

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// Says when it is dropped whether the thread panics.
struct Asks(Arc<Mutex<Seen>>);

impl Drop for Asks {
    fn drop(&mut self) {
        let panics = std::thread::panicking();
        self.0.lock().unwrap().push(format!("panics: {panics}"));
    }
}

/// A future that is still whole after it has panicked.
struct Boom(#[allow(dead_code)] Asks);

impl Future for Boom {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        panic_any("boom")
    }
}

pub fn drops_while_panicking() -> Seen {
    on_both(|| async {
        let seen = Arc::default();
        let asks = || Asks(Arc::clone(&seen));
        let join = task::spawn(Boom(asks()));
        assert!(join.await.unwrap_err().is_panic());
        let join = task::spawn(Boom(asks()));
        join.abort();
        assert!(join.await.unwrap_err().is_cancelled());
        let own = asks();
        let join = task::spawn(async move {
            let _own = own;
            panic_any("boom");
        });
        assert!(join.await.unwrap_err().is_panic());
        let join = task::LocalSet::new().spawn_local(Boom(asks()));
        assert!(join.await.unwrap_err().is_cancelled());
        let asks = asks();
        let join = task::spawn_blocking(move || {
            let _asks = asks;
            panic_any("boom");
        });
        assert!(join.await.unwrap_err().is_panic());
        let seen = seen.lock().unwrap();
        seen.clone()
    })
}

pub fn panics_in_drops() -> Seen {
    on_both(|| async {
        let mut seen = Vec::new();

        // The future's, when it is cancelled.
        let bomb = Bomb("cancelled");
        let join = task::spawn(async move {
            let _bomb = bomb;
            pending::<()>().await;
        });
        join.abort();
        let error = join.await.unwrap_err();
        let id = error.id();
        seen.push(anonymous(format!("{error}"), id));

        // The future's, after it gave its output.
        struct Ends(#[allow(dead_code)] Bomb);
        impl Future for Ends {
            type Output = u32;
            fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
                Poll::Ready(7)
            }
        }
        let result = task::spawn(Ends(Bomb("ended"))).await;
        seen.push(format!("{:?}", result.map_err(|error| error.is_panic())));

        // An async block's own.
        let bomb = Bomb("own");
        let join = task::spawn(async move {
            let _bomb = bomb;
        });
        let error = join.await.unwrap_err();
        let id = error.id();
        seen.push(anonymous(format!("{error}"), id));

        // The output's, detached and not.
        drop(task::spawn(async { Bomb("detached") }));
        let join = task::spawn(async { Bomb("joined") });
        while !join.is_finished() {
            task::yield_now().await;
        }
        seen.push(message(|| drop(join)));
        let bomb = task::spawn(async { Bomb("taken") }).await;
        seen.push(message(|| drop(bomb)));

        // The waiter's waker.
        let gate = Arc::default();
        let mut join = task::spawn(gated(&gate));
        let polled = poll_once(Pin::new(&mut join), &shouting_waker());
        seen.push(format!("{}", polled.is_pending()));
        gate.store(true, Ordering::Release);
        while !join.is_finished() {
            task::yield_now().await;
        }
        seen.push(format!("{}", join.await.is_ok()));
        seen
    })
}

pub fn wakers() -> Seen {
    on_both(|| async {
        let gate = Arc::default();
        let mut join = task::spawn(gated(&gate));
        let ((first, one), (second, two)) = (Wakings::new(), Wakings::new());
        let mut seen = Vec::new();
        for waker in [&one, &one, &two] {
            let polled = poll_once(Pin::new(&mut join), waker);
            seen.push(format!("{}", polled.is_pending()));
        }
        gate.store(true, Ordering::Release);
        while !join.is_finished() {
            task::yield_now().await;
        }
        // The thread that sees the end may be faster than the thread that wakes the
        // waiter.
        blitz_io_testing::watch_dog::watch();
        while second.count() == 0 {
            std::thread::yield_now();
        }
        seen.push(format!("{} {}", first.count(), second.count()));
        seen.push(format!("{:?}", join.await.is_ok()));

        // A join handle is forgotten with its waker.
        let gate = Arc::default();
        let mut join = task::spawn(gated(&gate));
        let (wakings, waker) = Wakings::new();
        assert!(poll_once(Pin::new(&mut join), &waker).is_pending());
        drop((join, waker));
        gate.store(true, Ordering::Release);
        seen.push(format!("{}", Arc::strong_count(&wakings)));
        task::spawn(yields(3)).await.unwrap();
        seen.push(format!("{}", wakings.count()));

        // Wakers of a task outlive it.
        let (waker, join) = {
            let place = Arc::new(Mutex::new(None::<Waker>));
            let to = place.clone();
            let join = task::spawn(poll_fn(move |context| {
                *to.lock().unwrap() = Some(context.waker().clone());
                Poll::Ready(())
            }));
            join.await.unwrap();
            let waker = place.lock().unwrap().take().unwrap();
            (waker.clone(), waker)
        };
        seen.push(format!("{}", waker.will_wake(&join)));
        waker.wake_by_ref();
        waker.wake();
        join.wake();
        seen
    })
}

pub fn selected() -> Seen {
    on_both(|| async {
        // A borrowed handle can be polled again.
        let gate = Arc::default();
        let mut join = task::spawn(gated(&gate));
        let first = poll_fn(|context| Poll::Ready(pin!(&mut join).poll(context).is_ready())).await;
        gate.store(true, Ordering::Release);
        vec![format!("{first}"), format!("{:?}", join.await.is_ok())]
    })
}

pub fn at_the_end_of_the_runtime() -> Seen {
    let drops = Drops::new();
    let mut seen = Vec::new();
    for multi in [false, true] {
        let runtime = if multi {
            runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .build()
        } else {
            runtime::Builder::new_current_thread().build()
        };
        let runtime = runtime.unwrap();
        let kept = drops.counted(());
        let mut waits = runtime.spawn(async move {
            let _kept = kept;
            pending::<()>().await;
        });
        let mut ends = runtime.spawn(ready(7));
        runtime.block_on(async {
            while !ends.is_finished() {
                task::yield_now().await;
            }
        });
        let handle = runtime.handle().clone();
        drop(runtime);
        seen.push(format!("{} {}", drops.count(), waits.is_finished()));
        let mut late = handle.spawn(async { 7 });
        seen.push(format!("{}", late.is_finished()));
        for join in [&mut ends, &mut late] {
            let id = join.id();
            let output = poll_once(Pin::new(join), Waker::noop());
            seen.push(anonymous(format!("{output:?}"), id));
        }
        let id = waits.id();
        let output = poll_once(Pin::new(&mut waits), Waker::noop());
        seen.push(anonymous(format!("{output:?}"), id));
    }
    seen
}
