// Included twice: with Tokio's names, and with ours. `runtime` and `task` are the modules.

use std::cell::RefCell;
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::Duration;

use blitz_io_testing::panic_of;
use runtime::{Builder, EnterGuard, Handle, Runtime, RuntimeFlavor, RuntimeMetrics, TryCurrentError};

type Log = Vec<String>;

include!("both.rs");

/// A list that many write to.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Log>>);

impl Notes {
    fn note(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    fn take(&self) -> Log {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Notes when it is dropped, and whether there is a runtime then.
struct Bell(Notes, &'static str);

impl Drop for Bell {
    fn drop(&mut self) {
        let place = match Handle::try_current() {
            Ok(handle) => format!("{:?}", handle.runtime_flavor()),
            Err(_) => "nowhere".into(),
        };
        self.0.note(format!("{} dropped, {place}", self.1));
    }
}

pub fn traits() -> Log {
    use blitz_io_testing::{implements, traits_of};

    vec![
        format!("{:?}", traits_of!(Runtime)),
        format!("{:?}", traits_of!(Handle)),
        format!("{:?}", traits_of!(EnterGuard<'static>)),
        format!("{:?}", traits_of!(Builder)),
        format!("{:?}", traits_of!(TryCurrentError)),
        format!("{:?}", traits_of!(RuntimeFlavor)),
        format!("{:?}", traits_of!(RuntimeMetrics)),
        format!("{:?}", traits_of!(runtime::Id)),
        format!("{}", implements!(Handle: Clone + std::fmt::Debug)),
        format!("{}", implements!(Runtime: Clone)),
        format!("{}", implements!(Builder: Clone)),
        format!("{}", implements!(RuntimeMetrics: Clone + std::fmt::Debug)),
        format!("{}", implements!(RuntimeFlavor: Clone)),
        format!("{}", implements!(RuntimeFlavor: PartialEq + Eq + std::fmt::Debug)),
        format!("{}", implements!(TryCurrentError: std::error::Error)),
        format!("{}", implements!(runtime::Id: Copy + std::hash::Hash + Eq + std::fmt::Display)),
    ]
}

pub fn debug_texts() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        log.push(format!("{runtime:?}"));
        log.push(format!("{runtime:#?}"));
        log.push(format!("{:?}", runtime.handle()));
        log.push(format!("{:#?}", runtime.handle()));
        log.push(format!("{:?}", runtime.metrics()));
        log.push(format!("{:?}", runtime.handle().runtime_flavor()));
        log.push(format!("{:?}", runtime.handle().name()));
    }
    let error = Handle::try_current().unwrap_err();
    log.push(format!("{error:?} {error}"));
    log.push(format!(
        "{} {}",
        error.is_missing_context(),
        error.is_thread_local_destroyed()
    ));
    log
}

pub fn builders() -> Log {
    let mut builder = Builder::new_multi_thread();
    let mut log = vec![format!("{builder:?}")];
    builder
        .worker_threads(3)
        .max_blocking_threads(7)
        .thread_name("x")
        .thread_stack_size(1 << 20)
        .thread_keep_alive(Duration::from_secs(1))
        .event_interval(5)
        .global_queue_interval(6)
        .on_thread_start(|| {})
        .on_thread_stop(|| {})
        .enable_all();
    log.push(format!("{builder:?}"));
    builder
        .on_thread_park(|| {})
        .on_thread_unpark(|| {})
        .name("Bob");
    log.push(format!("{builder:?} {builder:#?}"));
    log.push(format!("{:?}", builder.build().unwrap().handle().name()));
    log.push(format!("{:?}", Builder::new_current_thread()));
    log
}

pub fn builder_panics() -> Log {
    let new = Builder::new_multi_thread;
    vec![
        panic_of(|| new().worker_threads(0).build()),
        panic_of(|| new().max_blocking_threads(0).build()),
        panic_of(|| new().event_interval(0).build()),
        panic_of(|| new().global_queue_interval(0).build()),
        panic_of(|| new().name(" ").build()),
        panic_of(|| new().start_paused(true).enable_time().build()),
    ]
}

pub fn outside() -> Log {
    vec![
        panic_of(|| task::spawn(async {})),
        panic_of(|| task::spawn_blocking(|| {})),
        panic_of(Handle::current),
    ]
}

pub fn nested() -> Log {
    let mut log = Log::new();
    for (one, other) in [(current(), multi()), (multi(), current())] {
        let handle = other.handle().clone();
        one.block_on(async {
            log.push(panic_of(|| other.block_on(async {})));
            log.push(panic_of(|| one.block_on(async {})));
            log.push(panic_of(|| handle.block_on(async {})));
            log.push(format!("{:?}", Handle::current().runtime_flavor()));
            let guard = handle.enter();
            log.push(format!("{:?}", Handle::current().runtime_flavor()));
            drop(guard);
            log.push(format!("{:?}", Handle::current().runtime_flavor()));
        });
        let of_task = one.spawn(async move { panic_of(|| handle.block_on(async {})) });
        log.push(one.block_on(of_task).unwrap());
        // On a thread for blocking work one may.
        let handle = other.handle().clone();
        let blocking = one.spawn_blocking(move || panic_of(|| handle.block_on(async {})));
        log.push(one.block_on(blocking).unwrap());
    }
    log
}

pub fn dropped_inside() -> Log {
    let mut log = Log::new();
    for outer in both() {
        for inner in both() {
            log.push(outer.block_on(async { panic_of(|| drop(inner)) }));
        }
        for inner in both() {
            let task = outer.spawn(async { panic_of(|| drop(inner)) });
            log.push(outer.block_on(task).unwrap());
        }
        for inner in both() {
            log.push(outer.block_on(async { panic_of(|| inner.shutdown_background()) }));
        }
        for inner in both() {
            let time = Duration::from_millis(1);
            log.push(outer.block_on(async { panic_of(|| inner.shutdown_timeout(time)) }));
        }
        for inner in both() {
            let task = outer.spawn_blocking(|| panic_of(|| drop(inner)));
            log.push(outer.block_on(task).unwrap());
        }
    }
    log
}

fn flavor() -> String {
    match Handle::try_current() {
        Ok(handle) => format!("{:?}", handle.runtime_flavor()),
        Err(_) => "none".into(),
    }
}

pub fn guards() -> Log {
    let (one, other) = (current(), multi());
    let mut log = vec![flavor()];
    let first = one.enter();
    log.push(flavor());
    let second = other.enter();
    log.push(flavor());
    log.push(panic_of(|| drop(first)));
    log.push(flavor());
    drop(second);
    log.push(flavor());
    // The first one is still in the way.
    let third = other.enter();
    log.push(flavor());
    log.push(panic_of(|| one.block_on(async { flavor() })));
    drop(third);
    log.push(flavor());
    log
}

pub fn guards_that_escape() -> Log {
    let run = || {
        let one = current();
        let handle = multi().handle().clone();
        let mut log = Log::new();
        log.push(panic_of(|| {
            one.block_on(async {
                std::mem::forget(handle.enter());
            })
        }));
        log.push(flavor());
        drop(one);
        log.push(flavor());
        let two = current();
        log.push(panic_of(|| two.block_on(async { flavor() })));
        log.push(format!("{:?}", two.block_on(async { flavor() })));
        log.push(flavor());
        log
    };
    std::thread::spawn(run).join().unwrap()
}

pub fn guards_that_move_in() -> Log {
    let run = || {
        let one = current();
        let other = multi();
        let mut log = Log::new();
        let guard = other.enter();
        log.push(panic_of(|| one.block_on(async move { drop(guard) })));
        log.push(flavor());
        drop((one, other));
        log.push(flavor());
        log
    };
    std::thread::spawn(run).join().unwrap()
}

pub fn order_of_tasks() -> Log {
    let notes = Notes::default();
    let runtime = current();
    let note = |name: &'static str| {
        let notes = notes.clone();
        async move {
            for step in 0..3 {
                notes.note(format!("{name}{step}"));
                task::yield_now().await;
            }
        }
    };
    runtime.block_on(async {
        // One task: those that yield in the same round come back in the reverse order
        // with Tokio.
        let task = task::spawn(note("a"));
        for step in 0..4 {
            notes.note(format!("main{step}"));
            task::yield_now().await;
        }
        task.await.unwrap();
        let quick = task::spawn({
            let notes = notes.clone();
            async move { notes.note("quick") }
        });
        let slow = task::spawn(note("slow"));
        quick.await.unwrap();
        notes.note("main");
        slow.await.unwrap();
    });
    notes.take()
}

pub fn tasks_wait_for_block_on() -> Log {
    let notes = Notes::default();
    let runtime = current();
    let note = |name: &'static str, yields: bool| {
        let notes = notes.clone();
        async move {
            notes.note(name);
            if yields {
                task::yield_now().await;
                notes.note(name);
            }
        }
    };
    runtime.spawn(note("a", true));
    runtime.spawn(note("b", false));
    notes.note("before");
    runtime.block_on(async { notes.note("main") });
    notes.note("between");
    runtime.block_on(async {
        notes.note("main");
        task::yield_now().await;
        notes.note("main");
        task::yield_now().await;
        notes.note("main");
    });
    notes.take()
}

/// A future that wakes itself `n` times.
fn wakes(n: usize) -> impl Future<Output = ()> {
    let mut left = n;
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

pub fn intervals() -> Log {
    // How many polls of a busy task the future of `block_on` lets pass.
    let mut log = Log::new();
    for interval in [1, 2, 10, 61] {
        let runtime = Builder::new_current_thread()
            .event_interval(interval)
            .build()
            .unwrap();
        let polls = Arc::new(AtomicUsize::new(0));
        let count = polls.clone();
        runtime.block_on(async {
            task::spawn(async move {
                loop {
                    count.fetch_add(1, SeqCst);
                    wakes(1).await;
                }
            });
            for _ in 0..5 {
                log.push(format!("{interval}: {}", polls.load(SeqCst)));
                wakes(1).await;
            }
        });
    }
    log
}

pub fn panics_pass() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        log.push(panic_of(|| runtime.block_on(async { panic!("on purpose") })));
        // It can be used again.
        log.push(format!("{}", runtime.block_on(async { 1 })));
        let task = runtime.spawn(async { panic!("in a task") });
        let error = runtime.block_on(task).unwrap_err();
        log.push(format!("{}", error.is_panic()));
        log.push(panic_of(|| std::panic::resume_unwind(error.into_panic())));
        log.push(flavor());
    }
    log
}

pub fn numbers() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let metrics = runtime.metrics();
        log.push(format!("{}", metrics.num_workers()));
        log.push(format!("{}", metrics.num_alive_tasks()));
        let tasks: Vec<_> = (0..3).map(|_| runtime.spawn(pending::<()>())).collect();
        log.push(format!("{}", metrics.num_alive_tasks()));
        for task in tasks {
            task.abort();
            log.push(format!("{}", runtime.block_on(task).unwrap_err().is_cancelled()));
        }
        // Tokio may wake the handle of a task before it removes the task from its list.
        while metrics.num_alive_tasks() != 0 {
            std::thread::yield_now();
        }
        log.push(format!("{}", metrics.global_queue_depth()));
        let worker = metrics.num_workers();
        log.push(panic_of(|| metrics.worker_park_count(worker)).is_empty().to_string());
        drop(runtime);
        log.push(format!("{} {}", metrics.num_workers(), metrics.num_alive_tasks()));
    }
    log
}

