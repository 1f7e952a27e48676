// Included twice, after `use …::broadcast`: both must behave alike.

use std::cell::Cell;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;

use blitz_io_testing::{Drops, Wakings, ms, poll_once, reentrant_waker, shouting_waker};
use broadcast::error::{RecvError, SendError, TryRecvError};
use broadcast::{Receiver, Sender, WeakSender, channel};

// Types

fn is_send_sync<T: Send + Sync>() {}
fn is_unpin<T: Unpin>() {}
fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
fn is_error<T: Error + Debug + Display>(_: &T) {}
fn is_send<T: Send>(_: &T) {}
fn is_sync<T: Sync>(_: &T) {}

#[test]
fn ends_are_send_and_sync_if_the_value_is_send() {
    is_send_sync::<Sender<Cell<u32>>>();
    is_send_sync::<WeakSender<Cell<u32>>>();
    is_send_sync::<Receiver<Cell<u32>>>();
    is_unpin::<Sender<std::marker::PhantomPinned>>();
    is_unpin::<WeakSender<std::marker::PhantomPinned>>();
    is_unpin::<Receiver<std::marker::PhantomPinned>>();
    is_unwind_safe::<Sender<Cell<&'static mut u32>>>();
    is_unwind_safe::<WeakSender<Cell<&'static mut u32>>>();
    is_unwind_safe::<Receiver<Cell<&'static mut u32>>>();
    is_send_sync::<RecvError>();
    is_send_sync::<TryRecvError>();
    is_send_sync::<SendError<u32>>();
}

#[test]
fn futures_are_send_and_sync() {
    let (tx, mut rx) = channel::<Cell<u32>>(1);
    is_send(&rx.recv());
    is_sync(&rx.recv());
    is_send(&tx.closed());
    is_sync(&tx.closed());
}

/// `Auto::<T>::SEND` is this one, unless `T` is `Send`.
trait Otherwise {
    const SEND: bool = false;
}
struct Auto<T>(std::marker::PhantomData<T>);
impl<T> Otherwise for Auto<T> {}
impl<T: Send> Auto<T> {
    const SEND: bool = true;
}

#[test]
fn ends_are_not_send_if_the_value_is_not() {
    type No = std::rc::Rc<u32>;
    let value_is_not = [
        Auto::<Sender<No>>::SEND,
        Auto::<Receiver<No>>::SEND,
        Auto::<WeakSender<No>>::SEND,
    ];
    assert_eq!(value_is_not, [false; 3]);
    let value_is = [Auto::<Sender<u32>>::SEND, Auto::<Receiver<u32>>::SEND];
    assert_eq!(value_is, [true; 2]);
}

#[test]
fn a_value_need_be_clone_only_to_be_received() {
    struct NotClone;
    let tx = Sender::new(2);
    let rx: Receiver<NotClone> = tx.subscribe();
    assert_eq!(tx.send(NotClone).ok(), Some(1));
    assert_eq!(rx.len(), 1);
    drop(rx);
    assert!(tx.is_empty());
}

#[test]
fn debug_and_display() {
    let (tx, rx) = channel::<u32>(1);
    assert_eq!(format!("{tx:?}"), "broadcast::Sender");
    assert_eq!(format!("{rx:?}"), "broadcast::Receiver");
    assert_eq!(format!("{:?}", tx.downgrade()), "broadcast::WeakSender");

    is_error(&SendError(1));
    assert_eq!(SendError(1).to_string(), "channel closed");
    assert_eq!(format!("{:?}", SendError(1)), "SendError(1)");
    assert_eq!(RecvError::Closed.to_string(), "channel closed");
    assert_eq!(RecvError::Lagged(3).to_string(), "channel lagged by 3");
    assert_eq!(format!("{:?}", RecvError::Lagged(3)), "Lagged(3)");
    assert_eq!(TryRecvError::Empty.to_string(), "channel empty");
    assert_eq!(TryRecvError::Closed.to_string(), "channel closed");
    assert_eq!(TryRecvError::Lagged(3).to_string(), "channel lagged by 3");
    assert_eq!(TryRecvError::Empty.clone(), TryRecvError::Empty);
    is_error(&RecvError::Closed);
    is_error(&TryRecvError::Closed);
}

