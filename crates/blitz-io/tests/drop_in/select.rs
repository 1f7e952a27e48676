// Included twice, with `mpmc` being crossbeam-channel or this crate's: the names that are
// the same in both. (Not `send` and `recv`: this crate's are for tasks.)

use std::thread;
use std::time::{Duration, Instant};

use mpmc::{
    ReadyTimeoutError, RecvTimeoutError, Select, SelectTimeoutError, SelectedOperation,
    SendTimeoutError, TryReadyError, TrySelectError, bounded, unbounded,
};

const SOON: Duration = Duration::from_millis(5);

#[test]
fn waits_end() {
    let (tx, rx) = bounded(1);
    assert_eq!(rx.recv_timeout(SOON), Err(RecvTimeoutError::Timeout));
    assert_eq!(
        rx.recv_deadline(Instant::now() + SOON),
        Err(RecvTimeoutError::Timeout)
    );
    tx.send_timeout(1, SOON).unwrap();
    assert_eq!(tx.send_timeout(2, SOON), Err(SendTimeoutError::Timeout(2)));
    assert_eq!(
        tx.send_deadline(3, Instant::now()),
        Err(SendTimeoutError::Timeout(3))
    );
    assert_eq!(rx.recv_timeout(SOON), Ok(1));
    drop(tx);
    assert!(rx.recv_timeout(SOON).unwrap_err() != RecvTimeoutError::Timeout);
}

#[test]
fn iterators() {
    let (tx, rx) = unbounded();
    (0..3).for_each(|i| tx.try_send(i).unwrap());
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    (3..6).for_each(|i| tx.try_send(i).unwrap());
    drop(tx);
    assert_eq!(rx.iter().collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(rx.into_iter().count(), 0);
}

#[test]
fn a_meeting_without_a_buffer() {
    let (tx, rx) = bounded(0);
    assert!(tx.try_send(1).is_err_and(|error| error.is_full()));
    thread::scope(|scope| {
        scope.spawn(|| tx.send_timeout(2, Duration::from_secs(900)).unwrap());
        assert_eq!(rx.recv_timeout(Duration::from_secs(900)), Ok(2));
    });
}

#[test]
fn the_first_that_is_ready() {
    let (tx1, rx1) = bounded(1);
    let (tx2, rx2) = bounded(1);
    let mut select = Select::new();
    let first = select.recv(&rx1);
    let second = select.recv(&rx2);
    assert_eq!(select.try_ready(), Err(TryReadyError));
    assert!(matches!(select.try_select(), Err(TrySelectError)));
    assert_eq!(select.ready_timeout(SOON), Err(ReadyTimeoutError));
    assert!(matches!(
        select.select_timeout(SOON),
        Err(SelectTimeoutError)
    ));

    tx2.try_send(2).unwrap();
    assert_eq!(select.ready(), second);
    let operation: SelectedOperation<'_> = select.select();
    assert_eq!(operation.index(), second);
    assert_eq!(operation.recv(&rx2), Ok(2));

    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(SOON);
            tx1.try_send(1).unwrap();
        });
        let operation = select.select();
        assert_eq!(operation.index(), first);
        assert_eq!(operation.recv(&rx1), Ok(1));
    });
    select.remove(first);
    drop(tx1);
    assert!(matches!(select.try_select(), Err(TrySelectError)));
}

#[test]
fn whichever_can_send() {
    let (tx, rx) = bounded(1);
    let (full, _rx) = bounded(1);
    full.try_send(0).unwrap();
    let mut select = Select::new_biased();
    let never = select.send(&full);
    let now = select.send(&tx);
    let operation = select.select();
    assert_ne!(operation.index(), never);
    assert_eq!(operation.index(), now);
    operation.send(&tx, 7).unwrap();
    assert_eq!(rx.try_recv(), Ok(7));
}
