//! Queues: each item at least once, and with the same identity if it comes again.

use std::collections::BTreeMap;

use blitz_io::ipc::{Queue, Receiver, RecvError, Sender};
use blitz_io::sim::{self, Builder};
use blitz_io::sync::mpsc;
use blitz_io::task::JoinSet;
use blitz_io::time::{sleep, timeout};
use blitz_io_gateway::wire::JobId;

use crate::site::{BOTH, FAULTS, Importers, LOOK, MAX_LEN, ONE, Site, faults};

/// Number of items.
const SENT: u64 = 40;
/// The number of runs that gate a change.
const RUNS: u64 = 50;
/// The number of runs of the tests that take minutes, with one importer.
const MANY: u64 = 2_000;

/// Sends all items.
async fn send(mut sender: Sender) -> Sender {
    for number in 0..SENT {
        sender.send_async(&number.to_le_bytes()).await.unwrap();
        sleep(LOOK * (sim::random() % 8) as u32).await;
    }
    sender
}

/// Receives items, in an endless loop.
async fn receive(mut receiver: Receiver, items: mpsc::Sender<Vec<u8>>) {
    loop {
        match receiver.recv_async().await {
            Ok(item) => _ = items.send(item.to_vec()).await,
            // The gateway is dead, and will start again.
            Err(RecvError::Disconnected) => sleep(LOOK).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns the number of items that came again, when each item has come.
async fn repeats(mut items: mpsc::Receiver<Vec<u8>>) -> u64 {
    let (mut identities, mut repeats) = (BTreeMap::new(), 0);
    while identities.len() < SENT as usize {
        let item = items.recv().await.unwrap();
        let (identity, number) = item.split_at(JobId::LEN);
        let number = u64::from_le_bytes(number.try_into().unwrap());
        if let Some(known) = identities.insert(number, identity.to_vec()) {
            assert_eq!(known, identity, "item {number} is another one");
            repeats += 1;
        }
    }
    repeats
}

async fn run(importers: Importers) {
    let site = Site::start("queue", importers, "", "identity = true");
    let (items, received) = mpsc::channel(1);
    let mut consumers = JoinSet::new();
    for host in importers {
        let to = site.segment(Queue::builder(), host);
        let to = to.max_len(MAX_LEN + JobId::LEN).receiver("r").unwrap();
        consumers.spawn(receive(to, items.clone()));
    }
    let from = site.segment(Queue::builder(), "one").sender("r").unwrap();
    sim::inject(faults());
    let sends = blitz_io::spawn(send(from));
    let receives = blitz_io::spawn(repeats(received));
    let sender = sends.await.unwrap();
    // Long after the last fault, no item is lost.
    let repeats = timeout(FAULTS * 5, receives).await;
    let repeats = repeats.expect("an item is lost").unwrap();
    sim::sometimes("a gateway starts again", site.has_restarted());
    sim::sometimes("an item comes again", repeats > 0);
    consumers.shutdown().await;
    drop(sender);
}

fn check(importers: Importers, runs: u64) {
    let builder = Builder::new().seeds(runs).max_time(FAULTS * 10).from_env();
    let report = builder.run(move || run(importers));
    assert!(report.never().is_empty(), "{report:?}");
}

#[test]
fn no_item_is_lost() {
    check(ONE, RUNS);
}

#[test]
fn no_item_is_lost_between_two_importers() {
    check(BOTH, RUNS);
}

#[test]
#[ignore = "takes minutes"]
fn no_item_is_lost_in_many_runs() {
    check(ONE, MANY);
}

#[test]
#[ignore = "takes minutes"]
fn no_item_is_lost_between_two_importers_in_many_runs() {
    check(BOTH, MANY / 2);
}
