//! Models of the broadcast channel.

use crate::model;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::Poll;

use blitz_io_channel::broadcast::error::{RecvError, TryRecvError};
use blitz_io_channel::broadcast::{self, Receiver, Sender};
use loom::thread;
use model::{End, block_on, model_in_order as model, soon};

fn channel<T: Clone>(capacity: usize) -> (End<Sender<T>>, End<Receiver<T>>) {
    let (tx, rx) = broadcast::channel(capacity);
    (End::new(tx), End::new(rx))
}

/// Counts how many of its kind are alive.
#[derive(Debug)]
struct Token(&'static AtomicI32);

impl Token {
    fn new() -> (Self, &'static AtomicI32) {
        let alive: &AtomicI32 = Box::leak(Box::new(AtomicI32::new(1)));
        (Self(alive), alive)
    }
}

impl Clone for Token {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Ordering::SeqCst);
        Self(self.0)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Receives to the end. The numbers from `first` on were sent in order; how many
/// there were, received or missed.
fn receive_all(rx: &mut Receiver<u32>, first: u32) -> u32 {
    let mut next = first;
    loop {
        match block_on(rx.recv()) {
            Ok(value) => {
                assert_eq!(value, next);
                next += 1;
            }
            Err(RecvError::Lagged(missed)) => next += missed as u32,
            Err(RecvError::Closed) => return next - first,
        }
    }
}

fn a_receiver_waits() {
    model(3, || {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || {
            tx.send(0).unwrap();
            tx.send(1).unwrap();
        });
        assert_eq!(receive_all(&mut rx, 0), 2);
        sender.join().unwrap();
    });
}

/// The sender stays: its end would wake the receiver as well.
fn a_receiver_waits_for_one_value() {
    model(3, || {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || {
            tx.send(0).unwrap();
            tx
        });
        assert_eq!(block_on(rx.recv()), Ok(0));
        sender.join().unwrap();
    });
}

fn a_thread_waits() {
    model(3, || {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || _ = tx.send(0).unwrap());
        assert_eq!(rx.blocking_recv(), Ok(0));
        assert_eq!(rx.blocking_recv(), Err(RecvError::Closed));
        sender.join().unwrap();
    });
}

fn two_receivers() {
    model(2, || {
        let (tx, mut first) = channel(2);
        let mut second = End::new(tx.subscribe());
        let other = thread::spawn(move || receive_all(&mut second, 0));
        tx.send(0).unwrap();
        tx.send(1).unwrap();
        drop(tx);
        assert_eq!(receive_all(&mut first, 0), 2);
        assert_eq!(other.join().unwrap(), 2);
    });
}

/// A sender fills the slot again while its last reader may still use it.
fn a_slot_is_filled_again() {
    model(3, || {
        let (tx, mut rx) = channel(1);
        tx.send(0).unwrap();
        let receiver = thread::spawn(move || receive_all(&mut rx, 0));
        tx.send(1).unwrap();
        drop(tx);
        assert_eq!(receiver.join().unwrap(), 2);
    });
}

/// The last receiver takes the value, and a sender overwrites it.
fn a_value_is_overwritten_while_it_is_taken() {
    model(3, || {
        let (tx, mut rx) = channel(1);
        tx.send(0).unwrap();
        let receiver = thread::spawn(move || {
            let first = rx.try_recv();
            assert!(matches!(first, Ok(0) | Err(TryRecvError::Lagged(1))));
            (rx, first.is_ok())
        });
        tx.send(1).unwrap();
        let (mut rx, got_first) = receiver.join().unwrap();
        match rx.try_recv() {
            Ok(1) => {}
            other => assert!(
                !got_first && other == Err(TryRecvError::Lagged(1)),
                "{other:?}"
            ),
        }
        assert_eq!(tx.len(), rx.len());
    });
}

/// A value that can be received has been counted.
fn a_receiver_is_never_ahead() {
    model(3, || {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || _ = tx.send(0).unwrap());
        if rx.try_recv() == Ok(0) {
            assert_eq!(rx.len(), 0);
        }
        sender.join().unwrap();
    });
}

/// A value that two have yet to get is overwritten while one of them clones it.
fn an_unread_value_is_overwritten() {
    model(3, || {
        let (tx, mut rx) = channel(1);
        let mut slow = End::new(tx.subscribe());
        tx.send(0).unwrap();
        let receiver = thread::spawn(move || {
            match rx.try_recv() {
                Ok(0) => assert!(matches!(rx.try_recv(), Ok(1) | Err(TryRecvError::Empty))),
                Err(TryRecvError::Lagged(1)) => assert_eq!(rx.try_recv(), Ok(1)),
                other => panic!("{other:?}"),
            }
            rx
        });
        assert_eq!(tx.send(1).unwrap(), 2);
        let rx = receiver.join().unwrap();
        assert_eq!(slow.try_recv(), Err(TryRecvError::Lagged(1)));
        assert_eq!(slow.try_recv(), Ok(1));
        drop(rx);
        assert!(tx.is_empty());
    });
}

