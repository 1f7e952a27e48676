// Scenarios that are compiled twice: with `sync` being Tokio's and ours. Each returns its log.

use std::cell::{Cell, RefCell};
use std::fmt::{Debug, Display};
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Poll, Waker};

use blitz_io_testing::{Dice, Drops, Wakings, implements, log, poll_once, reentrant_waker};

use sync::{Barrier, BarrierWaitResult, Notify, OnceCell, SetError, SetOnce, SetOnceError};
// In Tokio these have a module of their own.
use futures::{Notified, OwnedNotified};

type Log = Vec<String>;

fn poll<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match poll_once(future, Waker::noop()) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn now<F: Future>(future: F) -> Option<F::Output> {
    poll(pin!(future))
}

/// A type that is `Sync`, but not `Send`.
type OnlySync = std::sync::MutexGuard<'static, u32>;

pub fn traits() -> Log {
    let mut log = Log::new();
    macro_rules! table {
        ($($t:ty),* $(,)?) => { $(
            let name = stringify!($t);
            log!(log, name, implements!($t: Send), implements!($t: Sync), implements!($t: Unpin));
            log!(log, name, implements!($t: UnwindSafe), implements!($t: RefUnwindSafe));
            log!(log, name, implements!($t: Debug), implements!($t: Display));
            log!(log, name, implements!($t: Clone), implements!($t: Default));
            log!(log, name, implements!($t: PartialEq), implements!($t: Eq));
            log!(log, name, implements!($t: std::error::Error), implements!($t: From<u32>));
        )* };
    }
    macro_rules! for_each_value {
        ($($value:ty),* $(,)?) => { $( table!(
            OnceCell<$value>,
            SetOnce<$value>,
            SetError<$value>,
            SetOnceError<$value>,
        ); )* };
    }
    table!(
        Notify,
        Notified<'static>,
        OwnedNotified,
        Barrier,
        BarrierWaitResult
    );
    for_each_value!(
        u32,
        String,
        Cell<u32>,
        Rc<u32>,
        OnlySync,
        *mut u32,
        RefCell<String>,
        std::marker::PhantomPinned,
        f32,
        Mutex<u32>,
    );
    log
}

pub fn traits_of_futures() -> Log {
    struct Of<T>(std::marker::PhantomData<T>);
    trait No {
        fn is_send(&self) -> bool {
            false
        }
        fn is_sync(&self) -> bool {
            false
        }
        fn is_unpin(&self) -> bool {
            false
        }
    }
    impl<T> No for &Of<T> {}
    #[allow(dead_code)]
    impl<T: Send> Of<T> {
        fn is_send(&self) -> bool {
            true
        }
    }
    #[allow(dead_code)]
    impl<T: Sync> Of<T> {
        fn is_sync(&self) -> bool {
            true
        }
    }
    #[allow(dead_code)]
    impl<T: Unpin> Of<T> {
        fn is_unpin(&self) -> bool {
            true
        }
    }
    fn of<T>(_: T) -> Of<T> {
        Of(std::marker::PhantomData)
    }

    let mut log = Log::new();
    macro_rules! futures {
        ($($future:expr),* $(,)?) => { $(
            let it = &of($future);
            log!(log, stringify!($future), it.is_send(), it.is_sync(), it.is_unpin());
        )* };
    }
    let barrier = Barrier::new(2);
    futures!(barrier.wait());
    macro_rules! for_each_value {
        ($($value:expr),* $(,)?) => { $(
            let (cell, set_once) = (OnceCell::new_with(Some($value)), SetOnce::from($value));
            futures!(
                cell.get_or_init(|| async { $value }),
                cell.get_or_try_init(|| async { Ok::<_, ()>($value) }),
                cell.get_or_init(|| std::future::ready($value)),
                set_once.wait(),
            );
        )* };
    }
    for_each_value!(1, Cell::new(1), Rc::new(1), std::marker::PhantomPinned);
    log
}

pub fn shown() -> Log {
    let mut log = Log::new();
    let cell = OnceCell::new();
    log!(log, &cell, OnceCell::from(1), cell == OnceCell::from(1));
    log.push(format!("{:#?}", OnceCell::from("text")));
    cell.set(1).unwrap();
    log!(log, &cell, cell.clone(), cell == OnceCell::from(1));
    let error = cell.set(2).unwrap_err();
    log!(
        log,
        &error,
        error.to_string(),
        error.is_already_init_err(),
        error.is_initializing_err()
    );
    let cell = OnceCell::new();
    let mut making = Box::pin(cell.get_or_init(std::future::pending));
    log!(log, poll(making.as_mut()));
    let error = cell.set(2).unwrap_err();
    log!(
        log,
        &error,
        error.to_string(),
        error.is_already_init_err(),
        error.is_initializing_err()
    );

    let cell = SetOnce::new();
    log!(
        log,
        &cell,
        SetOnce::from(1),
        cell == SetOnce::from(1),
        SetOnce::<u8>::default()
    );
    cell.set(1).unwrap();
    log!(
        log,
        &cell,
        cell.clone(),
        cell == SetOnce::from(1),
        SetOnce::new_with(None::<u8>)
    );
    log.push(format!("{:#?}", SetOnce::new_with(Some("text"))));
    let error = cell.set(2).unwrap_err();
    log!(log, &error, error.to_string(), error.0);

    let alone = now(Barrier::new(1).wait()).unwrap();
    log!(log, &alone, alone.clone(), alone.is_leader());
    let barrier = Barrier::new(2);
    let mut first = Box::pin(barrier.wait());
    log!(
        log,
        poll(first.as_mut()).is_none(),
        now(barrier.wait()),
        poll(first.as_mut())
    );
    log
}