fn panic_of(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().unwrap()).into(),
    }
}

#[test]
fn impossible_capacities_panic() {
    let zero = "broadcast channel capacity cannot be zero";
    let much = "broadcast channel capacity exceeded `usize::MAX / 2`";
    assert_eq!(panic_of(|| drop(channel::<u32>(0))), zero);
    assert_eq!(panic_of(|| drop(Sender::<u32>::new(0))), zero);
    assert_eq!(panic_of(|| drop(channel::<u32>(usize::MAX))), much);
    assert_eq!(panic_of(|| drop(channel::<u32>(usize::MAX / 2 + 1))), much);
}

// One after the other

#[test]
fn everybody_gets_everything() {
    let (tx, mut first) = channel(16);
    let mut second = tx.subscribe();
    assert_eq!(tx.send(1).unwrap(), 2);
    let mut third = tx.subscribe();
    assert_eq!(tx.send(2).unwrap(), 3);
    for rx in [&mut first, &mut second] {
        assert_eq!(rx.try_recv(), Ok(1));
        assert_eq!(rx.try_recv(), Ok(2));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    }
    assert_eq!(third.try_recv(), Ok(2));
    assert_eq!(third.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn without_receivers_the_value_comes_back() {
    let (tx, rx) = channel(4);
    drop(rx);
    assert_eq!(tx.send("a").unwrap_err().0, "a");
    let tx = Sender::new(4);
    assert_eq!(tx.send("b").unwrap_err().0, "b");
    let mut rx = tx.subscribe();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(tx.send("c").unwrap(), 1);
    assert_eq!(rx.try_recv(), Ok("c"));
}

#[test]
fn a_channel_without_receivers_opens_again() {
    let (tx, rx) = channel(2);
    tx.send(1).unwrap();
    drop(rx);
    let mut rx = tx.subscribe();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    tx.send(2).unwrap();
    assert_eq!(rx.try_recv(), Ok(2));
    drop(tx);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn closing_leaves_what_was_sent() {
    let (tx, mut rx) = channel(4);
    let second = tx.clone();
    tx.send(1).unwrap();
    drop(tx);
    assert!(!rx.is_closed());
    second.send(2).unwrap();
    drop(second);
    assert!(rx.is_closed());
    let mut late = rx.resubscribe();
    assert_eq!(late.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(pollster::block_on(rx.recv()), Err(RecvError::Closed));
}

#[test]
fn counts() {
    let (tx, rx) = channel::<u32>(4);
    assert_eq!(
        (tx.strong_count(), tx.weak_count(), tx.receiver_count()),
        (1, 0, 1)
    );
    let second = tx.clone();
    let weak = second.downgrade();
    let weaker = weak.clone();
    let more = rx.resubscribe();
    assert_eq!(
        (tx.strong_count(), tx.weak_count(), tx.receiver_count()),
        (2, 2, 2)
    );
    assert_eq!((weak.strong_count(), weak.weak_count()), (2, 2));
    assert_eq!((rx.sender_strong_count(), rx.sender_weak_count()), (2, 2));
    drop((second, weaker, more));
    assert_eq!(
        (tx.strong_count(), tx.weak_count(), tx.receiver_count()),
        (1, 1, 1)
    );
    let strong = weak.upgrade().unwrap();
    assert!(strong.same_channel(&tx));
    assert!(!strong.same_channel(&Sender::new(4)));
    assert!(rx.same_channel(&tx.subscribe()));
    assert!(!rx.same_channel(&channel(4).1));
    drop((tx, strong));
    assert!(weak.upgrade().is_none());
    assert_eq!((rx.sender_strong_count(), rx.sender_weak_count()), (0, 1));
}

#[test]
fn lengths() {
    for capacity in [1, 2, 3, 4, 7, 8] {
        let (tx, mut first) = channel(capacity);
        let mut second = tx.subscribe();
        let ring = capacity.next_power_of_two();
        for round in 0..5 {
            assert!(tx.is_empty() && first.is_empty() && second.is_empty());
            for i in 0..ring {
                assert_eq!((tx.len(), first.len()), (i, i), "round {round}");
                tx.send(i).unwrap();
            }
            for i in 0..ring {
                assert_eq!((tx.len(), first.len()), (ring, ring - i));
                first.try_recv().unwrap();
            }
            for i in 0..ring {
                assert_eq!((tx.len(), second.len()), (ring - i, ring - i));
                assert!(!tx.is_empty() && !second.is_empty());
                second.try_recv().unwrap();
            }
        }
    }
}

#[test]
fn a_receiver_that_lags_has_a_length_above_the_capacity() {
    let (tx, mut rx) = channel(2);
    (0..5).for_each(|i| _ = tx.send(i).unwrap());
    assert_eq!((rx.len(), tx.len()), (5, 2));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(3)));
    assert_eq!((rx.len(), tx.len()), (2, 2));
}

#[test]
fn who_lags_goes_on_with_the_oldest() {
    for capacity in [1_usize, 2, 3, 4, 5, 8] {
        let ring = capacity.next_power_of_two() as u64;
        for sent in 0..4 * ring {
            for got in 0..=sent.min(ring) {
                let (tx, mut rx) = channel(capacity);
                for i in 0..got {
                    tx.send(i).unwrap();
                    assert_eq!(rx.try_recv(), Ok(i));
                }
                (got..sent).for_each(|i| _ = tx.send(i).unwrap());
                let missed = (sent - got).saturating_sub(ring);
                if missed > 0 {
                    assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(missed)));
                }
                for i in got + missed..sent {
                    assert_eq!(rx.try_recv(), Ok(i));
                }
                assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            }
        }
    }
}