/// Lets other threads run while it is cloned.
#[derive(Debug)]
struct Slow(Token);

impl Clone for Slow {
    fn clone(&self) -> Self {
        thread::yield_now();
        Self(self.0.clone())
    }
}

/// A sender overwrites a value while a receiver clones it: the sender drops it, once.
fn a_value_is_overwritten_while_it_is_cloned() {
    model(3, || {
        let (token, alive) = Token::new();
        let (tx, mut rx) = channel(1);
        let idle = End::new(tx.subscribe());
        tx.send(Slow(token.clone())).unwrap();
        let new = Slow(token.clone());
        let sender = thread::spawn(move || {
            tx.send(new).unwrap();
            tx
        });
        drop(rx.try_recv());
        let tx = sender.join().unwrap();
        assert_eq!(alive.load(Ordering::SeqCst), 2);
        drop((rx, idle));
        assert_eq!(alive.load(Ordering::SeqCst), 1);
        assert!(tx.is_empty());
    });
}

/// Two receivers, one slot: each learns how much it missed.
fn two_receivers_of_one_slot() {
    model(1, || {
        let (tx, mut first) = channel(1);
        let mut second = End::new(tx.subscribe());
        let other = thread::spawn(move || receive_all(&mut second, 0));
        tx.send(0).unwrap();
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
        });
        assert_eq!(receive_all(&mut first, 0), 2);
        assert_eq!(other.join().unwrap(), 2);
        sender.join().unwrap();
    });
}

/// Two senders overwrite the same value, one after the other.
fn two_overwrite() {
    model(2, || {
        let (tx, mut rx) = channel(1);
        tx.send(0).unwrap();
        let second = End::new((*tx).clone());
        let sender = thread::spawn(move || _ = second.send(1).unwrap());
        tx.send(1).unwrap();
        sender.join().unwrap();
        assert_eq!(rx.len(), 3);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(2)));
        assert_eq!(rx.try_recv(), Ok(1));
    });
}

/// Two senders overwrite: both old values are dropped when both senders are done.
fn two_overwrite_and_leave_nothing() {
    model(2, || {
        let (token, alive) = Token::new();
        let (tx, rx) = channel(1);
        tx.send(token.clone()).unwrap();
        let second = End::new((*tx).clone());
        let new = token.clone();
        let sender = thread::spawn(move || _ = second.send(new).unwrap());
        tx.send(token).unwrap();
        sender.join().unwrap();
        assert_eq!(alive.load(Ordering::SeqCst), 1);
        drop(rx);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    });
}

/// A receiver goes while values are sent: none of them stays behind.
fn a_receiver_goes() {
    model(2, || {
        let (value, alive) = Token::new();
        let (tx, mut rx) = channel(2);
        let gone = End::new(tx.subscribe());
        tx.send(value.clone()).unwrap();
        let other = thread::spawn(move || drop(gone));
        tx.send(value.clone()).unwrap();
        rx.try_recv().unwrap();
        rx.try_recv().unwrap();
        other.join().unwrap();
        assert!(tx.is_empty());
        assert_eq!(alive.load(Ordering::SeqCst), 1);
    });
}

/// The last receiver goes while a value is sent over another that it has not got.
fn the_last_receiver_goes() {
    model(3, || {
        let (value, alive) = Token::new();
        let (tx, rx) = channel(1);
        tx.send(value.clone()).unwrap();
        let other = thread::spawn(move || drop(rx));
        _ = tx.send(value.clone());
        other.join().unwrap();
        assert!(tx.is_empty());
        assert_eq!(alive.load(Ordering::SeqCst), 1);
    });
}

/// A receiver comes while a value is sent: either it gets the value, or no slot keeps it.
fn a_receiver_comes() {
    model(3, || {
        let (tx, mut rx) = channel(1);
        let other = End::new((*tx).clone());
        let subscriber = thread::spawn(move || End::new(other.subscribe()));
        tx.send(0).unwrap();
        let mut late = subscriber.join().unwrap();
        assert_eq!(rx.try_recv(), Ok(0));
        assert!(matches!(late.try_recv(), Ok(0) | Err(TryRecvError::Empty)));
        assert!(tx.is_empty());
    });
}

