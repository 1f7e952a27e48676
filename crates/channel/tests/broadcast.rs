//! The parts of our broadcast channel that Tokio's lacks, and its behaviour under load.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_channel::broadcast::error::{RecvError, RecvTimeoutError, TryRecvError};
use blitz_io_channel::broadcast::{Receiver, Sender, channel};
use blitz_io_testing::{Counting, Wakings, ms, poll_once, reentrant_waker, shouting_waker};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn nothing_is_allocated_on_the_way() {
    let (tx, mut first) = channel(4);
    let mut second = tx.subscribe();
    let (_wakings, waker) = Wakings::new();
    tx.send(0).unwrap();
    let mut round = |i| {
        tx.send(i).unwrap();
        while !matches!(first.try_recv(), Err(TryRecvError::Empty)) {}
        if i % 7 == 0 {
            while !matches!(second.try_recv(), Err(TryRecvError::Empty)) {}
        }
        {
            let mut recv = std::pin::pin!(first.recv());
            assert!(poll_once(recv.as_mut(), &waker).is_pending());
            tx.send(i).unwrap();
            assert!(poll_once(recv.as_mut(), &waker).is_ready());
        }
        drop((tx.clone(), tx.subscribe(), tx.downgrade()));
        _ = second.blocking_recv_timeout(Duration::ZERO);
    };
    // With the feature `inspect`, the first records of a thread and of an object are made here.
    round(0);
    let used = ALLOCATOR.in_this_thread(|| (0..1000).for_each(&mut round));
    assert_eq!(used, 0);
}

#[test]
fn the_ends_are_small() {
    assert_eq!(size_of::<Sender<u64>>(), size_of::<usize>());
    assert_eq!(size_of::<Receiver<u64>>(), size_of::<usize>() + 8);
}

#[test]
fn a_time_out_comes_in_time() {
    let (tx, mut rx) = channel::<u32>(4);
    let began = Instant::now();
    assert_eq!(
        rx.blocking_recv_timeout(ms(20)),
        Err(RecvTimeoutError::Timeout)
    );
    assert!(began.elapsed() >= ms(20));
    assert_eq!(
        rx.blocking_recv_timeout(Duration::ZERO),
        Err(RecvTimeoutError::Timeout)
    );
    tx.send(1).unwrap();
    assert_eq!(rx.blocking_recv_timeout(Duration::ZERO), Ok(1));
    tx.send(2).unwrap();
    assert_eq!(rx.blocking_recv_timeout(Duration::MAX), Ok(2));
    (0..6).for_each(|i| _ = tx.send(i).unwrap());
    assert_eq!(
        rx.blocking_recv_timeout(ms(20)),
        Err(RecvTimeoutError::Lagged(2))
    );
    (2..6).for_each(|i| assert_eq!(rx.blocking_recv_timeout(ms(20)), Ok(i)));
    drop(tx);
    assert_eq!(
        rx.blocking_recv_timeout(ms(20)),
        Err(RecvTimeoutError::Closed)
    );
    let texts = [
        RecvTimeoutError::Timeout,
        RecvTimeoutError::Closed,
        RecvError::Lagged(1).into(),
    ];
    let texts = texts.map(|error| error.to_string());
    assert_eq!(
        texts,
        [
            "timed out waiting on channel",
            "channel closed",
            "channel lagged by 1"
        ]
    );
}

#[test]
fn a_value_ends_a_timed_wait() {
    let (tx, mut rx) = channel(4);
    let thread = thread::spawn(move || {
        let timeout = Duration::from_secs(900);
        [
            rx.blocking_recv_timeout(timeout),
            rx.blocking_recv_timeout(timeout),
        ]
    });
    thread::sleep(ms(20));
    tx.send(1).unwrap();
    thread::sleep(ms(20));
    drop(tx);
    assert_eq!(
        thread.join().unwrap(),
        [Ok(1), Err(RecvTimeoutError::Closed)]
    );
}

#[test]
fn a_thread_waits_for_the_last_receiver() {
    let (tx, rx) = channel::<u32>(4);
    let second = tx.subscribe();
    let waiting = tx.clone();
    let thread = thread::spawn(move || {
        waiting.blocking_closed();
        waiting.receiver_count()
    });
    drop(rx);
    thread::sleep(ms(20));
    assert!(!thread.is_finished());
    drop(second);
    assert_eq!(thread.join().unwrap(), 0);
    tx.blocking_closed();
}

#[test]
fn the_last_receiver_gets_the_value_itself() {
    /// Says how often it has been cloned.
    struct Copied(u32);
    impl Clone for Copied {
        fn clone(&self) -> Self {
            Self(self.0 + 1)
        }
    }
    let (tx, mut first) = channel(4);
    let mut second = tx.subscribe();
    assert!(tx.send(Copied(0)).is_ok());
    assert_eq!(second.try_recv().map(|value| value.0), Ok(1));
    assert_eq!(first.try_recv().map(|value| value.0), Ok(0));
}

/// Uses the channel while it is cloned.
struct Curious(Sender<Curious>, u32);

