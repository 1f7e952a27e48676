//! A channel allocates when it is made and while it grows, and waiting allocates
//! nothing. The allocations of the whole process are counted, so this file has one
//! test.

use std::pin::pin;
use std::task::Waker;
use std::thread;
use std::time::Duration;

use blitz_io_channel::mpmc::{Receiver, Select, Sender, bounded, unbounded};
use blitz_io_observe::IS_ENABLED;
use blitz_io_testing::{Counting, poll_once};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn waiting_tasks(sender: &Sender<u64>, receiver: &Receiver<u64>) {
    let mut receive = pin!(receiver.recv());
    assert!(poll_once(receive.as_mut(), Waker::noop()).is_pending());
    sender.try_send(1).unwrap();
    assert!(poll_once(receive, Waker::noop()).is_ready());
    if sender.capacity() == Some(0) {
        let mut send = pin!(sender.send(1));
        assert!(poll_once(send.as_mut(), Waker::noop()).is_pending());
        assert_eq!(receiver.try_recv(), Ok(1));
        assert!(poll_once(send, Waker::noop()).is_ready());
    }
}

#[test]
fn waiting_allocates_nothing() {
    for (sender, receiver) in [bounded(0), bounded(1), bounded(1000), unbounded()] {
        let count = ALLOCATOR.fewest(|| {
            waiting_tasks(&sender, &receiver);
            let _ = receiver.blocking_recv_timeout(Duration::from_micros(300));
            if sender.capacity() == Some(0) {
                let _ = sender.blocking_send_timeout(1, Duration::from_micros(300));
            }
            for n in 0..20 {
                let _ = sender.try_send(n);
            }
            while receiver.try_recv().is_ok() {}
        });
        assert_eq!(count, 0, "capacity {:?}", sender.capacity());
    }

    let (one, first) = bounded::<u64>(1);
    let (_two, second) = bounded::<u64>(0);
    let mut select = Select::new();
    select.recv(&first);
    select.recv(&second);
    let count = ALLOCATOR.fewest(|| {
        assert!(select.select_timeout(Duration::from_micros(300)).is_err());
        one.try_send(1).unwrap();
        assert_eq!(select.select().recv(&first), Ok(1));
    });
    // A selection that sleeps has a list of its records.
    assert!(count <= usize::from(IS_ENABLED), "select: {count}");

    let (sender, receiver) = bounded(0);
    let echo = thread::spawn(move || receiver.iter().sum::<u64>());
    let count = ALLOCATOR.fewest(|| (0..50).for_each(|n| sender.blocking_send(n).unwrap()));
    assert_eq!(count, 0, "rendezvous of threads");
    drop(sender);
    assert!(echo.join().unwrap() > 0);
}
