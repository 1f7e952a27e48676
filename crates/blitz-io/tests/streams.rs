//! The wrappers with the names of `tokio_stream`.

use std::time::Duration;

use blitz_io::stream::{Stream, wrappers::IntervalStream};
use blitz_io::time::{Instant, MissedTickBehavior, interval_at};
use futures_util::{StreamExt, poll};

#[blitz_io::test(start_paused = true)]
async fn an_interval_ticks_as_a_stream() {
    let start = Instant::now();
    let period = Duration::from_millis(20);
    let mut ticks = IntervalStream::new(interval_at(start + period, period));
    assert_eq!(ticks.size_hint(), (usize::MAX, None));
    assert_eq!(ticks.as_ref().period(), period);
    ticks
        .as_mut()
        .set_missed_tick_behavior(MissedTickBehavior::Skip);

    assert!(poll!(ticks.next()).is_pending());
    assert_eq!(ticks.next().await, Some(start + period));
    blitz_io::time::advance(Duration::from_millis(90)).await;
    assert_eq!(ticks.next().await, Some(start + 2 * period));
    assert_eq!(ticks.next().await, Some(start + 6 * period));
    assert_eq!(ticks.into_inner().tick().await, start + 7 * period);
}
