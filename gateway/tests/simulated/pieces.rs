//! Messages in pieces, over links that lose so many that the pieces which are sent again are lost, too.

use std::time::Duration;

use blitz_io::ipc::{Channel, Route};
use blitz_io::sim::{self, Builder, Link};
use blitz_io::time::timeout;

use crate::routes::{IN_PIECES, receive, send};
use crate::site::{FAULTS, Service, Site};

/// The number of runs.
const RUNS: u64 = 10;

async fn run(service: Service) {
    let site = Site::start(service);
    let segment = || match service.kind {
        "route" => Route::builder(),
        _ => Channel::builder(),
    };
    let to = site.segment(segment(), "two").receiver("r").unwrap();
    let from = site.segment(segment(), "one").sender("r").unwrap();
    site.connected().await;
    let (least, most) = (Duration::from_millis(1), Duration::from_millis(5));
    sim::set_all_links(Link::new().latency(least, most).loss(0.3));
    let sends = blitz_io::spawn(send(from));
    let receives = blitz_io::spawn(receive(to));
    let receipt = timeout(FAULTS * 5, receives).await;
    let receipt = receipt.expect("a message does not come again").unwrap();
    assert_eq!(receipt.missing, 0);
    drop(sends.await);
}

/// The importer did not tell that it had seen the repeat, so the exporter ignored its next questions.
#[test]
fn a_piece_that_is_lost_twice_comes_again() {
    let channel = Service {
        kind: "channel",
        ..IN_PIECES
    };
    for service in [IN_PIECES, channel] {
        Builder::new()
            .seeds(RUNS)
            .from_env()
            .run(move || run(service));
    }
}
