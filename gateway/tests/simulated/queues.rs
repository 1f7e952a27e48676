//! Queues: each item at least once, and with the same identity if it comes again.

use std::collections::BTreeMap;

use blitz_io::ipc::{Queue, Receiver, RecvError, Sender};
use blitz_io::sim::{self, Builder};
use blitz_io::time::{sleep, timeout};
use blitz_io_gateway::wire::JobId;

use crate::site::{FAULTS, LOOK, MAX_LEN, Site, faults};

/// Number of items.
const SENT: u64 = 40;
/// The number of runs that gate a change.
const RUNS: u64 = 60;
/// The number of runs of the test that takes minutes.
const MANY: u64 = 2_000;

/// Sends all items.
async fn send(mut sender: Sender) -> Sender {
    for number in 0..SENT {
        sender.send_async(&number.to_le_bytes()).await.unwrap();
        sleep(LOOK * (sim::random() % 8) as u32).await;
    }
    sender
}

/// Receives until each item has come. Returns the number of items that came again.
async fn receive(mut receiver: Receiver) -> u64 {
    let (mut identities, mut repeats) = (BTreeMap::new(), 0);
    while identities.len() < SENT as usize {
        match receiver.recv_async().await {
            Ok(item) => {
                let (identity, number) = item.split_at(JobId::LEN);
                let number = u64::from_le_bytes(number.try_into().unwrap());
                if let Some(known) = identities.insert(number, identity.to_vec()) {
                    assert_eq!(known, identity, "item {number} is another one");
                    repeats += 1;
                }
            }
            // The gateway is dead, and will start again.
            Err(RecvError::Disconnected) => sleep(LOOK).await,
            Err(error) => panic!("{error}"),
        }
    }
    repeats
}

async fn run() {
    let site = Site::start("queue", "", "identity = true");
    let to = site.segment(Queue::builder(), "two");
    let to = to.max_len(MAX_LEN + JobId::LEN).receiver("r").unwrap();
    let from = site.segment(Queue::builder(), "one").sender("r").unwrap();
    sim::inject(faults());
    let sends = blitz_io::spawn(send(from));
    let receives = blitz_io::spawn(receive(to));
    let sender = sends.await.unwrap();
    // Long after the last fault, no item is lost.
    let repeats = timeout(FAULTS * 5, receives).await;
    let repeats = repeats.expect("an item is lost").unwrap();
    sim::sometimes("a gateway starts again", site.has_restarted());
    sim::sometimes("an item comes again", repeats > 0);
    drop(sender);
}

#[test]
fn no_item_is_lost() {
    Builder::new().seeds(RUNS).from_env().run(run);
}

#[test]
#[ignore = "takes minutes"]
fn no_item_is_lost_in_many_runs() {
    let report = Builder::new().seeds(MANY).from_env().run(run);
    assert!(report.never().is_empty(), "{report:?}");
}
