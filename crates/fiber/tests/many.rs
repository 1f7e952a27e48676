//! Many fibers at once, and the memory that they take. In a process of its own.
#![cfg(target_os = "linux")]

use std::sync::Arc;

use blitz_io::fiber;
use blitz_io::runtime::Builder;
use blitz_io::sync::{Barrier, Semaphore};

/// The memory of this process in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Returns `true` if guards take no mappings of their own.
fn has_guard_markers() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || {
        numbers
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0_u32)
    };
    (next(), next()) >= (6, 13)
}

#[test]
fn a_hundred_thousand_fibers_fit_into_a_gibibyte() {
    let count = if has_guard_markers() { 100_000 } else { 20_000 };
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let all = Arc::new((Barrier::new(count + 1), Semaphore::new(0)));
        let before = resident();
        let fibers: Vec<_> = (0..count)
            .map(|number| {
                let all = all.clone();
                fiber::spawn(move || {
                    fiber::block_on(all.0.wait());
                    fiber::block_on(all.1.acquire()).unwrap().forget();
                    number
                })
            })
            .collect();
        all.0.wait().await;
        let used = resident() - before;
        println!(
            "{count} fibers take {used} KiB, {} bytes each",
            used * 1024 / count
        );
        assert!(used < 1 << 20, "{used} KiB");
        assert!(used / count <= 9 || cfg!(debug_assertions), "{used} KiB");
        all.1.add_permits(count);
        let mut sum = 0;
        for fiber in fibers {
            sum += fiber.await.unwrap();
        }
        assert_eq!(sum, count * (count - 1) / 2);
    });
}