#[test]
fn lag_is_said_again_and_again() {
    let (tx, mut rx) = channel(2);
    let mut next = 0;
    for round in 1..20_u64 {
        (0..2 + round).for_each(|i| _ = tx.send(next + i).unwrap());
        next += 2 + round;
        let lagged = pollster::block_on(rx.recv());
        assert_eq!(
            lagged,
            Err(RecvError::Lagged(if round == 1 { 1 } else { round + 1 }))
        );
        assert_eq!(rx.blocking_recv(), Ok(next - 2));
    }
}

#[test]
fn lag_comes_before_closed() {
    let (tx, mut rx) = channel(1);
    (0..3).for_each(|i| _ = tx.send(i).unwrap());
    drop(tx);
    assert_eq!(rx.blocking_recv(), Err(RecvError::Lagged(2)));
    assert_eq!(rx.blocking_recv(), Ok(2));
    assert_eq!(rx.blocking_recv(), Err(RecvError::Closed));
}

#[test]
fn one_lags_while_another_keeps_up() {
    let (tx, mut quick) = channel(2);
    let mut slow = tx.subscribe();
    for i in 0..100 {
        assert_eq!(tx.send(i).unwrap(), 2);
        assert_eq!(quick.try_recv(), Ok(i));
    }
    assert_eq!(slow.try_recv(), Err(TryRecvError::Lagged(98)));
    assert_eq!(slow.try_recv(), Ok(98));
    assert_eq!(tx.send(100).unwrap(), 2);
    assert_eq!(slow.try_recv(), Ok(99));
    assert_eq!(slow.try_recv(), Ok(100));
}

// Drops

