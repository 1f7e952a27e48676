//! Progress of a long job, shown at most ten times a second and never by the job itself.

use std::time::Duration;

use blitz_io::sync::watch;
use blitz_io::time::{MissedTickBehavior, interval};

/// Draws until the job has dropped its end. Returns the last value that was drawn.
async fn draw(mut progress: watch::Receiver<u64>, total: u64) -> u64 {
    let mut frames = interval(Duration::from_millis(100));
    frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        frames.tick().await;
        let ended = progress.changed().await.is_err();
        let done = *progress.borrow_and_update();
        let filled = (done * 20 / total) as usize;
        eprint!("\r[{:20}] {done}/{total}", "#".repeat(filled));
        if ended {
            eprintln!();
            return done;
        }
    }
}

#[blitz_io::main]
async fn main() {
    const TOTAL: u64 = 100_000;
    let (progress, shown) = watch::channel(0);
    let bar = blitz_io::spawn(draw(shown, TOTAL));
    let job = blitz_io::task::spawn_blocking(move || {
        for done in 1..=TOTAL {
            progress.send_replace(done); // does not wait, and keeps the newest only
        }
    });
    job.await.unwrap();
    assert_eq!(bar.await.unwrap(), TOTAL);
}