pub fn cells() -> Log {
    let mut log = Log::new();
    let drops = Drops::new();
    let mut cell = OnceCell::new();
    log!(
        log,
        cell.get_mut().is_none(),
        cell.take().is_none(),
        cell.initialized()
    );
    cell.set(drops.counted(1)).unwrap();
    drop(cell.set(drops.counted(2)));
    log!(
        log,
        drops.count(),
        cell.initialized(),
        cell.get().map(|it| it.value)
    );
    cell.get_mut().unwrap().value += 10;
    log!(
        log,
        cell.take().map(|it| it.value),
        drops.count(),
        cell.initialized()
    );
    log!(
        log,
        now(cell.get_or_init(|| async { drops.counted(3) })).map(|it| it.value)
    );
    log!(log, cell.into_inner().map(|it| it.value), drops.count());
    drop(OnceCell::from(drops.counted(4)));
    drop(OnceCell::<String>::new());
    log!(log, drops.count());

    let cell = SetOnce::new();
    log!(
        log,
        cell.initialized(),
        cell.get().is_none(),
        now(cell.wait()).is_none()
    );
    cell.set(drops.counted(1)).unwrap();
    drop(cell.set(drops.counted(2)));
    log!(
        log,
        drops.count(),
        cell.initialized(),
        now(cell.wait()).map(|it| it.value)
    );
    log!(log, cell.into_inner().map(|it| it.value), drops.count());
    drop(SetOnce::from(drops.counted(4)));
    log!(log, drops.count(), SetOnce::<u8>::new().into_inner());
    log
}

pub fn a_barrier_of_none() -> Log {
    let mut log = Log::new();
    for n in 0..2 {
        let barrier = Barrier::new(n);
        log!(log, now(barrier.wait()), now(barrier.wait()));
    }
    log
}

/// A waker that does something with the `Notify`, or panics.
pub fn wakers_that_do_things() -> Log {
    let mut log = Log::new();
    // Wakes the next, during the call that wakes it.
    let notify = Arc::new(Notify::new());
    let weak: Weak<Notify> = Arc::downgrade(&notify);
    let again = reentrant_waker(move || {
        let notify = weak.upgrade().unwrap();
        notify.notify_one();
        assert!(now(notify.notified()).is_some());
        notify.notify_one();
    });
    let mut futures: Vec<_> = (0..80).map(|_| Box::pin(notify.notified())).collect();
    let mut late = Box::pin(notify.notified());
    for (i, future) in futures.iter_mut().enumerate() {
        let waker = if i % 10 == 0 { &again } else { Waker::noop() };
        log!(log, poll_once(future.as_mut(), waker).is_ready());
    }
    notify.notify_waiters();
    for future in &mut futures {
        log!(log, poll(future.as_mut()));
    }
    // Covered, so it leaves the stored notification alone.
    log!(
        log,
        poll(late.as_mut()),
        now(notify.notified()),
        now(notify.notified())
    );

    // Looks at others while they are being notified.
    let others: Arc<Mutex<Vec<_>>> = Arc::default();
    let seen: Arc<Mutex<Log>> = Arc::default();
    let look = {
        let (others, seen, notify) = (others.clone(), seen.clone(), notify.clone());
        reentrant_waker(move || {
            let mut others = others.lock().unwrap();
            let mut seen = seen.lock().unwrap();
            for other in others.iter_mut() {
                let other: &mut Pin<Box<OwnedNotified>> = other;
                seen.push(format!("{:?}", poll(other.as_mut())));
            }
            others.truncate(3);
            notify.notify_one();
            let mut new = Box::pin(notify.clone().notified_owned());
            seen.push(format!("{:?}", poll(new.as_mut())));
            seen.push(format!("{:?}", poll(new.as_mut())));
            others.push(new);
        })
    };
    let mut first = Box::pin(notify.notified());
    log!(log, poll_once(first.as_mut(), &look).is_ready());
    for _ in 0..70 {
        let mut other = Box::pin(notify.clone().notified_owned());
        log!(log, poll(other.as_mut()));
        others.lock().unwrap().push(other);
    }
    notify.notify_waiters();
    log!(log, seen.lock().unwrap());
    for other in others.lock().unwrap().iter_mut() {
        log!(log, poll(other.as_mut()));
    }
    log!(log, poll(first.as_mut()), now(notify.notified()));
    others.lock().unwrap().clear();
    log
}

