//! Models of the channels of many senders and many receivers.

use crate::model;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::Poll;

use blitz_io_channel::mpmc::{self, RecvError, RecvTimeoutError, SendError, TryRecvError};
use loom::thread;
use model::{End, block_on, model_in_order as model, poll_idly, soon};

type Sender<T> = End<mpmc::Sender<T>>;
type Receiver<T> = End<mpmc::Receiver<T>>;

const UNLIMITED: usize = usize::MAX;

fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = match capacity {
        UNLIMITED => mpmc::unbounded(),
        _ => mpmc::bounded(capacity),
    };
    (End::new(sender), End::new(receiver))
}

/// Counts how many of its kind are alive.
#[derive(Debug, PartialEq)]
struct Token(Alive);

#[derive(Clone, Debug)]
struct Alive(Arc<AtomicI32>);

impl PartialEq for Alive {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Alive {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn token(&self) -> Token {
        self.0.fetch_add(1, Ordering::SeqCst);
        Token(self.clone())
    }

    fn count(&self) -> i32 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A thread sends a few numbers, more than there is room for; this one receives
/// them, in order, to the end.
fn threads(capacity: usize, preemptions: usize, count: u32) {
    model(preemptions, move || {
        let (sender, receiver) = channel(capacity);
        let thread = thread::spawn(move || {
            for n in 0..count {
                sender.blocking_send(n).unwrap();
            }
        });
        for n in 0..count {
            assert_eq!(receiver.blocking_recv(), Ok(n));
        }
        assert_eq!(receiver.blocking_recv(), Err(RecvError));
        thread.join().unwrap();
    });
}

/// Sends a few numbers through futures; this thread receives them, in order, to the end.
fn tasks(capacity: usize, preemptions: usize, count: u32) {
    model(preemptions, move || {
        let (sender, receiver) = channel(capacity);
        let thread = thread::spawn(move || {
            for n in 0..count {
                block_on(sender.send(n)).unwrap();
            }
        });
        for n in 0..count {
            assert_eq!(block_on(receiver.recv()), Ok(n));
        }
        assert_eq!(block_on(receiver.recv()), Err(RecvError));
        thread.join().unwrap();
    });
}

/// Two senders, of which one is the last.
fn two_senders(capacity: usize) {
    model(1, move || {
        let (sender, receiver) = channel(capacity);
        let threads = [1, 2].map(|n| {
            let sender = sender.clone();
            thread::spawn(move || sender.blocking_send(n).unwrap())
        });
        drop(sender);
        let mut sum = 0;
        while let Ok(n) = block_on(receiver.recv()) {
            sum += n;
        }
        assert_eq!(sum, 3);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Two receivers wait, and get their values, and then the end.
fn two_receivers(capacity: usize) {
    model(1, move || {
        let (sender, receiver) = channel(capacity);
        let threads = [(); 2].map(|()| {
            let receiver = receiver.clone();
            thread::spawn(move || receiver.blocking_recv().unwrap_or(0))
        });
        sender.blocking_send(5).unwrap();
        drop(sender);
        let sum: i32 = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum();
        assert_eq!(sum, 5);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    });
}

/// The last receiver goes while a sender may wait. Its value comes back, and all
/// others are dropped.
fn the_last_receiver_goes(capacity: usize) {
    model(3, move || {
        let alive = Alive::new();
        let (sender, receiver) = channel(capacity);
        if capacity > 0 {
            sender.blocking_send(alive.token()).unwrap();
        }
        let thread = thread::spawn({
            let token = alive.token();
            move || match block_on(sender.send(token)) {
                Ok(()) => assert!(capacity > 1),
                Err(SendError(token)) => drop(token),
            }
        });
        drop(receiver);
        thread.join().unwrap();
        assert_eq!(alive.count(), 0);
    });
}

/// A receive is given up while a value may be on its way to it. Another receiver gets the value.
fn a_receive_is_cancelled(capacity: usize) {
    model(2, move || {
        let (sender, receiver) = channel(capacity);
        let canceller = thread::spawn({
            let receiver = receiver.clone();
            move || {
                let mut receive = End::new(Box::pin(receiver.recv()));
                match poll_idly(receive.as_mut()) {
                    Poll::Ready(value) => value.unwrap_or(0),
                    Poll::Pending => 0,
                }
            }
        });
        let other = thread::spawn(move || receiver.blocking_recv().unwrap_or(0));
        sender.blocking_send(7).unwrap();
        let got = canceller.join().unwrap();
        if got == 0 {
            assert_eq!(other.join().unwrap(), 7);
        } else {
            drop(sender);
            assert_eq!(other.join().unwrap(), 0);
        }
    });
}

/// A send is given up. Its value was sent, or is dropped.
fn a_send_is_cancelled(capacity: usize) {
    model(3, move || {
        let alive = Alive::new();
        let (sender, receiver) = channel(capacity);
        let token = alive.token();
        let thread = thread::spawn(move || {
            let mut send = End::new(Box::pin(sender.send(token)));
            let _ = poll_idly(send.as_mut());
        });
        drop(block_on(receiver.recv()));
        thread.join().unwrap();
        assert_eq!(alive.count(), 0);
    });
}

/// A receive times out while a value may be on its way to it.
fn a_receive_times_out(capacity: usize) {
    model(2, move || {
        let (sender, receiver) = channel(capacity);
        let thread = thread::spawn({
            let receiver = receiver.clone();
            move || match receiver.blocking_recv_deadline(soon()) {
                Ok(value) => value,
                Err(RecvTimeoutError::Timeout) => receiver.blocking_recv().unwrap(),
                Err(RecvTimeoutError::Closed) => panic!("closed with a value in it"),
            }
        });
        blitz_io_futex::model::expire();
        sender.blocking_send(1).unwrap();
        assert_eq!(thread.join().unwrap(), 1);
    });
}

/// A send times out while a receiver may be taking its value.
fn a_send_times_out(capacity: usize) {
    model(2, move || {
        let (sender, receiver) = channel(capacity);
        let thread = thread::spawn(move || {
            if let Err(error) = sender.blocking_send_deadline(1, soon()) {
                sender.blocking_send(error.into_inner()).unwrap();
            }
        });
        blitz_io_futex::model::expire();
        assert_eq!(receiver.blocking_recv(), Ok(1));
        thread.join().unwrap();
        assert_eq!(receiver.blocking_recv(), Err(RecvError));
    });
}

fn somebody_waits_for_the_end() {
    model(3, || {
        let (sender, receiver) = channel::<()>(1);
        let thread = thread::spawn(move || {
            block_on(sender.closed());
            sender.blocking_closed();
        });
        drop(receiver);
        thread.join().unwrap();
    });
}

#[test]
fn threads_without_a_buffer() {
    threads(0, 2, 2);
}

#[test]
fn threads_with_one_place() {
    threads(1, 2, 3);
}

#[test]
fn threads_without_a_limit() {
    threads(UNLIMITED, 3, 2);
}

#[test]
fn tasks_without_a_buffer() {
    tasks(0, 2, 2);
}

#[test]
fn tasks_with_one_place() {
    tasks(1, 2, 3);
}

#[test]
fn tasks_without_a_limit() {
    tasks(UNLIMITED, 3, 2);
}

#[test]
fn the_last_of_two_senders_ends_the_channel() {
    two_senders(0);
    two_senders(1);
}

#[test]
fn two_receivers_wait() {
    two_receivers(0);
    two_receivers(1);
}

#[test]
fn the_last_receiver_gives_values_back() {
    the_last_receiver_goes(0);
    the_last_receiver_goes(1);
    the_last_receiver_goes(UNLIMITED);
}

#[test]
fn a_cancelled_receive_passes_its_value_on() {
    a_receive_is_cancelled(1);
}

#[test]
fn a_cancelled_send_loses_nothing_else() {
    a_send_is_cancelled(0);
    a_send_is_cancelled(1);
}

#[test]
fn time_outs_lose_nothing() {
    a_receive_times_out(0);
    a_receive_times_out(1);
    a_send_times_out(0);
}

#[test]
fn the_end_is_noticed() {
    somebody_waits_for_the_end();
}

/// A stream waits, and another receiver may be quicker. Neither sleeps beside a value.
#[cfg(feature = "stream")]
mod streams {
    use super::*;
    use futures_core::Stream;
    use std::pin::Pin;

    async fn next<T>(mut receiver: Receiver<T>) -> Option<T> {
        std::future::poll_fn(|context| Pin::new(&mut *receiver).poll_next(context)).await
    }

    fn beside_a_receiver(capacity: usize, preemptions: usize) {
        model(preemptions, move || {
            let (sender, receiver) = channel(capacity);
            let stream = receiver.clone();
            let thread = thread::spawn(move || block_on(next(stream)).unwrap_or(0));
            let other = thread::spawn(move || block_on(receiver.recv()).unwrap_or(0));
            block_on(sender.send(1)).unwrap();
            block_on(sender.send(2)).unwrap();
            assert_eq!(thread.join().unwrap() + other.join().unwrap(), 3);
        });
    }

    #[test]
    fn a_stream_beside_a_receiver() {
        beside_a_receiver(0, 1);
        beside_a_receiver(1, 1);
        beside_a_receiver(UNLIMITED, 1);
    }
}
