//! A periodic job without drift: its own time and late starts do not add up.

use std::time::Duration;

use blitz_io::time::{Instant, MissedTickBehavior, interval, sleep};

#[blitz_io::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let period = Duration::from_millis(100);
    let mut ticks = interval(period);
    // After a late job the next one starts at once, and the following ones are on the grid again.
    // `Burst`, the default, makes up for each start that was missed.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let start = ticks.tick().await;

    let mut starts = Vec::new();
    for job in 0..5 {
        ticks.tick().await;
        starts.push((Instant::now() - start).as_millis());
        // `sleep(period)` here would add the job's own time to each period.
        sleep(Duration::from_millis(if job == 2 { 250 } else { 30 })).await;
    }
    println!("jobs started after {starts:?} ms");
    assert_eq!(starts, [100, 200, 300, 550, 600]);
}
