//! Timers on both flavours, with the real clock.

use std::time::Duration;

use blitz_runtime::runtime::{Builder, Runtime};
use blitz_runtime::time::{self, Instant};
use blitz_testing::ms;

fn flavours() -> [Runtime; 2] {
    [
        Builder::new_current_thread().enable_all().build().unwrap(),
        (Builder::new_multi_thread().worker_threads(2))
            .enable_all()
            .build()
            .unwrap(),
    ]
}

#[test]
fn sleeping_takes_its_time() {
    for runtime in flavours() {
        runtime.block_on(async {
            let start = Instant::now();
            time::sleep(ms(20)).await;
            let took = start.elapsed();
            assert!(took >= ms(20) && took < ms(2000), "{took:?}");
        });
    }
}

#[test]
fn many_tasks_sleep() {
    for runtime in flavours() {
        runtime.block_on(async {
            let sleeps = (0..1000).map(|i| {
                blitz_runtime::task::spawn(async move {
                    let start = Instant::now();
                    let duration = Duration::from_micros(i * 50);
                    time::sleep(duration).await;
                    assert!(start.elapsed() >= duration);
                })
            });
            for sleep in sleeps.collect::<Vec<_>>() {
                sleep.await.unwrap();
            }
        });
    }
}

#[test]
fn a_paused_clock_jumps() {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let start = Instant::now();
        time::sleep(Duration::from_secs(86_400 * 365)).await;
        assert_eq!(start.elapsed(), Duration::from_secs(86_400 * 365));
    });
}

#[test]
fn a_paused_clock_waits_for_blocking_work() {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let start = Instant::now();
        let blocking = blitz_runtime::task::spawn_blocking(|| std::thread::sleep(ms(30)));
        let done = time::timeout(ms(10), blocking).await;
        assert!(done.is_ok(), "the clock did not jump");
        assert_eq!(start.elapsed(), Duration::ZERO);
        time::sleep(ms(10)).await;
        assert_eq!(start.elapsed(), ms(10));
    });
}
