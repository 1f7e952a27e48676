//! Channels, between threads.

use blitz_io::sync::{broadcast, mpmc, mpsc, oneshot, watch};

#[test]
fn mpsc_keeps_each_senders_order_and_closes() {
    let (sender, mut receiver) = mpsc::channel(1);
    std::thread::scope(|scope| {
        for me in 0..3 {
            let sender = sender.clone();
            scope.spawn(move || {
                for value in 0..2 {
                    sender.blocking_send((me, value)).unwrap();
                }
            });
        }
        drop(sender);
        let mut next = [0; 3];
        while let Some((from, value)) = receiver.blocking_recv() {
            assert_eq!(value, next[from]);
            next[from] += 1;
        }
        assert_eq!(next, [2; 3]);
    });
}

#[test]
fn the_last_value_of_mpsc_is_not_missed() {
    let (sender, mut receiver) = mpsc::channel(1);
    std::thread::scope(|scope| {
        scope.spawn(move || sender.blocking_send(7).unwrap());
        assert_eq!(receiver.blocking_recv(), Some(7));
        assert_eq!(receiver.blocking_recv(), None);
    });
}

#[test]
fn an_unbounded_mpsc_that_closes_returns_or_delivers_each_value() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..3)
            .map(|_| {
                let sender = sender.clone();
                scope.spawn(move || (0..2).filter(|value| sender.send(*value).is_ok()).count())
            })
            .collect();
        drop(sender);
        let first = receiver.blocking_recv();
        receiver.close();
        let mut received = usize::from(first.is_some());
        while receiver.blocking_recv().is_some() {
            received += 1;
        }
        let sent: usize = senders.into_iter().map(|it| it.join().unwrap()).sum();
        assert_eq!(sent, received);
    });
}

#[test]
fn mpmc_delivers_each_value_once() {
    let (sender, receiver) = mpmc::bounded(1);
    let sum: u32 = std::thread::scope(|scope| {
        for me in 0..2 {
            let sender = sender.clone();
            scope.spawn(move || {
                for value in 0..2 {
                    sender.blocking_send(1 << (2 * me + value)).unwrap();
                }
            });
        }
        let receivers: Vec<_> = (0..2)
            .map(|_| {
                let receiver = receiver.clone();
                scope.spawn(move || {
                    let mut sum = 0;
                    while let Ok(value) = receiver.blocking_recv() {
                        sum += value;
                    }
                    sum
                })
            })
            .collect();
        drop((sender, receiver));
        receivers.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(sum, 0b1111);
}

#[test]
fn a_rendezvous_hands_each_value_over() {
    let (sender, receiver) = mpmc::bounded(0);
    std::thread::scope(|scope| {
        for value in 0..2 {
            let sender = sender.clone();
            scope.spawn(move || sender.blocking_send(value).unwrap());
        }
        drop(sender);
        let mut values = [
            receiver.blocking_recv().unwrap(),
            receiver.blocking_recv().unwrap(),
        ];
        values.sort_unstable();
        assert_eq!(values, [0, 1]);
        assert!(receiver.blocking_recv().is_err());
    });
}

#[test]
fn a_oneshot_value_is_received_or_returned() {
    let (sender, mut receiver) = oneshot::channel();
    let (sent, received) = std::thread::scope(|scope| {
        let sent = scope.spawn(move || sender.send(7).is_ok());
        let received = scope.spawn(move || {
            receiver.close();
            receiver.try_recv().is_ok()
        });
        (sent.join().unwrap(), received.join().unwrap())
    });
    assert_eq!(sent, received);
}

#[test]
fn broadcast_loses_nothing_in_silence() {
    let (sender, receiver) = broadcast::channel(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut receiver = receiver.resubscribe();
            scope.spawn(move || {
                let mut seen = 0;
                loop {
                    match receiver.blocking_recv() {
                        Ok(_) => seen += 1,
                        Err(broadcast::error::RecvError::Lagged(missed)) => seen += missed,
                        Err(broadcast::error::RecvError::Closed) => break,
                    }
                }
                assert_eq!(seen, 4);
            });
        }
        drop(receiver);
        for value in 0..2 {
            let sender = sender.clone();
            scope.spawn(move || {
                sender.send(value).unwrap();
                sender.send(value).unwrap();
            });
        }
        drop(sender);
    });
}

#[test]
fn a_change_of_watch_reaches_a_thread() {
    let (sender, mut receiver) = watch::channel(0);
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send(1).unwrap());
        receiver.blocking_changed().unwrap();
    });
}

#[test]
fn watch_shows_the_last_value() {
    let (sender, receiver) = watch::channel(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut receiver = receiver.clone();
            scope.spawn(move || {
                let mut last = 0;
                // The sender stays, so that its end cannot stand in for a lost wake-up.
                while last < 2 {
                    receiver.blocking_changed().unwrap();
                    let now = *receiver.borrow_and_update();
                    assert!(now > last);
                    last = now;
                }
            });
        }
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
}