impl Clone for Curious {
    fn clone(&self) -> Self {
        let tx = &self.0;
        drop(tx.subscribe());
        assert_eq!((tx.receiver_count(), tx.len()), (2, 1));
        assert!(tx.send(Self(tx.clone(), self.1 + 1)).is_ok());
        assert_eq!(tx.len(), 2);
        Self(tx.clone(), self.1)
    }
}

#[test]
fn a_clone_may_use_the_channel() {
    let (tx, mut first) = channel(2);
    let second = tx.subscribe();
    assert!(tx.send(Curious(tx.clone(), 0)).is_ok());
    assert_eq!(first.try_recv().map(|value| value.1).ok(), Some(0));
    assert_eq!((first.len(), second.len()), (1, 2));
}

/// Uses the channel when it is dropped.
#[derive(Clone)]
struct Busy(Option<Sender<Busy>>);

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(tx) = self.0.take() {
            assert!(tx.send(Self(None)).is_ok() || tx.receiver_count() == 0);
            _ = tx.len();
            drop(tx.subscribe());
        }
    }
}

#[test]
fn a_drop_may_use_the_channel() {
    let (tx, mut rx) = channel(1);
    // Overwritten.
    assert!(tx.send(Busy(Some(tx.clone()))).is_ok());
    assert!(tx.send(Busy(Some(tx.clone()))).is_ok());
    // `Busy(None)` has overwritten the second one, whose drop has sent another.
    assert!(matches!(rx.try_recv(), Err(TryRecvError::Lagged(3))));
    assert!(rx.try_recv().is_ok_and(|value| value.0.is_none()));
    // Received, and not received.
    assert!(tx.send(Busy(Some(tx.clone()))).is_ok());
    drop(rx.try_recv());
    assert!(rx.try_recv().is_ok());
    assert!(tx.send(Busy(Some(tx.clone()))).is_ok());
    drop(rx);
    assert!(tx.is_empty());
}

/// Panics when it is dropped.
#[derive(Clone)]
struct Explosive(bool);

impl Drop for Explosive {
    fn drop(&mut self) {
        assert!(!std::mem::take(&mut self.0), "dropped");
    }
}

#[test]
fn a_drop_that_panics_while_a_value_is_overwritten_wakes_all_the_same() {
    let (tx, _slow) = channel(1);
    let mut rx = tx.subscribe();
    assert!(tx.send(Explosive(true)).is_ok());
    let last = rx.try_recv().map(std::mem::forget);
    assert!(last.is_ok());
    let (wakings, waker) = Wakings::new();
    let mut recv = std::pin::pin!(rx.recv());
    assert!(poll_once(recv.as_mut(), &waker).is_pending());
    let sent = catch_unwind(AssertUnwindSafe(|| tx.send(Explosive(false)).is_ok()));
    assert!(sent.is_err());
    assert_eq!(wakings.count(), 1);
    assert!(poll_once(recv, &waker).is_ready());
}

#[test]
fn a_drop_that_panics_keeps_nothing_else() {
    let (tx, rx) = channel(4);
    for explosive in [false, true, false, false] {
        assert!(tx.send(Explosive(explosive)).is_ok());
    }
    let (wakings, waker) = Wakings::new();
    let mut closed = std::pin::pin!(tx.closed());
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert!(tx.is_empty());
    assert_eq!(tx.len(), 0);
    assert_eq!(wakings.count(), 1);
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    let (tx, rx) = channel(4);
    let mut receivers = [rx.resubscribe(), rx.resubscribe(), rx.resubscribe()];
    let (wakings, waker) = Wakings::new();
    let shouting = shouting_waker();
    let mut waiting: Vec<_> = receivers.iter_mut().map(|rx| Box::pin(rx.recv())).collect();
    for (recv, waker) in waiting.iter_mut().zip([&waker, &shouting, &waker]) {
        assert!(poll_once(recv.as_mut(), waker).is_pending());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(1))).is_err());
    assert_eq!(wakings.count(), 2);
    for recv in &mut waiting {
        assert!(poll_once(recv.as_mut(), &waker).is_ready());
    }
}

#[test]
fn a_waker_may_drop_the_sender() {
    let (tx, mut rx) = channel(4);
    let last = std::sync::Mutex::new(Some(tx.clone()));
    let waker = reentrant_waker(move || drop(last.lock().unwrap().take()));
    {
        let mut recv = Box::pin(rx.recv());
        assert!(poll_once(recv.as_mut(), &waker).is_pending());
        tx.send(1).unwrap();
        assert_eq!(tx.strong_count(), 1);
    }
    drop(tx);
    assert_eq!(rx.blocking_recv(), Ok(1));
    assert_eq!(rx.blocking_recv(), Err(RecvError::Closed));
}

/// A value that names its sender, and shows whether it is whole.
#[derive(Clone)]
struct Parcel {
    sender: usize,
    number: u64,
    /// The check, on the heap, so that the sanitizers see a use after the drop.
    check: Box<u64>,
}

const SENDERS: usize = 3;
const EACH: u64 = 4_000;

