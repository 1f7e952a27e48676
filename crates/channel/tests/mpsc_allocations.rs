//! A channel in steady use allocates nothing. The allocations of the whole process
//! are counted, so this file has one test.

use blitz_io_channel::mpsc;
use blitz_io_testing::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steady_use_allocates_nothing() {
    let (tx, mut rx) = mpsc::channel(1_000);
    let bursts = ALLOCATOR.fewest(|| {
        for burst in [1, 2, 31, 32, 33, 1_000] {
            (0..burst).for_each(|n| tx.try_send(n).unwrap());
            (0..burst).for_each(|n| assert_eq!(rx.try_recv(), Ok(n)));
        }
    });
    assert_eq!(bursts, 0);

    let (tx, mut rx) = mpsc::unbounded_channel();
    let pairs = ALLOCATOR.fewest(|| {
        for n in 0..1_000 {
            tx.send(n).unwrap();
            assert_eq!(rx.try_recv(), Ok(n));
        }
    });
    assert_eq!(pairs, 0);

    let (tx, mut rx) = mpsc::channel(1);
    let waits = ALLOCATOR.fewest(|| {
        pollster::block_on(async {
            let sends = async {
                for n in 0..100 {
                    tx.send(n).await.unwrap();
                }
            };
            let receives = async {
                for n in 0..100 {
                    assert_eq!(rx.recv().await, Some(n));
                }
            };
            futures_util::join!(sends, receives);
        });
    });
    // `block_on` allocates its waker.
    assert!(waits <= 1, "{waits}");

    // A channel for a million values is made of a channel and a block.
    let made = ALLOCATOR.fewest(|| drop(mpsc::channel::<u64>(1_000_000)));
    assert_eq!(made, 2);
}
