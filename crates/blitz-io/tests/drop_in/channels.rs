// Included twice, with `mpmc` being async-channel or this crate's.

use std::thread;

use mpmc::{
    Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError, WeakReceiver, WeakSender,
    bounded, unbounded,
};

#[test]
fn many_to_many() {
    let (tx, rx): (Sender<u64>, Receiver<u64>) = bounded(4);
    let sum: u64 = thread::scope(|scope| {
        for i in 0..4 {
            let tx = tx.clone();
            scope.spawn(move || match i % 2 {
                0 => (0..500).for_each(|n| tx.send_blocking(n).unwrap()),
                _ => pollster::block_on(async {
                    for n in 0..500 {
                        tx.send(n).await.unwrap();
                    }
                }),
            });
        }
        drop(tx);
        let receiving: Vec<_> = (0..4)
            .map(|i| {
                let rx = rx.clone();
                scope.spawn(move || {
                    let mut sum = 0;
                    while let Ok(n) = match i % 2 {
                        0 => rx.recv_blocking(),
                        _ => pollster::block_on(rx.recv()),
                    } {
                        sum += n;
                    }
                    sum
                })
            })
            .collect();
        receiving
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(sum, 4 * (0..500).sum::<u64>());
}

#[test]
fn full_empty_and_closed() {
    let (tx, rx) = bounded(1);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(tx.try_send(1), Ok(()));
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(
        (tx.len(), rx.capacity(), tx.is_full(), rx.is_empty()),
        (1, Some(1), true, false)
    );
    assert!(tx.close());
    assert!(rx.is_closed() && !rx.close());
    assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
    assert_eq!(tx.send_blocking(4), Err(SendError(4)));
    assert_eq!(rx.recv_blocking(), Ok(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(rx.recv_blocking(), Err(RecvError));
}

#[test]
fn the_newest_pushes_the_oldest_out() {
    let (tx, rx) = bounded(2);
    assert_eq!(tx.force_send(1), Ok(None));
    assert_eq!(tx.force_send(2), Ok(None));
    assert_eq!(tx.force_send(3), Ok(Some(1)));
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(2), Ok(3)));
}

#[test]
fn counts_and_weak_ends() {
    let (tx, rx) = unbounded::<u8>();
    let (weak_tx, weak_rx): (WeakSender<u8>, WeakReceiver<u8>) = (tx.downgrade(), rx.downgrade());
    let second = weak_tx.upgrade().unwrap();
    assert_eq!((tx.sender_count(), tx.receiver_count()), (2, 1));
    assert!(second.same_channel(&tx));
    assert_eq!(rx.capacity(), None);
    drop((tx, second));
    assert!(weak_tx.upgrade().is_none());
    assert!(rx.is_closed());
    drop(rx);
    assert!(weak_rx.upgrade().is_none());
}

#[test]
fn errors_keep_the_value() {
    let (tx, rx) = bounded(1);
    drop(rx);
    let error = tx.send_blocking("a").unwrap_err();
    assert_eq!(
        (error.to_string(), error.into_inner()),
        ("sending into a closed channel".into(), "a")
    );
    let error = tx.try_send("b").unwrap_err();
    assert!(error.is_closed() && !error.is_full());
    assert_eq!(error.into_inner(), "b");
}
