//! A steady loop allocates nothing, and a pool without work takes no processor time. In a
//! program of its own, as the allocations and threads of other tests would be counted, too.

use std::sync::atomic::{AtomicU64, Ordering};

use blitz_io_pool::{ThreadPoolBuilder, for_each, for_each_chunk, join, map_reduce};
use blitz_io_testing::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn loops(seen: &AtomicU64, numbers: &mut [u64]) {
    for_each(0..1_000, 10, |n| {
        seen.fetch_add(n as u64, Ordering::Relaxed);
    });
    for_each_chunk(numbers, 16, |_, chunk| {
        chunk.iter_mut().for_each(|n| *n += 1)
    });
    let sum = map_reduce(0..1_000, 10, |n| n as u64, |a, b| a + b).unwrap();
    let (a, b) = join(|| sum, || sum + 1);
    seen.fetch_add(a + b, Ordering::Relaxed);
}

/// The processor time of this process so far, in clock ticks.
#[cfg(target_os = "linux")]
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program, in brackets, may contain spaces.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_steady_loop_allocates_nothing_and_an_idle_pool_takes_no_time() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let seen = AtomicU64::new(0);
    let mut numbers = vec![0; 1_000];
    let allocated = pool.install(|| ALLOCATOR.fewest(|| loops(&seen, &mut numbers)));
    assert_eq!(allocated, 0);

    #[cfg(target_os = "linux")]
    {
        let ticks = || {
            let before = processor_time();
            std::thread::sleep(std::time::Duration::from_secs(1));
            processor_time() - before
        };
        // A thread that spins takes about 100 in a second with a processor of its own. Time
        // that a virtual machine did not have may count, too, but not each time.
        assert!((0..5).any(|_| ticks() <= 3));
    }
}