pub fn drops_at_the_end() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let notes = Notes::default();
        let bell = |name| Bell(notes.clone(), name);

        // One that waits.
        let waits = bell("waiting");
        let (started, has_started) = mpsc::channel();
        let tell = started.clone();
        let waiting = runtime.spawn(async move {
            let _bell = waits;
            tell.send(()).unwrap();
            pending::<()>().await
        });
        // A completed task with an output that no handle takes.
        let output = bell("output");
        let done = runtime.spawn(async move { output });
        // One that is done and detached.
        let detached = bell("detached");
        let (detach, is_detached) = oneshot::channel();
        drop(runtime.spawn(async move {
            is_detached.await.unwrap();
            detached
        }));
        detach.send(()).unwrap();
        runtime.block_on(async {
            task::yield_now().await;
            while !done.is_finished() {
                task::yield_now().await;
            }
        });
        has_started.recv().unwrap();
        while notes.0.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        notes.note("end");
        drop(runtime);
        notes.note("ended");
        log.extend(notes.take());
        let cancelled = pollster::block_on(waiting).unwrap_err();
        log.push(format!("{}", cancelled.is_cancelled()));
        drop(pollster::block_on(done).unwrap());
        log.extend(notes.take());
    }
    log
}

pub fn spawned_after_the_end() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let notes = Notes::default();
        let handle = runtime.handle().clone();
        drop(runtime);
        let bell = Bell(notes.clone(), "future");
        let task = handle.spawn(async move { drop(bell) });
        notes.note("spawned");
        let error = pollster::block_on(task).unwrap_err();
        notes.note(format!("{}", error.is_cancelled()));
        let bell = Bell(notes.clone(), "closure");
        let task = handle.spawn_blocking(move || drop(bell));
        notes.note("spawned");
        let error = pollster::block_on(task).unwrap_err();
        notes.note(format!("{}", error.is_cancelled()));
        notes.note(format!("{}", handle.block_on(async { 5 })));
        log.extend(notes.take());
    }
    log
}

