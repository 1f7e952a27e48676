//! Retries with exponential backoff, random pauses, and a limit for the whole.

use std::time::Duration;

use blitz_io::time::{Instant, sleep, timeout};

/// Calls until it succeeds, at most `attempts` times.
async fn retry<T, E, F: Future<Output = Result<T, E>>>(
    attempts: u32,
    base: Duration,
    mut call: impl FnMut() -> F,
) -> Result<T, E> {
    let mut pause = base;
    for _ in 1..attempts {
        if let Ok(value) = call().await {
            return Ok(value);
        }
        // Half of the pause is random, so that clients do not come back all at once.
        sleep(pause / 2 + pause.mul_f64(random() / 2.0)).await;
        pause *= 2;
    }
    call().await
}

/// A number in 0..1, from the random keys of std's hash maps.
fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

#[blitz_io::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let start = Instant::now();
    let mut calls = 0;
    let result = retry(5, Duration::from_millis(100), || {
        calls += 1;
        let result = if calls < 4 { Err("busy") } else { Ok(calls) };
        async move { result }
    });
    // The outer limit counts the pauses too.
    assert_eq!(timeout(Duration::from_secs(10), result).await, Ok(Ok(4)));
    let taken = start.elapsed().as_millis();
    println!("the fourth call succeeded, after {taken} ms");
    assert!(
        (350..=705).contains(&taken),
        "{taken} ms: three pauses of 100, 200 and 400, or half of it"
    );

    let failed: Result<(), _> = retry(3, Duration::from_millis(1), || async { Err("down") }).await;
    assert_eq!(failed, Err("down"));
}
