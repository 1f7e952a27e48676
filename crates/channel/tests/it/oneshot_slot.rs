//! A channel in memory of the caller.

use blitz_io_testing::watch_dog;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::thread;

use blitz_io_channel::oneshot::{
    self, Slot,
    error::{RecvTimeoutError, TryRecvError},
};
use blitz_io_core::coop;
use blitz_io_testing::{Drops, Wakings, ms, poll_once, reentrant_waker};

#[test]
fn a_slot_is_used_again_and_again() {
    let mut slot = Slot::new();
    for round in 0..1000 {
        let (tx, mut rx) = slot.channel();
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        tx.send(round).unwrap();
        assert_eq!(rx.try_recv(), Ok(round));
        assert!(rx.is_terminated());
    }
}

#[test]
fn scoped_threads_talk_through_a_slot() {
    watch_dog::watch();
    let mut there = Slot::new();
    let mut back = Slot::new();
    for round in 0..500 {
        let ((tx, rx), (back_tx, back_rx)) = (there.channel(), back.channel());
        thread::scope(|scope| {
            scope.spawn(|| back_tx.send(rx.blocking_recv().unwrap() + 1).unwrap());
            tx.send(round).unwrap();
            assert_eq!(pollster::block_on(back_rx), Ok(round + 1));
        });
    }
}

#[test]
fn the_ends_behave_as_those_on_the_heap() {
    watch_dog::watch();
    let mut slot = Slot::default();
    let (mut tx, rx) = slot.channel();
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(pin!(tx.closed()), &waker).is_pending());
    assert!(!tx.is_closed() && !tx.blocking_closed_timeout(ms(1)));
    drop(rx);
    assert_eq!(wakings.count(), 0, "the thread has taken the task's place");
    tx.blocking_closed();
    assert_eq!(tx.send(1), Err(1));

    let (tx, mut rx) = slot.channel();
    assert!(poll_once(pin!(&mut rx), &waker).is_pending());
    assert_eq!(
        rx.blocking_recv_timeout(ms(1)),
        Err(RecvTimeoutError::Timeout)
    );
    assert!(poll_once(pin!(&mut rx), &waker).is_pending());
    tx.send(2).unwrap();
    assert_eq!(wakings.count(), 1);
    assert!(!rx.is_empty());
    rx.close();
    assert_eq!(rx.blocking_recv(), Ok(2));

    let (tx, rx) = slot.channel();
    assert_eq!(
        format!("{slot:?} {tx:?} {rx:?}", slot = Slot::<u8>::new()),
        "Slot { .. } \
         Sender { inner: Some(Inner { state: State { is_complete: false, is_closed: false, \
         is_rx_task_set: false, is_tx_task_set: false } }) } \
         Receiver { inner: Some(Inner { state: State { is_complete: false, is_closed: false, \
         is_rx_task_set: false, is_tx_task_set: false } }) }"
    );
    drop(tx);
    assert!(rx.blocking_recv().is_err());
}

/// Forgetting an end is safe code. Its value or waker is dropped once, by the next use or with
/// the slot.
#[test]
fn what_forgotten_ends_leave_behind_is_dropped_once() {
    let (values, wakers) = (Drops::new(), Drops::new());
    let waker = || {
        let counted = wakers.counted(());
        reentrant_waker(move || _ = &counted)
    };
    let mut slot = Slot::new();

    // A value that no end took.
    let (tx, rx) = slot.channel();
    tx.send(values.counted(())).unwrap();
    std::mem::forget(rx);
    assert_eq!(values.count(), 0);

    // Wakers that no end woke.
    let (mut tx, mut rx) = slot.channel();
    assert_eq!(values.count(), 1);
    assert!(poll_once(pin!(tx.closed()), &waker()).is_pending());
    assert!(poll_once(pin!(&mut rx), &waker()).is_pending());
    std::mem::forget(tx);
    std::mem::forget(rx);
    assert_eq!(wakers.count(), 0);

    // One end was forgotten, the other not.
    let (tx, mut rx) = slot.channel();
    assert_eq!(wakers.count(), 2);
    assert!(poll_once(pin!(&mut rx), &waker()).is_pending());
    std::mem::forget(tx);
    drop(rx);
    assert_eq!(wakers.count(), 3);

    let (tx, mut rx) = slot.channel();
    assert!(poll_once(pin!(&mut rx), &waker()).is_pending());
    std::mem::forget(rx);
    tx.send(values.counted(())).unwrap();
    assert_eq!((values.count(), wakers.count()), (1, 4));
    drop(slot);
    assert_eq!((values.count(), wakers.count()), (2, 4));
}

#[test]
fn a_slot_that_was_used_up_drops_nothing() {
    let values = Drops::new();
    let mut slot = Slot::new();
    for taken in [true, false] {
        let (tx, mut rx) = slot.channel();
        tx.send(values.counted(())).unwrap();
        if taken {
            drop(rx.try_recv().unwrap());
        }
    }
    assert_eq!(values.count(), 2);
    drop(slot);
    assert_eq!(values.count(), 2);
}

#[test]
fn neither_receiver_blocks_where_a_task_is_polled() {
    fn refusal(block: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(|| coop::budget(block))).unwrap_err();
        (*panic.downcast::<String>().unwrap()).clone()
    }

    // The value has been sent, so a receiver that does not refuse still ends.
    let mut slot = Slot::new();
    let (tx, in_slot) = slot.channel();
    tx.send(1).unwrap();
    let (tx, on_heap) = oneshot::channel();
    tx.send(1).unwrap();

    let expected = refusal(|| drop(on_heap.blocking_recv()));
    assert!(
        expected.starts_with("Cannot block the current thread"),
        "{expected}"
    );
    assert_eq!(refusal(|| drop(in_slot.blocking_recv())), expected);
}