#[test]
fn a_value_goes_with_its_last_receiver() {
    let drops = Drops::new();
    // How many are alive, after any number of clones by any receiver.
    let made = Arc::new(AtomicUsize::new(0));
    #[derive(Debug)]
    struct Value(blitz_io_testing::Counted<Arc<AtomicUsize>>);
    impl Clone for Value {
        fn clone(&self) -> Self {
            self.0.value.fetch_add(1, Ordering::SeqCst);
            Self(self.0.clone())
        }
    }
    let new = || {
        made.fetch_add(1, Ordering::SeqCst);
        Value(drops.counted(made.clone()))
    };
    let alive = || made.load(Ordering::SeqCst) - drops.count();

    let (tx, mut first) = channel(4);
    let mut second = tx.subscribe();
    tx.send(new()).unwrap();
    assert_eq!(alive(), 1);
    drop(first.try_recv().unwrap());
    assert_eq!(alive(), 1);
    drop(second.try_recv().unwrap());
    assert_eq!(alive(), 0);

    // A receiver that is dropped gives up its unread values.
    tx.send(new()).unwrap();
    tx.send(new()).unwrap();
    drop(first.try_recv().unwrap());
    assert_eq!(alive(), 2);
    drop(second);
    assert_eq!(alive(), 1);
    drop(first);
    assert_eq!(alive(), 0);

    // Overwritten values are dropped, and a send without receivers returns its value.
    let mut rx = tx.subscribe();
    (0..10).for_each(|_| _ = tx.send(new()).unwrap());
    assert_eq!(alive(), 4);
    assert_eq!(rx.try_recv().unwrap_err(), TryRecvError::Lagged(6));
    drop(rx);
    assert_eq!(alive(), 0);
    let back = tx.send(new()).unwrap_err();
    assert_eq!(alive(), 1);
    drop(back);
    assert_eq!(alive(), 0);

    // The values that are left when all ends have been dropped.
    let rx = tx.subscribe();
    tx.send(new()).unwrap();
    drop(tx);
    assert_eq!(alive(), 1);
    drop(rx);
    assert_eq!(alive(), 0);
}

/// Panics when it is cloned, if its cell says so, which it changes: it is `Send`,
/// and not `Sync`.
#[derive(Debug)]
struct Shy(Cell<bool>, u32);

impl Clone for Shy {
    fn clone(&self) -> Self {
        assert!(!self.0.replace(false), "do not clone me");
        Self(Cell::new(false), self.1)
    }
}

#[test]
fn a_clone_that_panics_counts_as_received() {
    let (tx, mut first) = channel(2);
    let mut second = tx.subscribe();
    for i in 0..10 {
        tx.send(Shy(Cell::new(true), i)).unwrap();
        assert_eq!(panic_of(|| drop(first.try_recv())), "do not clone me");
        assert_eq!(first.try_recv().unwrap_err(), TryRecvError::Empty);
        assert_eq!((first.len(), second.len(), tx.len()), (0, 1, 1));
        assert_eq!(second.try_recv().unwrap().1, i);
        assert!(tx.is_empty());
    }
    tx.send(Shy(Cell::new(true), 7)).unwrap();
    panic_of(|| drop(pollster::block_on(first.recv())));
    drop(first);
    assert_eq!(second.blocking_recv().unwrap().1, 7);
    assert_eq!(tx.receiver_count(), 1);
}

/// Panics when it is dropped, if its flag is set.
#[derive(Clone, Debug)]
struct Explosive(bool, u32);

impl Drop for Explosive {
    fn drop(&mut self) {
        if self.0 {
            self.0 = false;
            panic!("dropped");
        }
    }
}

#[test]
fn a_drop_that_panics_leaves_the_channel_whole() {
    let (tx, rx) = channel(2);
    tx.send(Explosive(true, 1)).unwrap();
    tx.send(Explosive(false, 2)).unwrap();
    assert_eq!(panic_of(|| drop(rx)), "dropped");
    assert_eq!(tx.receiver_count(), 0);
    let mut rx = tx.subscribe();
    tx.send(Explosive(false, 3)).unwrap();
    assert_eq!(rx.try_recv().unwrap().1, 3);
    assert_eq!(rx.try_recv().unwrap_err(), TryRecvError::Empty);
}

// Waiting

#[test]
fn a_waiting_receiver_is_woken_once_for_a_value() {
    let (tx, mut rx) = channel(4);
    let (wakings, waker) = Wakings::new();
    {
        let mut recv = pin!(rx.recv());
        assert!(poll_once(recv.as_mut(), &waker).is_pending());
        assert!(poll_once(recv.as_mut(), &waker).is_pending());
        tx.send(1).unwrap();
        assert_eq!(wakings.count(), 1);
        tx.send(2).unwrap();
        assert_eq!(wakings.count(), 1);
        assert_eq!(poll_once(recv.as_mut(), &waker), Poll::Ready(Ok(1)));
    }
    assert_eq!(rx.try_recv(), Ok(2));
}

