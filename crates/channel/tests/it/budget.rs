//! Operations of tasks on channels take from their budget, as in Tokio.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use blitz_io_channel::mpsc::error::TryRecvError;
use blitz_io_channel::{broadcast, mpmc, mpsc, oneshot, watch};
use blitz_io_core::coop;
use blitz_io_testing::{Wakings, poll_once, shouting_waker};

const UNITS: usize = 128;
const MANY: usize = 10 * UNITS;

/// Returns the number of times that one poll of a task completes `operation`, which is always ready.
fn done_within_budget(mut operation: impl AsyncFnMut()) -> usize {
    let mut done = 0;
    let count = async {
        while done < MANY {
            operation().await;
            done += 1;
        }
    };
    let _ = coop::budget(|| pin!(count).poll(&mut Context::from_waker(Waker::noop())));
    done
}

#[test]
fn mpsc_receivers() {
    let (tx, mut rx) = mpsc::channel(2 * MANY);
    let (unbounded, mut unbounded_rx) = mpsc::unbounded_channel();
    for i in 0..2 * MANY {
        tx.try_send(i).unwrap();
        unbounded.send(i).unwrap();
    }
    assert_eq!(
        done_within_budget(async || assert!(rx.recv().await.is_some())),
        UNITS
    );
    let receive = async || assert!(unbounded_rx.recv().await.is_some());
    assert_eq!(done_within_budget(receive), UNITS);
    // Where the budget ended, nothing was lost.
    assert_eq!(rx.try_recv(), Ok(UNITS));
    assert_eq!(unbounded_rx.try_recv(), Ok(UNITS));
    let mut buffer = Vec::new();
    let receive = async || assert_eq!(rx.recv_many(&mut buffer, 2).await, 2);
    assert_eq!(done_within_budget(receive), UNITS);
    rx.close();
    while rx.try_recv().is_ok() {}
    assert_eq!(
        done_within_budget(async || assert!(rx.recv().await.is_none())),
        UNITS
    );
}

#[test]
fn mpsc_senders() {
    let (tx, mut rx) = mpsc::channel(2 * MANY);
    assert_eq!(
        done_within_budget(async || tx.send(1).await.unwrap()),
        UNITS
    );
    assert_eq!(rx.len(), UNITS);
    let reserve = async || tx.reserve().await.unwrap().send(1);
    assert_eq!(done_within_budget(reserve), UNITS);
    let reserve = async || drop(tx.reserve_many(2).await.unwrap());
    assert_eq!(done_within_budget(reserve), UNITS);
    let reserve = async || drop(tx.clone().reserve_owned().await.unwrap());
    assert_eq!(done_within_budget(reserve), UNITS);
    rx.close();
    // An error costs nothing.
    assert_eq!(
        done_within_budget(async || assert!(tx.send(1).await.is_err())),
        MANY
    );
}

/// Polls something when the budget is spent.
fn poll_without_budget<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    coop::budget(|| {
        while coop::attempt(|| Some(())).is_some() {}
        poll_once(future, waker)
    })
}

#[test]
fn a_sender_without_budget_keeps_its_turn() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(0).unwrap();
    let (mut first, mut second) = (pin!(tx.send(1)), pin!(tx.send(2)));
    let (wakings, waker) = Wakings::new();
    let (of_second, other_waker) = Wakings::new();
    assert!(poll_without_budget(first.as_mut(), &waker).is_pending());
    assert!(poll_once(second.as_mut(), &other_waker).is_pending());
    let before = wakings.count();
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!((wakings.count() - before, of_second.count()), (1, 0));
    assert_eq!(poll_once(first, &waker), Poll::Ready(Ok(())));
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(poll_once(second, &other_waker), Poll::Ready(Ok(())));
}

