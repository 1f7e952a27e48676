//! Operations of tasks on the primitives take from their budget, as in Tokio.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use blitz_io_core::coop;
use blitz_io_sync::task::{Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore};
use blitz_io_testing::{Wakings, poll_once};

const UNITS: usize = 128;

/// Returns how many of these futures, each of which is ready at once, complete within one poll of a
/// task. The first that has to wait has woken the task.
fn done_within_budget<F: Future>(mut operation: impl FnMut() -> F) -> usize {
    let (wakings, waker) = Wakings::new();
    coop::budget(|| {
        let ready = |_: &usize| poll_once(pin!(operation()), &waker).is_ready();
        let done = (0..10 * UNITS).take_while(ready).count();
        assert_eq!(wakings.count(), usize::from(done < 10 * UNITS));
        done
    })
}

#[test]
fn a_mutex() {
    let mutex = Arc::new(Mutex::new(1));
    assert_eq!(done_within_budget(|| mutex.lock()), UNITS);
    assert_eq!(done_within_budget(|| mutex.clone().lock_owned()), UNITS);
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn a_lock() {
    let lock = Arc::new(RwLock::new(1));
    assert_eq!(done_within_budget(|| lock.read()), UNITS);
    assert_eq!(done_within_budget(|| lock.write()), UNITS);
    assert_eq!(done_within_budget(|| lock.clone().read_owned()), UNITS);
    assert_eq!(done_within_budget(|| lock.clone().write_owned()), UNITS);
    assert!(lock.try_write().is_ok());
}

#[test]
fn a_semaphore() {
    let semaphore = Arc::new(Semaphore::new(2));
    assert_eq!(done_within_budget(|| semaphore.acquire()), UNITS);
    assert_eq!(done_within_budget(|| semaphore.acquire_many(2)), UNITS);
    let owned = || semaphore.clone().acquire_owned();
    assert_eq!(done_within_budget(owned), UNITS);
    let owned = || semaphore.clone().acquire_many_owned(2);
    assert_eq!(done_within_budget(owned), UNITS);
    assert_eq!(semaphore.available_permits(), 2);
    semaphore.close();
    // An error costs nothing.
    assert_eq!(done_within_budget(|| semaphore.acquire()), 10 * UNITS);
}

#[test]
fn a_cell() {
    assert_eq!(
        done_within_budget(|| async { *OnceCell::new().get_or_init(|| async { 1 }).await }),
        UNITS
    );
    let full = OnceCell::new_with(Some(1));
    assert_eq!(
        done_within_budget(|| full.get_or_init(|| async { 2 })),
        10 * UNITS
    );
}

#[test]
fn who_only_tries_has_no_limit() {
    let mutex = Mutex::new(());
    let semaphore = Semaphore::new(1);
    coop::budget(|| {
        for _ in 0..10 * UNITS {
            assert!(mutex.try_lock().is_ok());
            assert!(semaphore.try_acquire().is_ok());
        }
        assert_eq!(done_within_budget(|| mutex.lock()), UNITS);
    });
}

#[test]
fn a_notification_costs_nothing() {
    let notify = Notify::new();
    let notified = || {
        notify.notify_one();
        notify.notified()
    };
    assert_eq!(done_within_budget(notified), 10 * UNITS);
}

#[test]
fn the_last_at_a_barrier_pays_nothing_and_the_others_a_unit() {
    let barrier = Barrier::new(1);
    assert_eq!(done_within_budget(|| barrier.wait()), 10 * UNITS);

    let barrier = Barrier::new(2);
    let context = &mut Context::from_waker(Waker::noop());
    let mut first = pin!(barrier.wait());
    assert!(first.as_mut().poll(context).is_pending());
    assert!(pin!(barrier.wait()).poll(context).is_ready());
    coop::budget(|| {
        while coop::has_budget_remaining() {
            spend(context);
        }
        assert!(first.as_mut().poll(context).is_pending());
    });
    assert!(first.as_mut().poll(context).is_ready());
}

/// A wait that is over, but finds the budget spent, is over with the next poll.
#[test]
fn what_was_handed_over_is_there_with_the_next_budget() {
    let semaphore = Semaphore::new(0);
    let (wakings, waker) = Wakings::new();
    let context = &mut Context::from_waker(&waker);
    let mut permit = pin!(semaphore.acquire());
    assert!(permit.as_mut().poll(context).is_pending());
    semaphore.add_permits(1);
    assert_eq!(wakings.count(), 1);
    coop::budget(|| {
        while coop::has_budget_remaining() {
            spend(context);
        }
        assert!(permit.as_mut().poll(context).is_pending());
    });
    assert_eq!(wakings.count(), 2);
    assert_eq!(semaphore.available_permits(), 0);
    assert!(coop::budget(|| permit.poll(context)).is_ready());
}

/// A wait costs its unit when it ends, not when it begins.
#[test]
fn a_wait_costs_one_unit() {
    let mutex = Mutex::new(());
    let context = &mut Context::from_waker(Waker::noop());
    let guard = mutex.try_lock().unwrap();
    coop::budget(|| {
        let mut waits = pin!(mutex.lock());
        for _ in 0..10 {
            assert!(waits.as_mut().poll(context).is_pending());
        }
        drop(guard);
        assert!(waits.as_mut().poll(context).is_ready());
        let left = std::iter::repeat_with(|| poll_once(pin!(mutex.lock()), Waker::noop()))
            .take_while(Poll::is_ready)
            .count();
        assert_eq!(left, UNITS - 1);
    });
}

fn spend_all() {
    while coop::attempt(|| Some(())).is_some() {}
}

fn spend(context: &mut Context<'_>) {
    if let Poll::Ready(unit) = coop::poll_proceed(context) {
        unit.made_progress();
    }
}

#[test]
fn who_has_no_budget_keeps_its_turn() {
    let mutex = Mutex::new(1);
    let held = mutex.try_lock().unwrap();
    let (mut first, mut second) = (pin!(mutex.lock()), pin!(mutex.lock()));
    let (wakings, waker) = Wakings::new();
    let (of_second, other_waker) = Wakings::new();
    coop::budget(|| {
        spend_all();
        assert!(poll_once(first.as_mut(), &waker).is_pending());
    });
    assert!(poll_once(second.as_mut(), &other_waker).is_pending());
    let before = wakings.count();
    drop(held);
    assert_eq!((wakings.count() - before, of_second.count()), (1, 0));
    assert!(poll_once(second.as_mut(), &other_waker).is_pending());
    assert!(poll_once(first, &waker).is_ready());
}

#[test]
fn who_has_no_budget_gets_what_is_there_and_yields() {
    let semaphore = Semaphore::new(3);
    let mut two = pin!(semaphore.acquire_many(2));
    let (wakings, waker) = Wakings::new();
    coop::budget(|| {
        spend_all();
        assert!(poll_once(two.as_mut(), &waker).is_pending());
        assert!(poll_once(two.as_mut(), &waker).is_pending());
    });
    assert_eq!(semaphore.available_permits(), 1);
    assert_eq!(wakings.count(), 2);
    let permit = coop::budget(|| poll_once(two, &waker));
    assert!(matches!(permit, Poll::Ready(Ok(_))));
    assert_eq!(semaphore.available_permits(), 1);
    drop(permit);
    assert_eq!(semaphore.available_permits(), 3);
}

#[test]
fn what_was_got_without_budget_goes_back() {
    let semaphore = Semaphore::new(1);
    let waker = Waker::noop();
    let without_budget = |task: std::pin::Pin<&mut dyn Future<Output = bool>>| {
        coop::budget(|| {
            spend_all();
            assert!(poll_once(task, waker).is_pending());
        });
        assert_eq!(semaphore.available_permits(), 0);
    };
    // When no task wants it any more.
    {
        let mut task = pin!(async { semaphore.acquire().await.is_ok() });
        without_budget(task.as_mut());
    }
    assert_eq!(semaphore.available_permits(), 1);
    // When it is closed during the wait.
    let mut task = pin!(async { semaphore.acquire().await.is_ok() });
    without_budget(task.as_mut());
    semaphore.close();
    assert_eq!(poll_once(task, waker), Poll::Ready(false));
    assert_eq!(semaphore.available_permits(), 1);
}

/// Tasks of another runtime, whose scheduler knows nothing of the budget.
mod elsewhere {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::Duration;

    use blitz_io_sync::task::{Mutex, Notify, Semaphore};

    /// Runs all operations over and over until the flag is set. Each is ready at once.
    async fn work_until(done: Rc<Cell<bool>>) {
        let (mutex, semaphore, notify) = (Mutex::new(0), Semaphore::new(1), Notify::new());
        while !done.get() {
            *mutex.lock().await += 1;
            drop(semaphore.acquire().await.unwrap());
            notify.notify_one();
            notify.notified().await;
        }
    }

    fn on_tokio<F: Future>(future: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, future)
    }

    #[test]
    fn a_busy_task_does_not_starve_another_task_of_tokio() {
        on_tokio(async {
            let done = Rc::new(Cell::new(false));
            let busy = tokio::task::spawn_local(work_until(done.clone()));
            tokio::task::spawn_local(async move { done.set(true) });
            busy.await.unwrap();
        });
    }

    #[test]
    fn a_timeout_of_tokio_fires_around_operations_that_are_always_ready() {
        on_tokio(async {
            let forever = work_until(Rc::new(Cell::new(false)));
            let result = tokio::time::timeout(Duration::from_millis(5), forever).await;
            assert!(result.is_err());
        });
    }

    #[test]
    fn a_busy_task_does_not_starve_another_task_of_smol() {
        let executor = async_executor::LocalExecutor::new();
        let done = Rc::new(Cell::new(false));
        let busy = executor.spawn(work_until(done.clone()));
        executor.spawn(async move { done.set(true) }).detach();
        pollster::block_on(executor.run(busy));
    }
}