#[test]
fn all_who_wait_are_woken() {
    let (tx, rx) = channel(4);
    let mut receivers: Vec<_> = (0..100).map(|_| rx.resubscribe()).collect();
    drop(rx);
    let (wakings, waker) = Wakings::new();
    let mut waiting: Vec<_> = receivers.iter_mut().map(|rx| Box::pin(rx.recv())).collect();
    for recv in &mut waiting {
        assert!(poll_once(recv.as_mut(), &waker).is_pending());
    }
    assert_eq!(tx.send(7).unwrap(), 100);
    assert_eq!(wakings.count(), 100);
    for recv in &mut waiting {
        assert_eq!(poll_once(recv.as_mut(), &waker), Poll::Ready(Ok(7)));
    }
    drop(waiting);

    let mut waiting: Vec<_> = receivers.iter_mut().map(|rx| Box::pin(rx.recv())).collect();
    for recv in &mut waiting {
        assert!(poll_once(recv.as_mut(), &waker).is_pending());
    }
    drop(tx);
    assert_eq!(wakings.count(), 200);
    for recv in &mut waiting {
        assert_eq!(
            poll_once(recv.as_mut(), &waker),
            Poll::Ready(Err(RecvError::Closed))
        );
    }
}

#[test]
fn who_waits_may_find_that_it_lags() {
    let (tx, mut rx) = channel(1);
    let (_, waker) = Wakings::new();
    let mut recv = Box::pin(rx.recv());
    assert!(poll_once(recv.as_mut(), &waker).is_pending());
    (0..3).for_each(|i| _ = tx.send(i).unwrap());
    let lagged = poll_once(recv.as_mut(), &waker);
    drop(recv);
    assert_eq!(lagged, Poll::Ready(Err(RecvError::Lagged(2))));
    assert_eq!(rx.try_recv(), Ok(2));
}

#[test]
fn a_dropped_wait_takes_nothing_and_wakes_nobody() {
    let (tx, mut rx) = channel(4);
    let (wakings, waker) = Wakings::new();
    {
        let mut recv = Box::pin(rx.recv());
        assert!(poll_once(recv.as_mut(), &waker).is_pending());
    }
    tx.send(1).unwrap();
    assert_eq!(wakings.count(), 0);
    assert_eq!(rx.try_recv(), Ok(1));
    {
        let mut recv = Box::pin(rx.recv());
        assert!(poll_once(recv.as_mut(), &waker).is_pending());
        tx.send(2).unwrap();
        assert_eq!(wakings.count(), 1);
    }
    assert_eq!(rx.try_recv(), Ok(2));
}

#[test]
fn the_newest_waker_is_woken() {
    let (tx, mut rx) = channel(4);
    let (old, old_waker) = Wakings::new();
    let (new, new_waker) = Wakings::new();
    let mut recv = pin!(rx.recv());
    assert!(poll_once(recv.as_mut(), &old_waker).is_pending());
    assert!(poll_once(recv.as_mut(), &new_waker).is_pending());
    tx.send(1).unwrap();
    assert_eq!((old.count(), new.count()), (0, 1));
    assert_eq!(poll_once(recv, &old_waker), Poll::Ready(Ok(1)));
}

#[test]
fn a_waker_may_use_the_channel() {
    let (tx, mut rx) = channel(4);
    let mut other = tx.subscribe();
    let sender = tx.clone();
    let waker = reentrant_waker(move || {
        assert_eq!(sender.receiver_count(), 2);
        sender.send(2).unwrap();
        drop(sender.subscribe());
    });
    let mut recv = pin!(rx.recv());
    assert!(poll_once(recv.as_mut(), &waker).is_pending());
    tx.send(1).unwrap();
    assert_eq!(poll_once(recv.as_mut(), &waker), Poll::Ready(Ok(1)));
    assert_eq!(other.try_recv(), Ok(1));
    assert_eq!(other.try_recv(), Ok(2));
}

