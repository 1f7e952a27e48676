//! A token bucket: so many requests a second, and a burst of a few at once.

use std::time::Duration;

use blitz_io::sync::Mutex;
use blitz_io::time::{Instant, sleep_until};

struct RateLimiter {
    /// The time between two requests.
    period: Duration,
    /// How much earlier a request may come.
    burst: Duration,
    /// When the next request is due.
    next: Mutex<Instant>,
}

impl RateLimiter {
    fn new(per_second: u32, burst: u32) -> Self {
        let period = Duration::from_secs(1) / per_second;
        Self {
            period,
            burst: period * burst,
            next: Mutex::new(Instant::now()),
        }
    }

    /// Waits for this request's turn. The lock is held while it waits, so requests keep their order.
    async fn acquire(&self) {
        let mut next = self.next.lock().await;
        // Time that was not used counts up to the burst.
        *next = (*next).max(Instant::now() - self.burst + self.period);
        sleep_until(*next).await;
        *next += self.period;
    }
}

#[blitz_io::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let limiter = RateLimiter::new(10, 5);
    let start = Instant::now();
    blitz_io::time::advance(Duration::from_secs(5)).await;
    for _ in 0..5 {
        limiter.acquire().await; // the burst
    }
    assert_eq!(start.elapsed().as_secs(), 5);
    for _ in 0..20 {
        limiter.acquire().await;
    }
    let taken = start.elapsed() - Duration::from_secs(5);
    println!("20 more at 10 a second: {taken:?}");
    assert!((1900..=2050).contains(&taken.as_millis()), "{taken:?}");
}