/// A receiver comes while the last one goes, and values are sent.
fn one_goes_and_one_comes() {
    model(2, || {
        let (value, alive) = Token::new();
        let (tx, rx) = channel(1);
        tx.send(value.clone()).unwrap();
        let other = thread::spawn(move || drop(rx));
        let mut rx = End::new(tx.subscribe());
        tx.send(value.clone()).unwrap();
        other.join().unwrap();
        assert!(rx.try_recv().is_ok());
        assert_eq!(alive.load(Ordering::SeqCst), 1);
        assert_eq!(rx.try_recv().unwrap_err(), TryRecvError::Empty);
    });
}

fn waiting_ends_with_the_last_sender() {
    model(3, || {
        let (tx, mut rx) = channel::<u32>(1);
        let second = End::new((*tx).clone());
        let sender = thread::spawn(move || drop(second));
        drop(tx);
        assert_eq!(block_on(rx.recv()), Err(RecvError::Closed));
        sender.join().unwrap();
    });
}

/// One wait is given up while a value comes; the next one gets it.
fn a_wait_is_given_up() {
    model(2, || {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || _ = tx.send(0).unwrap());
        let first = block_on(async {
            let mut recv = pin!(rx.recv());
            poll_fn(|cx| Poll::Ready(recv.as_mut().poll(cx))).await
        });
        match first {
            Poll::Ready(result) => assert_eq!(result, Ok(0)),
            Poll::Pending => assert_eq!(block_on(rx.recv()), Ok(0)),
        }
        sender.join().unwrap();
    });
}

/// The wait of a thread times out while a value comes.
fn a_time_out() {
    model(2, || {
        let (tx, mut rx) = channel(1);
        let receiver = thread::spawn(move || {
            let soon = soon() - std::time::Instant::now();
            rx.blocking_recv_timeout(soon).is_ok() || rx.blocking_recv() == Ok(0)
        });
        blitz_io_futex::model::expire();
        tx.send(0).unwrap();
        assert!(receiver.join().unwrap());
    });
}

fn a_sender_waits_for_the_last_receiver() {
    model(3, || {
        let (tx, rx) = channel::<u32>(1);
        let second = End::new(tx.subscribe());
        let other = thread::spawn(move || drop((rx, second)));
        block_on(tx.closed());
        assert_eq!(tx.receiver_count(), 0);
        other.join().unwrap();
    });
}

/// A weak sender becomes a strong one, or finds the channel closed.
fn upgrading() {
    model(2, || {
        let (tx, mut rx) = channel(1);
        let weak = tx.downgrade();
        let weak = End::new(weak);
        let other = thread::spawn(move || {
            let tx = weak.upgrade().map(End::new);
            tx.is_some_and(|tx| tx.send(0).is_ok())
        });
        drop(tx);
        let sent = other.join().unwrap();
        assert_eq!(receive_all(&mut rx, 0), u32::from(sent));
    });
}

macro_rules! models {
    ($($name:ident: $model:ident,)*) => {
        $(
            #[test]
            fn $name() {
                $model();
            }
        )*
    };
}

models! {
    a_value_wakes_a_task: a_receiver_waits,
    a_value_wakes_a_thread: a_thread_waits,
    a_value_wakes_without_the_end: a_receiver_waits_for_one_value,
    everybody_gets_everything: two_receivers,
    a_spent_slot_is_filled_without_a_race: a_slot_is_filled_again,
    overwriting_waits_for_a_clone: a_value_is_overwritten_while_it_is_cloned,
    a_value_is_taken_or_overwritten: a_value_is_overwritten_while_it_is_taken,
    the_tail_is_ahead_of_all_receivers: a_receiver_is_never_ahead,
    overwriting_keeps_off_the_readers: an_unread_value_is_overwritten,
    who_misses_something_is_told: two_receivers_of_one_slot,
    overwriting_goes_in_turn: two_overwrite,
    overwriting_leaves_nothing_behind: two_overwrite_and_leave_nothing,
    who_goes_leaves_nothing_behind: a_receiver_goes,
    the_last_who_goes_leaves_nothing_behind: the_last_receiver_goes,
    a_new_receiver_counts_from_one_moment_on: a_receiver_comes,
    a_new_receiver_gets_what_is_new: one_goes_and_one_comes,
    the_end_reaches_who_waits: waiting_ends_with_the_last_sender,
    giving_up_loses_nothing: a_wait_is_given_up,
    a_time_out_loses_nothing: a_time_out,
    the_end_of_the_last_receiver_reaches_the_sender: a_sender_waits_for_the_last_receiver,
    a_weak_sender_sends_or_is_too_late: upgrading,
}