#[test]
fn a_waker_that_panics_leaves_the_channel_whole() {
    let (tx, mut rx) = channel(4);
    {
        let mut recv = pin!(rx.recv());
        assert!(poll_once(recv.as_mut(), &shouting_waker()).is_pending());
        assert_eq!(panic_of(|| drop(tx.send(1))), "woken");
    }
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(tx.send(2).unwrap(), 1);
    assert_eq!(rx.try_recv(), Ok(2));
}

#[test]
fn closed_waits_for_the_last_receiver() {
    let (tx, rx) = channel::<u32>(4);
    let second = tx.subscribe();
    let (wakings, waker) = Wakings::new();
    let mut closed = pin!(tx.closed());
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    drop(rx);
    assert_eq!(wakings.count(), 0);
    drop(second);
    assert_eq!(wakings.count(), 1);
    assert!(poll_once(closed.as_mut(), &waker).is_ready());
    assert!(poll_once(pin!(tx.closed()), &waker).is_ready());
    assert!(poll_once(pin!(Sender::<u32>::new(1).closed()), &waker).is_ready());
}

#[test]
fn closed_goes_on_waiting_for_a_new_receiver() {
    let (tx, rx) = channel::<u32>(4);
    let (wakings, waker) = Wakings::new();
    let mut closed = pin!(tx.closed());
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    drop(rx);
    let rx = tx.subscribe();
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    assert_eq!(wakings.count(), 1);
    drop(rx);
    assert_eq!(wakings.count(), 2);
    assert!(poll_once(closed.as_mut(), &waker).is_ready());
}

// Threads and tasks

#[test]
fn a_thread_blocks_until_there_is_something() {
    let (tx, mut rx) = channel(4);
    let thread =
        thread::spawn(move || [rx.blocking_recv(), rx.blocking_recv(), rx.blocking_recv()]);
    thread::sleep(ms(20));
    tx.send(1).unwrap();
    thread::sleep(ms(20));
    tx.send(2).unwrap();
    thread::sleep(ms(20));
    drop(tx);
    let got = thread.join().unwrap();
    assert_eq!(got, [Ok(1), Ok(2), Err(RecvError::Closed)]);
}

blitz_io_testing::everywhere! {
    async fn tasks_get_everything_in_order(rt) {
        const SENT: u64 = 2_000;
        let (tx, rx) = channel(4096);
        let tasks: Vec<_> = (0..5).map(|_| {
            let mut rx = rx.resubscribe();
            rt.spawn(async move {
                for i in 0..SENT {
                    assert_eq!(rx.recv().await, Ok(i));
                }
                assert_eq!(rx.recv().await, Err(RecvError::Closed));
            })
        }).collect();
        let sender = rt.spawn(async move {
            for i in 0..SENT {
                tx.send(i).unwrap();
            }
        });
        sender.await;
        for task in tasks {
            task.await;
        }
    }

    async fn who_is_slow_knows_how_much_it_missed(rt) {
        const SENT: u64 = 5_000;
        let (tx, rx) = channel(4);
        let tasks: Vec<_> = (0..4).map(|_| {
            let mut rx = rx.resubscribe();
            rt.spawn(async move {
                let mut next = 0;
                loop {
                    match rx.recv().await {
                        Ok(value) => {
                            assert_eq!(value, next);
                            next += 1;
                        }
                        Err(RecvError::Lagged(missed)) => next += missed,
                        Err(RecvError::Closed) => break,
                    }
                }
                assert_eq!(next, SENT);
            })
        }).collect();
        drop(rx);
        for i in 0..SENT {
            tx.send(i).unwrap();
            if i % 64 == 0 {
                rt.sleep(ms(0)).await;
            }
        }
        drop(tx);
        for task in tasks {
            task.await;
        }
    }

    async fn a_recv_that_is_given_up_loses_nothing(rt) {
        let (tx, mut rx) = channel(16);
        assert_eq!(rt.timeout(ms(5), rx.recv()).await, None);
        tx.send(1).unwrap();
        assert_eq!(rt.timeout(ms(2000), rx.recv()).await, Some(Ok(1)));
        assert_eq!(rt.timeout(ms(5), tx.closed()).await, None);
        drop(rx);
        assert_eq!(rt.timeout(ms(2000), tx.closed()).await, Some(()));
    }
}
