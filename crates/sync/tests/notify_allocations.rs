//! Waiting allocates nothing, be it a task or a thread that waits.
//!
//! The allocations of this thread are counted, so others do no harm.

use std::future::Future;
use std::pin::{Pin, pin};

use blitz_io_sync::task::{Barrier, Notify, OnceCell, SetOnce};
use blitz_io_testing::{Counting, Wakings, fewest, ms, poll_once};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_count_counts() {
    assert_eq!(
        ALLOCATOR.in_this_thread(|| drop(std::hint::black_box(Box::new(1)))),
        1
    );
}

#[test]
fn no_wait_allocates() {
    let (wakings, waker) = Wakings::new();
    fn poll<F: Future>(future: Pin<&mut F>, waker: &std::task::Waker) -> bool {
        poll_once(future, waker).is_ready()
    }
    // The first thread that really waits has things to find out. On a slow machine a short
    // time may be over before it does.
    assert!(!Notify::new().notified().blocking_wait_timeout(ms(200)));
    // The first use of a part may allocate. On a busy machine that is not always in the first
    // run, as a wait of a millisecond may end before it begins.
    let count = || {
        ALLOCATOR.in_this_thread(|| {
            let notify = Notify::new();
            let (mut one, mut other) = (pin!(notify.notified()), pin!(notify.notified()));
            assert!(!poll(one.as_mut(), &waker) && !poll(other.as_mut(), &waker));
            notify.notify_one();
            notify.notify_waiters();
            assert!(poll(one, &waker) && poll(other, &waker));
            assert!(!notify.notified().blocking_wait_timeout(ms(1)));

            let barrier = Barrier::new(2);
            let mut one = pin!(barrier.wait());
            assert!(!poll(one.as_mut(), &waker) && poll(pin!(barrier.wait()), &waker));
            assert!(poll(one, &waker));

            let cell = OnceCell::new();
            {
                let mut making = pin!(cell.get_or_init(std::future::pending::<u32>));
                let mut waits = pin!(cell.get_or_init(|| async { 7 }));
                assert!(!poll(making.as_mut(), &waker) && !poll(waits.as_mut(), &waker));
            }
            assert_eq!(cell.blocking_get_or_init(|| 7), &7);

            let cell = SetOnce::new();
            let mut waits = pin!(cell.wait());
            assert!(!poll(waits.as_mut(), &waker));
            cell.set(7).unwrap();
            assert!(poll(waits, &waker));
        })
    };
    assert_eq!(fewest(count), 0);
    assert!(wakings.count() > 0);
}
