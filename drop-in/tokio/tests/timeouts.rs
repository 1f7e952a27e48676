//! A library that waits with a timeout of zero, again and again, must not spin.

#![cfg(all(feature = "rt", feature = "time", not(feature = "test-util")))]

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::timeout;

#[test]
fn a_timeout_of_zero_waits_for_a_tick() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        loop {
            let mut waits = pin!(timeout(Duration::ZERO, pending::<()>()));
            let first = poll_fn(|context| Poll::Ready(waits.as_mut().poll(context))).await;
            // The tick may have come already, if the system has taken the processor away.
            if first.is_pending() {
                assert!(waits.await.is_err());
                break;
            }
        }
    });
}