#[test]
fn a_permit_goes_back_once_although_the_waker_of_the_receiver_panics() {
    let (tx, mut rx) = mpsc::channel(2);
    let mut send = Box::pin(tx.send(1));
    // It has its permit, and no budget to use it.
    assert!(poll_without_budget(send.as_mut(), Waker::noop()).is_pending());
    rx.close();
    assert!(poll_once(pin!(rx.recv()), &shouting_waker()).is_pending());
    let poll = AssertUnwindSafe(|| poll_once(send.as_mut(), Waker::noop()));
    assert!(catch_unwind(poll).is_err());
    drop(send);
    assert_eq!(rx.len(), 0);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn what_a_sender_without_budget_got_goes_back() {
    let (tx, mut rx) = mpsc::channel::<u32>(2);
    {
        let mut send = pin!(tx.send(1));
        assert!(poll_without_budget(send.as_mut(), Waker::noop()).is_pending());
        assert_eq!(tx.capacity(), 1);
    }
    assert_eq!(tx.capacity(), 2);
    let mut send = pin!(tx.send(1));
    assert!(poll_without_budget(send.as_mut(), Waker::noop()).is_pending());
    rx.close();
    // There may be a value yet to come.
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert!(matches!(
        poll_once(send, Waker::noop()),
        Poll::Ready(Err(_))
    ));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn who_only_tries_has_no_limit() {
    let (tx, mut rx) = mpsc::channel(1);
    let (both, both_rx) = mpmc::bounded(1);
    coop::budget(|| {
        for _ in 0..MANY {
            tx.try_send(1).unwrap();
            rx.try_recv().unwrap();
            both.try_send(1).unwrap();
            both_rx.try_recv().unwrap();
        }
        assert!(coop::has_budget_remaining());
    });
}

/// A receiver without a budget, which has not waited, waits with the next poll.
#[test]
fn what_is_sent_meanwhile_wakes_later() {
    let (tx, mut rx) = mpsc::channel(1);
    let (wakings, waker) = blitz_io_testing::Wakings::new();
    let mut receive = pin!(rx.recv());
    let mut poll = || receive.as_mut().poll(&mut Context::from_waker(&waker));
    coop::budget(|| {
        while let Poll::Ready(unit) = coop::poll_proceed(&mut Context::from_waker(Waker::noop())) {
            unit.made_progress();
        }
        assert!(poll().is_pending());
    });
    assert_eq!(wakings.count(), 1);
    assert!(poll().is_pending());
    tx.try_send(1).unwrap();
    assert_eq!(wakings.count(), 2);
    assert_eq!(poll(), Poll::Ready(Some(1)));
}

#[test]
fn oneshot_ends() {
    let receive = async || {
        let (tx, rx) = oneshot::channel();
        tx.send(1).unwrap();
        assert_eq!(rx.await, Ok(1));
    };
    assert_eq!(done_within_budget(receive), UNITS);
    let closed = async || {
        let (mut tx, rx) = oneshot::channel::<()>();
        drop(rx);
        tx.closed().await;
    };
    assert_eq!(done_within_budget(closed), UNITS);
}

#[test]
fn broadcast_receivers() {
    let (tx, mut rx) = broadcast::channel(2 * MANY);
    for i in 0..MANY {
        tx.send(i).unwrap();
    }
    assert_eq!(
        done_within_budget(async || assert!(rx.recv().await.is_ok())),
        UNITS
    );
    assert_eq!(rx.try_recv(), Ok(UNITS));
}

#[test]
fn watchers() {
    let (tx, mut rx) = watch::channel(1);
    let change = async || {
        tx.send(1).unwrap();
        rx.changed().await.unwrap();
    };
    assert_eq!(done_within_budget(change), UNITS);
    let look = async || drop(rx.wait_for(|&value| value == 1).await.unwrap());
    assert_eq!(done_within_budget(look), UNITS);
    drop(rx);
    assert_eq!(done_within_budget(async || tx.closed().await), UNITS);
}

#[test]
fn mpmc_ends() {
    let (tx, rx) = mpmc::bounded(2 * MANY);
    assert_eq!(
        done_within_budget(async || tx.send(1).await.unwrap()),
        UNITS
    );
    assert_eq!(rx.len(), UNITS);
    (0..MANY).for_each(|i| tx.try_send(i).unwrap());
    assert_eq!(
        done_within_budget(async || assert!(rx.recv().await.is_ok())),
        UNITS
    );
    assert_eq!(rx.len(), MANY);
}

/// Tasks of another runtime, whose scheduler knows nothing of the budget.
mod elsewhere {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::Duration;

    use blitz_io_channel::{broadcast, mpmc, mpsc, watch};

    /// Sends and receives over and over until the flag is set. Each is ready at once.
    async fn send_and_receive(done: Rc<Cell<bool>>) {
        let (tx, mut rx) = mpsc::channel(1);
        while !done.get() {
            tx.send(1).await.unwrap();
            assert_eq!(rx.recv().await, Some(1));
        }
    }

    async fn send_and_receive_by_mpmc(done: Rc<Cell<bool>>) {
        let (tx, rx) = mpmc::bounded(1);
        while !done.get() {
            tx.send(1).await.unwrap();
            assert_eq!(rx.recv().await, Ok(1));
        }
    }

    async fn receive_broadcasts(done: Rc<Cell<bool>>) {
        let (tx, mut rx) = broadcast::channel(1);
        while !done.get() {
            tx.send(1).unwrap();
            assert_eq!(rx.recv().await, Ok(1));
        }
    }

    async fn see_changes(done: Rc<Cell<bool>>) {
        let (tx, mut rx) = watch::channel(0);
        while !done.get() {
            tx.send(1).unwrap();
            rx.changed().await.unwrap();
        }
    }

    fn on_tokio<F: Future>(future: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, future)
    }

    /// Another task of Tokio runs beside it, and Tokio's `timeout` fires around it.
    fn is_fair<F: Future<Output = ()> + 'static>(busy: impl Fn(Rc<Cell<bool>>) -> F) {
        on_tokio(async {
            let done = Rc::new(Cell::new(false));
            let task = tokio::task::spawn_local(busy(done.clone()));
            tokio::task::spawn_local(async move { done.set(true) });
            task.await.unwrap();
            let forever = busy(Rc::default());
            let result = tokio::time::timeout(Duration::from_millis(5), forever).await;
            assert!(result.is_err());
        });
    }

    #[test]
    fn channels_do_not_starve_other_tasks_of_tokio() {
        is_fair(send_and_receive);
        is_fair(send_and_receive_by_mpmc);
        is_fair(receive_broadcasts);
        is_fair(see_changes);
    }
}