fn send_all(tx: &Sender<Parcel>, sender: usize) {
    for number in 0..EACH {
        let check = Box::new(number * 31 + sender as u64);
        assert!(
            tx.send(Parcel {
                sender,
                number,
                check
            })
            .is_ok()
        );
        if number % 97 == 0 {
            thread::yield_now();
        }
    }
}

/// Receives until the end. The received and the missed values must be all that were sent, and
/// each sender's values come in its order.
fn receive_all(
    mut rx: Receiver<Parcel>,
    how: fn(&mut Receiver<Parcel>) -> Result<Parcel, RecvError>,
) {
    let (mut received, mut missed) = (0, 0);
    let mut next = [0; SENDERS];
    loop {
        match how(&mut rx) {
            Ok(parcel) => {
                assert_eq!(*parcel.check, parcel.number * 31 + parcel.sender as u64);
                assert!(parcel.number >= next[parcel.sender]);
                next[parcel.sender] = parcel.number + 1;
                received += 1;
            }
            Err(RecvError::Lagged(count)) => missed += count,
            Err(RecvError::Closed) => break,
        }
    }
    assert_eq!(received + missed, SENDERS as u64 * EACH);
}

fn stress(capacity: usize) {
    let (tx, rx) = channel(capacity);
    let received = AtomicU64::new(0);
    thread::scope(|scope| {
        for i in 0..6 {
            let rx = rx.resubscribe();
            let received = &received;
            scope.spawn(move || {
                receive_all(
                    rx,
                    match i % 3 {
                        0 => |rx| rx.blocking_recv(),
                        1 => |rx| pollster::block_on(rx.recv()),
                        _ => |rx| loop {
                            match rx.try_recv() {
                                Ok(parcel) => return Ok(parcel),
                                Err(TryRecvError::Lagged(missed)) => {
                                    return Err(RecvError::Lagged(missed));
                                }
                                Err(TryRecvError::Closed) => return Err(RecvError::Closed),
                                Err(TryRecvError::Empty) => thread::yield_now(),
                            }
                        },
                    },
                );
                received.fetch_add(1, Ordering::Relaxed);
            });
        }
        drop(rx);
        for sender in 0..SENDERS {
            let tx = tx.clone();
            scope.spawn(move || send_all(&tx, sender));
        }
        // Receivers come and go, with unread values and without.
        let coming = tx.clone();
        scope.spawn(move || {
            for i in 0..2_000 {
                let mut rx = coming.subscribe();
                for _ in 0..i % 5 {
                    _ = rx.try_recv();
                }
            }
        });
        drop(tx);
    });
    assert_eq!(received.into_inner(), 6);
}

#[test]
fn many_threads_one_slot() {
    stress(1);
}

#[test]
fn many_threads_a_few_slots() {
    stress(4);
}

#[test]
fn many_threads_many_slots() {
    stress(1024);
}

/// Subscribes while it is cloned.
struct Subscribing(Sender<Subscribing>);

impl Clone for Subscribing {
    fn clone(&self) -> Self {
        drop(self.0.subscribe());
        Self(self.0.clone())
    }
}

/// Hangs in a deadlock: a sender that waits for a clone must not hold the lock that the
/// clone needs.
#[test]
fn clones_use_the_channel_while_senders_overwrite() {
    let (tx, rx) = channel(1);
    thread::scope(|scope| {
        let senders = [(); 2].map(|()| {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    assert!(tx.send(Subscribing(tx.clone())).is_ok());
                }
            })
        });
        let mut receivers = [rx.resubscribe(), rx.resubscribe()];
        while senders.iter().any(|sender| !sender.is_finished()) {
            receivers.iter_mut().for_each(|rx| _ = rx.try_recv());
        }
    });
    drop(rx);
    assert!(tx.is_empty());
}

/// Waits while it is cloned.
struct Slow(
    std::sync::mpsc::Sender<()>,
    Arc<Mutex<std::sync::mpsc::Receiver<()>>>,
);

impl Clone for Slow {
    fn clone(&self) -> Self {
        self.0.send(()).unwrap();
        self.1.lock().unwrap().recv().unwrap();
        Self(self.0.clone(), self.1.clone())
    }
}

#[test]
fn only_threads_that_need_the_slot_wait_for_a_clone() {
    let (begin, began) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel();
    let (tx, mut first) = channel(2);
    let _second = tx.subscribe();
    let ended = Arc::new(Mutex::new(ended));
    let value = || Slow(begin.clone(), ended.clone());
    assert!(tx.send(value()).is_ok());
    let receiver = thread::spawn(move || first.try_recv().map(drop));
    began.recv().unwrap();
    // The clone is under way, and keeps none of these waiting.
    assert!(tx.send(value()).is_ok());
    let late = tx.subscribe();
    assert_eq!((tx.len(), late.len(), tx.receiver_count()), (2, 0, 3));
    let overwriting = tx.clone();
    let new = value();
    let sender = thread::spawn(move || overwriting.send(new).is_ok());
    assert!(!tx.is_empty());
    end.send(()).unwrap();
    assert_eq!(receiver.join().unwrap(), Ok(()));
    assert!(sender.join().unwrap());
    assert_eq!(late.len(), 1);
}