pub fn spawned_during_the_end() -> Log {
    struct Spawns(Notes);

    impl Drop for Spawns {
        fn drop(&mut self) {
            let bell = Bell(self.0.clone(), "late");
            let spawned = task::spawn(async move { drop(bell) });
            self.0.note(format!("spawned, {}", spawned.is_finished()));
        }
    }

    let mut log = Log::new();
    for runtime in both() {
        let notes = Notes::default();
        let spawns = Spawns(notes.clone());
        let (started, has_started) = mpsc::channel();
        runtime.spawn(async move {
            let _spawns = spawns;
            started.send(()).unwrap();
            pending::<()>().await
        });
        runtime.block_on(async { task::yield_now().await });
        has_started.recv().unwrap();
        drop(runtime);
        log.extend(notes.take());
    }
    log
}

pub fn future_of_block_on_is_dropped_inside() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let notes = Notes::default();
        let bell = Bell(notes.clone(), "main");
        let mut future = Box::pin(async move {
            let _bell = &bell;
            pending::<()>().await
        });
        let once = poll_fn(move |context| {
            let _ = Pin::new(&mut future).poll(context);
            Poll::Ready(())
        });
        runtime.block_on(once);
        notes.note("back");
        log.extend(notes.take());
    }
    log
}

pub fn several_threads_block() -> Log {
    let runtime = Arc::new(current());
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let runtime = runtime.clone();
            std::thread::spawn(move || {
                let mut sum = 0;
                for i in 0..50 {
                    sum += runtime.block_on(async move {
                        let task = task::spawn(async move {
                            task::yield_now().await;
                            n * i
                        });
                        task.await.unwrap()
                    });
                }
                sum
            })
        })
        .collect();
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap().to_string())
        .collect()
}

