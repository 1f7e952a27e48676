// Included twice: with Tokio's names, and with ours.

use std::cell::Cell;
use std::future::{Future, pending, ready};
use std::panic::Location;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Mutex;
use std::task::{Poll, Waker};

use blitz_io_testing::{Drops, log, panic_of, poll_once, traits_of};

use task::LocalKey;
use task::futures::TaskLocalFuture;

type Log = Vec<String>;

task_local! {
    static NUMBER: u32;
    /// A key with an attribute.
    pub static WORD: String;
    static DROPPED: Rc<Cell<u32>>;
}

task_local!(static LAST: Option<u8>);

fn poll<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match poll_once(future, Waker::noop()) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn now<F: Future>(future: F) -> Option<F::Output> {
    poll(pin!(future))
}

/// Yields once, whatever the executor.
fn pause() -> impl Future<Output = ()> {
    let mut paused = false;
    std::future::poll_fn(move |context| {
        if std::mem::replace(&mut paused, true) {
            Poll::Ready(())
        } else {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
}

pub fn traits() -> Log {
    let mut log = Log::new();
    log!(log, traits_of!(LocalKey<u32>));
    log!(log, traits_of!(LocalKey<Rc<u32>>));
    log!(log, traits_of!(LocalKey<Cell<u32>>));
    log!(
        log,
        traits_of!(TaskLocalFuture<u32, std::future::Ready<()>>)
    );
    log!(
        log,
        traits_of!(TaskLocalFuture<Rc<u32>, std::future::Ready<()>>)
    );
    log!(
        log,
        traits_of!(TaskLocalFuture<u32, std::future::Ready<Rc<()>>>)
    );
    log!(
        log,
        traits_of!(TaskLocalFuture<Cell<u32>, std::future::Ready<Cell<()>>>)
    );
    log
}

pub fn shown() -> Log {
    let mut log = Log::new();
    log!(log, &NUMBER);
    log.push(format!("{:>30?}", &NUMBER));
    let error = NUMBER.try_get().unwrap_err();
    log!(log, error);
    log.push(format!("{error} {:>30}", error));
    log!(log, error == NUMBER.try_get().unwrap_err());
    let mut scope = Box::pin(WORD.scope("word".into(), ready(())));
    log!(log, &scope);
    log.push(format!("{:#?}", &scope));
    scope.as_mut().take_value();
    log!(log, &scope);
    log
}

pub fn scopes() -> Log {
    let mut log = Log::new();
    log!(log, NUMBER.try_get().is_err());
    log!(log, now(NUMBER.scope(1, async { NUMBER.get() })));
    log!(log, NUMBER.try_get().is_err());
    log!(log, NUMBER.sync_scope(2, || NUMBER.with(|number| *number)));
    let nested = NUMBER.scope(1, async {
        let inner = NUMBER.scope(2, async {
            pause().await;
            NUMBER.get()
        });
        (
            NUMBER.get(),
            inner.await,
            NUMBER.get(),
            WORD.try_get().is_ok(),
        )
    });
    let mut nested = pin!(nested);
    log!(log, poll(nested.as_mut()));
    log!(log, NUMBER.try_get().is_err());
    log!(
        log,
        NUMBER.sync_scope(9, || (poll(nested.as_mut()), NUMBER.get()))
    );
    log!(log, LAST.sync_scope(None, || LAST.get()));
    // Two keys at once.
    let both = WORD.scope(
        "a".into(),
        NUMBER.scope(3, async { (WORD.get(), NUMBER.get()) }),
    );
    log!(log, now(both));
    log
}

pub fn borrowed() -> Log {
    let mut log = Log::new();
    NUMBER.sync_scope(1, || {
        log!(
            log,
            panic_of(|| NUMBER.with(|_| NUMBER.sync_scope(2, || ())))
        );
        log!(log, NUMBER.get());
        log!(
            log,
            panic_of(|| NUMBER.with(|_| now(NUMBER.scope(2, ready(())))))
        );
        log!(log, NUMBER.with(|one| NUMBER.with(|two| one + two)));
        log!(
            log,
            NUMBER.with(|_| WORD.sync_scope("b".into(), || WORD.get()))
        );
        log!(log, panic_of(|| NUMBER.try_with(|_| panic!("inside"))));
        // The panic has left nothing behind.
        log!(log, NUMBER.sync_scope(3, || NUMBER.get()));
    });
    log!(log, panic_of(|| NUMBER.try_with(|_| ())));
    log
}

pub fn taken() -> Log {
    let mut log = Log::new();
    let mut scope = Box::pin(NUMBER.scope(5, async {
        pause().await;
        NUMBER.try_get().ok()
    }));
    log!(log, poll(scope.as_mut()));
    log!(
        log,
        scope.as_mut().take_value(),
        scope.as_mut().take_value()
    );
    log!(log, poll(scope.as_mut()));
    let mut scope = Box::pin(NUMBER.scope(6, async {}));
    log!(log, poll(scope.as_mut()), scope.as_mut().take_value());
    // A scope without a value hides the one around it.
    let mut scope = Box::pin(NUMBER.scope(7, async { NUMBER.try_get().ok() }));
    scope.as_mut().take_value();
    log!(
        log,
        NUMBER.sync_scope(8, || (poll(scope.as_mut()), NUMBER.get()))
    );
    log
}

/// Logs the value when it is dropped.
struct Says<'a>(&'a Mutex<Log>);

impl Drop for Says<'_> {
    fn drop(&mut self) {
        self.0
            .lock()
            .unwrap()
            .push(format!("{:?}", NUMBER.try_get().ok()));
    }
}

pub fn dropped() -> Log {
    let notes = Mutex::new(Log::new());
    let says = || Says(&notes);
    // Never polled, waiting, and ready.
    drop(NUMBER.scope(1, {
        let says = says();
        async move { drop(says) }
    }));
    let mut waits = Box::pin(NUMBER.scope(2, {
        let says = says();
        async move {
            let _says = says;
            pending::<()>().await;
        }
    }));
    assert!(poll(waits.as_mut()).is_none());
    drop(waits);
    let says_ready = says();
    let mut is_ready = Box::pin(NUMBER.scope(
        3,
        std::future::poll_fn(move |_| {
            let _ = &says_ready;
            Poll::Ready(())
        }),
    ));
    poll(is_ready.as_mut());
    notes.lock().unwrap().push("before the scope".into());
    drop(is_ready);
    // Within a look at the same key it is dropped without its value.
    let hidden = Box::pin(NUMBER.scope(4, {
        let says = says();
        async move { drop(says) }
    }));
    NUMBER.sync_scope(5, || NUMBER.with(|_| drop(hidden)));
    // With its value gone.
    let mut gone = Box::pin(NUMBER.scope(6, {
        let says = says();
        async move { drop(says) }
    }));
    gone.as_mut().take_value();
    drop(gone);
    let mut log = std::mem::take(&mut *notes.lock().unwrap());
    // The value itself goes with the scope.
    let drops = Drops::new();
    task_local!(static COUNTED: blitz_io_testing::Counted);
    let mut scope = Box::pin(COUNTED.scope(drops.counted(()), async {}));
    log!(log, drops.count(), poll(scope.as_mut()), drops.count());
    drop(scope);
    log!(log, drops.count());
    COUNTED.sync_scope(drops.counted(()), || log!(log, drops.count()));
    log!(log, drops.count());
    log
}

pub fn panics() -> Log {
    let mut log = Log::new();
    log!(log, panic_of(|| NUMBER.get()));
    log!(log, panic_of(|| NUMBER.with(|_| ())));
    let mut scope = Box::pin(NUMBER.scope(1, async {}));
    log!(log, poll(scope.as_mut()));
    log!(log, panic_of(|| poll(scope.as_mut())));
    // A panic inside leaves the value around as it was.
    NUMBER.sync_scope(2, || {
        log!(log, panic_of(|| NUMBER.sync_scope(3, || panic!("a"))));
        log!(log, NUMBER.get());
        log!(
            log,
            panic_of(|| now(NUMBER.scope(4, async { panic!("b") })))
        );
        log!(log, NUMBER.get());
    });
    log!(log, NUMBER.try_get().is_err());
    log!(
        log,
        place_of_panic(|| {
            NUMBER.get();
        })
    );
    log!(log, place_of_panic(|| NUMBER.with(|_| ())));
    let nested = || NUMBER.with(|_| NUMBER.sync_scope(1, || ()));
    log!(log, NUMBER.sync_scope(1, || place_of_panic(nested)));
    log
}

/// Returns `true` if the panic's location is in this file.
fn place_of_panic(run: impl FnOnce()) -> bool {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    std::thread_local! {
        static PLACE: Cell<Option<bool>> = const { Cell::new(None) };
    }
    let _one = ONE_AT_A_TIME.lock().unwrap();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        let here = Location::caller().file();
        PLACE.set(info.location().map(|place| {
            place.file() == here
                || place.file().ends_with("task_local.rs") && place.file().contains("parity")
        }));
    }));
    assert_ne!(panic_of(run), "no panic");
    std::panic::set_hook(before);
    PLACE.take().unwrap()
}

pub fn in_tasks() -> Log {
    let mut log = Log::new();
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            runtime.spawn(NUMBER.scope(number, async move {
                for _ in 0..10 {
                    task::yield_now().await;
                    assert_eq!(NUMBER.get(), number);
                }
                // Another task has none.
                let other = task::spawn(async { NUMBER.try_get().is_err() });
                (NUMBER.get(), other.await.unwrap())
            }))
        })
        .collect();
    for task in tasks {
        log!(log, runtime.block_on(task).unwrap());
    }
    let thread = NUMBER.sync_scope(1, || {
        let _guard = runtime.enter();
        task::spawn_blocking(|| NUMBER.try_get().is_err())
    });
    log!(log, runtime.block_on(thread).unwrap());
    log
}
