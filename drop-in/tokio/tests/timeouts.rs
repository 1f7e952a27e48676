//! A library that repeatedly waits with a timeout of zero must not spin: with a running clock, timers
//! for this moment wait for a tick. This must hold with and without `test-util`.

#![cfg(all(feature = "rt", feature = "time"))]

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, interval, sleep, sleep_until, timeout, timeout_at};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Returns the number of 200 new futures that are ready at their first poll.
async fn ready_at_once<F: Future>(mut new: impl FnMut() -> F) -> usize {
    poll_fn(|context| {
        let ready = (0..200).filter(|_| pin!(new()).poll(context).is_ready());
        Poll::Ready(ready.count())
    })
    .await
}

/// Counts the ready futures of each way to wait until now.
async fn counts() -> [usize; 5] {
    [
        ready_at_once(|| sleep(Duration::ZERO)).await,
        ready_at_once(|| sleep_until(Instant::now())).await,
        ready_at_once(|| timeout(Duration::ZERO, pending::<()>())).await,
        ready_at_once(|| timeout_at(Instant::now(), pending::<()>())).await,
        ready_at_once(|| async { interval(Duration::from_secs(1)).tick().await }).await,
    ]
}

#[test]
fn timers_for_this_moment_wait_for_a_tick() {
    assert_eq!(runtime().block_on(counts()), [0; 5]);
}

#[test]
fn a_loop_of_timeouts_of_zero_waits_each_time() {
    runtime().block_on(async {
        let (start, mut waits) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_millis(20) {
            assert!(timeout(Duration::ZERO, pending::<()>()).await.is_err());
            waits += 1;
        }
        // One for each tick.
        assert!(waits <= 1 + start.elapsed().as_millis(), "{waits} waits");
    });
}

#[cfg(feature = "test-util")]
#[test]
fn while_the_clock_stands_still_they_are_ready() {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let counts = tokio::task::coop::unconstrained(counts());
    assert_eq!(runtime.block_on(counts), [200; 5]);
}