/// Any calls in any order.
pub fn random_notify(seed: u64) -> Log {
    let mut log = Log::new();
    let mut dice = Dice(seed);
    let notify = Arc::new(Notify::new());
    let mut futures: Vec<Option<Pin<Box<OwnedNotified>>>> = Vec::new();
    let wakers: Vec<_> = (0..4).map(|_| Wakings::new()).collect();
    for _ in 0..300 {
        let i = dice.below(futures.len().max(1));
        match dice.below(13) {
            0..3 => futures.push(Some(Box::pin(notify.clone().notified_owned()))),
            3..7 => {
                let waker = &wakers[dice.below(wakers.len())].1;
                if let Some(Some(future)) = futures.get_mut(i) {
                    log!(log, i, poll_once(future.as_mut(), waker).is_ready());
                }
            }
            7 => {
                if let Some(Some(future)) = futures.get_mut(i) {
                    log!(log, i, future.as_mut().enable());
                }
            }
            8 | 9 => {
                if let Some(future) = futures.get_mut(i) {
                    *future = None;
                }
            }
            10 => notify.notify_one(),
            11 => notify.notify_last(),
            _ if dice.below(4) == 0 => notify.notify_waiters(),
            _ => {}
        }
        let wakings: Vec<_> = wakers.iter().map(|waker| waker.0.count()).collect();
        log!(log, wakings);
    }
    drop(futures);
    log!(log, now(notify.notified()), now(notify.notified()));
    log
}

/// Any calls in any order. The log has the results of the futures.
pub fn random_once_cell(seed: u64) -> Log {
    type Making = dyn Future<Output = Result<usize, usize>>;

    let mut log = Log::new();
    let mut dice = Dice(seed);
    let cell = Rc::new(OnceCell::new());
    let ends: Rc<RefCell<Vec<Option<bool>>>> = Rc::default();
    let mut futures: Vec<Option<Pin<Box<Making>>>> = Vec::new();
    let (wakings, waker) = Wakings::new();
    for _ in 0..80 {
        let i = dice.below(futures.len().max(1));
        match dice.below(12) {
            0..3 => {
                let number = futures.len();
                ends.borrow_mut().push(None);
                let ends = ends.clone();
                let end = move || {
                    std::future::poll_fn(move |_| match ends.borrow()[number] {
                        Some(true) => Poll::Ready(Ok(number)),
                        Some(false) => Poll::Ready(Err(number)),
                        None => Poll::Pending,
                    })
                };
                let cell = cell.clone();
                futures.push(Some(if dice.below(2) == 0 {
                    Box::pin(async move { cell.get_or_try_init(end).await.copied() })
                } else {
                    let end = move || async move { end().await.unwrap_or_else(|number| number) };
                    Box::pin(async move { Ok(*cell.get_or_init(end).await) })
                }));
            }
            3..8 => {
                if let Some(Some(future)) = futures.get_mut(i) {
                    if let Poll::Ready(end) = poll_once(future.as_mut(), &waker) {
                        log!(log, i, end);
                        futures[i] = None;
                    }
                }
            }
            8 => {
                if let Some(future) = futures.get_mut(i) {
                    *future = None;
                }
            }
            9 | 10 => {
                if let Some(end) = ends.borrow_mut().get_mut(i) {
                    *end = Some(dice.below(3) == 0);
                }
            }
            _ if dice.below(20) == 0 => log!(log, cell.set(1000)),
            _ => {}
        }
        log!(log, cell.get(), cell.initialized(), wakings.count());
    }
    log
}

pub fn random_set_once(seed: u64) -> Log {
    let mut log = Log::new();
    let mut dice = Dice(seed);
    let cell = SetOnce::new();
    let (wakings, waker) = Wakings::new();
    let mut futures = Vec::new();
    for step in 0..60 {
        let i = dice.below(futures.len().max(1));
        match dice.below(8) {
            0..2 => futures.push(Some(Box::pin(cell.wait()))),
            2..6 => {
                if let Some(Some(future)) = futures.get_mut(i) {
                    if let Poll::Ready(value) = poll_once(future.as_mut(), &waker) {
                        log!(log, i, value);
                        futures[i] = None;
                    }
                }
            }
            6 => {
                if let Some(future) = futures.get_mut(i) {
                    *future = None;
                }
            }
            _ if dice.below(6) == 0 => log!(log, cell.set(step)),
            _ => {}
        }
        log!(log, cell.get(), wakings.count());
    }
    log
}

/// Arrivals in any order; some leave again, and still count.
pub fn random_barrier(seed: u64) -> Log {
    let mut log = Log::new();
    let mut dice = Dice(seed);
    let barrier = Barrier::new(1 + dice.below(5));
    let mut futures = Vec::new();
    for _ in 0..100 {
        let i = dice.below(futures.len().max(1));
        match dice.below(8) {
            0..2 => futures.push(Some(Box::pin(barrier.wait()))),
            2..7 => {
                if let Some(Some(future)) = futures.get_mut(i) {
                    if let Some(result) = poll(future.as_mut()) {
                        log!(log, i, result.is_leader());
                        futures[i] = None;
                    }
                }
            }
            _ => {
                if let Some(future) = futures.get_mut(i) {
                    *future = None;
                }
            }
        }
    }
    log
}