pub fn blocking_on_a_handle() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let handle = runtime.handle().clone();
        // Some thread has to drive the current-thread one.
        let (end, has_ended) = oneshot::channel::<()>();
        let other = std::thread::spawn(move || {
            let sum = handle.block_on(async {
                let flavor = flavor();
                let task = task::spawn(async { 20 });
                format!("{flavor} {}", task.await.unwrap())
            });
            end.send(()).unwrap();
            sum
        });
        runtime.block_on(has_ended).unwrap();
        log.push(other.join().unwrap());
    }
    log
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

struct Late(mpsc::Sender<String>, Handle);

impl Drop for Late {
    fn drop(&mut self) {
        self.0.send(format!("{:?}", self.1.spawn(async {}).is_finished())).unwrap();
        let sum = panic_of(|| assert_eq!(self.1.block_on(async { 1 }), 1));
        self.0.send(sum).unwrap();
    }
}

pub fn while_a_thread_ends() -> Log {
    let mut log = Log::new();
    for runtime in both() {
        let (sender, receiver) = mpsc::channel();
        let late = Late(sender, runtime.handle().clone());
        std::thread::spawn(|| LATE.set(Some(late))).join().unwrap();
        let texts: Log = receiver.iter().collect();
        log.push(texts.len().to_string());
        log.push(texts[1].clone());
    }
    log
}

pub fn worker_numbers() -> Log {
    let mut log = Log::new();
    let note = || format!("{:?}", runtime::worker_index());
    for runtime in [
        current(),
        Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap(),
    ] {
        log.push(note());
        log.push(runtime.block_on(async { note() }));
        let task = runtime.spawn(async move { note() });
        log.push(runtime.block_on(task).unwrap());
        let task = runtime.spawn_blocking(note);
        log.push(runtime.block_on(task).unwrap());
        let _guard = runtime.enter();
        log.push(note());
    }
    let outer = multi();
    let task = outer.spawn(async move {
        task::block_in_place(|| current().block_on(async { note() }))
    });
    log.push(outer.block_on(task).unwrap());
    log
}
