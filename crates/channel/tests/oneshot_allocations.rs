//! How often the channels for one value, and for one that changes, ask the
//! allocator for memory: once, and then not again.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use blitz_io_channel::{oneshot, watch};
use blitz_io_observe::IS_ENABLED;
use blitz_io_testing::{Counting, poll_once};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Makes the first wait of this thread, and lets only one test count. With the feature `inspect`, this
/// wait allocates, and all threads share the memory of records.
fn first_wait() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (_tx, mut rx) = watch::channel(0);
    assert!(poll_once(pin!(rx.changed()), Waker::noop()).is_pending());
    turn
}

fn send_and_receive<const SIZE: usize>() {
    let (tx, mut rx) = oneshot::channel();
    assert!(poll_once(pin!(&mut rx), Waker::noop()).is_pending());
    tx.send([3_u8; SIZE]).unwrap();
    assert!(poll_once(pin!(&mut rx), Waker::noop()).is_ready());
}

#[test]
fn one_channel_after_the_other_uses_the_same_memory() {
    let _turn = first_wait();
    assert_eq!(ALLOCATOR.in_this_thread(send_and_receive::<1>), 1);
    // A value of another size, for which the same block has room, also beside the fields of `inspect`.
    assert_eq!(ALLOCATOR.in_this_thread(send_and_receive::<2>), 0);
    assert_eq!(ALLOCATOR.in_this_thread(send_and_receive::<900>), 1);
    assert_eq!(
        ALLOCATOR.in_this_thread(|| {
            for _ in 0..1000 {
                send_and_receive::<1>();
                send_and_receive::<900>();
            }
        }),
        0
    );
}

#[test]
fn as_many_channels_as_there_is_room_for_use_the_same_memory() {
    let _turn = first_wait();
    let many = || {
        drop(
            (0..64)
                .map(|_| oneshot::channel::<u8>())
                .collect::<Vec<_>>(),
        )
    };
    assert!(ALLOCATOR.in_this_thread(many) >= 64);
    assert!(ALLOCATOR.in_this_thread(many) < 10, "the vector alone");
}

#[test]
fn a_slot_uses_no_memory_but_its_own() {
    let _turn = first_wait();
    let mut slot = oneshot::Slot::new();
    let used = ALLOCATOR.in_this_thread(|| {
        for i in 0..100 {
            let (tx, mut rx) = slot.channel();
            assert!(poll_once(pin!(&mut rx), Waker::noop()).is_pending());
            tx.send(i).unwrap();
            assert_eq!(rx.try_recv(), Ok(i));
        }
    });
    assert_eq!(used, 0);
}

#[test]
fn watching_takes_no_memory() {
    let _turn = first_wait();
    let mut channel = None;
    assert_eq!(
        ALLOCATOR.in_this_thread(|| channel = Some(watch::channel(0))),
        1
    );
    let (tx, mut rx) = channel.unwrap();
    let mut watch = |i| {
        let mut changed = pin!(rx.changed());
        assert!(poll_once(changed.as_mut(), Waker::noop()).is_pending());
        tx.send(i).unwrap();
        assert!(poll_once(changed, Waker::noop()).is_ready());
        assert_eq!(*tx.subscribe().borrow(), i);
    };
    if IS_ENABLED {
        // The first wait for an object may allocate, too.
        watch(1);
    }
    assert_eq!(ALLOCATOR.in_this_thread(|| (2..100).for_each(watch)), 0);
}
