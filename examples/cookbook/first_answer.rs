//! Asks several mirrors, takes the first good answer, and cancels the rest.

use std::time::Duration;

use blitz_io::task::JoinSet;
use blitz_io::time::{Instant, sleep};

async fn first<T: Send + 'static>(mut mirrors: JoinSet<Result<T, String>>) -> Result<T, String> {
    let mut last = "no mirror".to_owned();
    while let Some(answer) = mirrors.join_next().await {
        match answer {
            Ok(Ok(value)) => return Ok(value), // dropping the set aborts the others
            Ok(Err(error)) => last = error,
            Err(panic) => last = panic.to_string(),
        }
    }
    Err(last)
}

#[blitz_io::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let ask = |name: &'static str, millis, works: bool| async move {
        sleep(Duration::from_millis(millis)).await;
        if works {
            Ok(name)
        } else {
            Err(format!("{name} is down"))
        }
    };
    let start = Instant::now();
    let mut mirrors = JoinSet::new();
    mirrors.spawn(ask("near", 10, false));
    mirrors.spawn(ask("far", 80, true));
    mirrors.spawn(ask("farther", 5_000, true));
    let answer = first(mirrors).await;
    println!("{answer:?} after {} ms", start.elapsed().as_millis());
    assert_eq!(answer, Ok("far"));
    assert_eq!(start.elapsed().as_millis(), 80);

    let mut mirrors = JoinSet::new();
    mirrors.spawn(ask("near", 10, false));
    assert_eq!(first(mirrors).await, Err("near is down".to_owned()));
}
