//! Frames that overtake each other, and then a partition.

use std::time::Duration;

use blitz_io::ipc::Route;
use blitz_io::sim::{self, Builder, Link};
use blitz_io::time::{sleep, timeout};

use crate::routes::{ROUTE, receive, send};
use crate::site::{FAULTS, LOST_AFTER, Site};

/// The number of runs.
const RUNS: u64 = 20;

async fn run() {
    let site = Site::start(ROUTE);
    let to = site.segment(Route::builder(), "two").receiver("r").unwrap();
    let from = site.segment(Route::builder(), "one").sender("r").unwrap();
    site.connected().await;
    let (least, most) = (Duration::from_millis(1), Duration::from_millis(300));
    sim::set_all_links(Link::new().latency(least, most).duplication(0.3));
    let sends = blitz_io::spawn(send(from));
    let receives = blitz_io::spawn(receive(to));
    sleep(Duration::from_secs(2)).await;
    sim::partition("one", "two");
    sleep(LOST_AFTER * 2).await;
    sim::heal_all();
    let receipt = timeout(FAULTS * 5, receives).await;
    let receipt = receipt.expect("a loss is not reported").unwrap();
    sim::sometimes("a message is lost", receipt.missing > 0);
    drop(sends.await);
}

/// The last frame before the partition is often one that others have overtaken. The importer took it for a forged one, and
/// forgot what it had delivered.
#[test]
fn a_late_frame_before_a_partition_changes_no_count() {
    let report = Builder::new().seeds(RUNS).from_env().run(run);
    assert!(report.never().is_empty(), "{report:?}");
}
