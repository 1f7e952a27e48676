//! One deadline for a request and for all that is done on its behalf.

use std::time::Duration;

use blitz_io::task_local;
use blitz_io::time::{Instant, sleep, timeout_at};

task_local! {
    static DEADLINE: Instant;
}

/// Runs a future within the request's deadline, or within a shorter limit.
async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Result<T, &'static str> {
    let own = Instant::now() + limit;
    let deadline = DEADLINE
        .try_with(|inherited| own.min(*inherited))
        .unwrap_or(own);
    let inner = DEADLINE.scope(deadline, future);
    timeout_at(deadline, inner)
        .await
        .map_err(|_| "deadline exceeded")
}

/// The time that is left, for a header of a call to another service.
fn left() -> Duration {
    DEADLINE.with(|deadline| *deadline - Instant::now())
}

async fn query(takes: Duration) -> Result<Duration, &'static str> {
    // Asks for a minute, and gets what is left of the request.
    within(Duration::from_secs(60), async move {
        let left = left();
        sleep(takes).await;
        left
    })
    .await
}

#[blitz_io::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let request = within(Duration::from_secs(10), async {
        sleep(Duration::from_secs(4)).await;
        let first = query(Duration::from_secs(1)).await?;
        assert_eq!(first.as_secs(), 6);
        query(Duration::from_secs(30)).await
    });
    let start = Instant::now();
    let result = request.await.and_then(|inner| inner);
    println!("{result:?} after {} s", start.elapsed().as_secs());
    assert_eq!(result, Err("deadline exceeded"));
    assert_eq!(start.elapsed().as_secs(), 10);
}
