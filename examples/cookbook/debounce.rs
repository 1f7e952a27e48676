//! Acts once after a burst of changes, when there was none for a while.

use std::time::Duration;

use blitz_io::sync::watch;
use blitz_io::time::{sleep, timeout};

/// Returns the newest value after `quiet` without a change, or `None` at the end.
async fn settled(changes: &mut watch::Receiver<u32>, quiet: Duration) -> Option<u32> {
    changes.changed().await.ok()?;
    // Each change starts the time again; an error means that the sender is gone.
    while let Ok(Ok(())) = timeout(quiet, changes.changed()).await {}
    Some(*changes.borrow_and_update())
}

#[blitz_io::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let (sender, mut changes) = watch::channel(0);
    blitz_io::spawn(async move {
        for burst in 0..3 {
            for change in 1..=10 {
                sender.send_replace(burst * 10 + change);
                sleep(Duration::from_millis(10)).await;
            }
            sleep(Duration::from_secs(1)).await;
        }
    });
    let mut saved = Vec::new();
    while let Some(value) = settled(&mut changes, Duration::from_millis(200)).await {
        saved.push(value);
    }
    println!("30 changes, saved: {saved:?}");
    assert_eq!(saved, [10, 20, 30]);
}
