//! Readers that have waited for long are let in before the next writer. They must
//! not become the reason why this one never gets in.

use blitz_io_testing::threads::{Random, Stop, StopAtEnd, eventually};

use blitz_io_sync::thread::RwLock;
use blitz_io_testing::observe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Readers come and go so that there is always one inside. Readers that arrive while the writer
/// waits are behind it, however long it waits.
#[test]
#[ignore = "observes the scheduler"]
fn readers_do_not_starve_a_writer() {
    const READERS: u64 = 12;
    let lock = RwLock::new(());
    let reads = AtomicU64::new(0);
    let stop = Stop::default();
    let mut most = 0;
    thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for seed in 0..READERS {
            let (lock, reads, stop) = (&lock, &reads, &stop);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                while !stop.is_set() && reads.load(Ordering::Relaxed) < 1000 * READERS {
                    let _guard = lock.read();
                    thread::sleep(Duration::from_micros(3000 + random.below(3000)));
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..5 {
            // All of them are on their way again.
            let before = reads.load(Ordering::Relaxed);
            eventually(|| reads.load(Ordering::Relaxed) >= before + 3 * READERS);
            let before = reads.load(Ordering::Relaxed);
            let guard = lock.write();
            most = most.max(reads.load(Ordering::Relaxed) - before);
            drop(guard);
        }
    });
    // The readers that were inside, and a few that entered while the writer was on its way to
    // the lock.
    observe("readers before RwLock::write", most, 10 * READERS);
}
