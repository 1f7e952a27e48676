//! Queues: each item at least once, and with the same identity if it comes again. It comes again only if a gateway was lost.

use std::collections::BTreeMap;

use blitz_io::ipc::{Queue, Receiver, RecvError, Sender};
use blitz_io::sim::{self, Builder, Faults};
use blitz_io::sync::mpsc;
use blitz_io::task::JoinSet;
use blitz_io::time::{Duration, sleep, timeout};
use blitz_io_gateway::wire::JobId;

use crate::site::{BOTH, FAULTS, LOOK, MAX_LEN, Service, Site, faults};

/// Number of items.
const SENT: u64 = 40;
/// A consumer puts back one item of this many.
const STOPS: u64 = 8;
/// The number of runs that gate a change.
const RUNS: u64 = 50;
/// The number of runs of each test that takes minutes.
const MANY: u64 = 2_500;

/// Sends all items.
async fn send(mut sender: Sender) -> Sender {
    for number in 0..SENT {
        sender.send_async(&number.to_le_bytes()).await.unwrap();
        sleep(LOOK * (sim::random() % 8) as u32).await;
    }
    sender
}

/// An item with which a consumer is done.
struct Done {
    /// Items of another host have one.
    identity: Option<Vec<u8>>,
    number: u64,
}

impl Done {
    fn of(item: &[u8]) -> Self {
        let (identity, number) = item.split_at(item.len() - size_of::<u64>());
        Self {
            identity: (identity.len() == JobId::LEN).then(|| identity.to_vec()),
            number: u64::from_le_bytes(number.try_into().unwrap()),
        }
    }
}

/// Consumes items, in an endless loop.
async fn consume(mut receiver: Receiver, done: mpsc::Sender<Done>) {
    loop {
        match receiver.recv_async().await {
            // As a program that is stopped.
            Ok(item) if sim::random() % STOPS == 0 => {
                item.put_back();
                sleep(LOOK).await;
            }
            Ok(item) => _ = done.send(Done::of(&item)).await,
            // The gateway is dead, and will start again.
            Err(RecvError::Disconnected) => sleep(LOOK).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// The items with which consumers are done.
#[derive(Default)]
struct Items {
    /// The identity of each, if it has one.
    identities: BTreeMap<u64, Option<Vec<u8>>>,
    /// Number of times that an item came again.
    repeats: u64,
}

impl Items {
    fn add(&mut self, done: Done) {
        let Some(known) = self.identities.get(&done.number) else {
            self.identities.insert(done.number, done.identity);
            return;
        };
        self.repeats += 1;
        if let (Some(known), Some(identity)) = (known, &done.identity) {
            assert_eq!(known, identity, "item {} is another one", done.number);
        }
    }

    /// Waits until each item has come.
    async fn all(mut done: mpsc::Receiver<Done>) -> Self {
        let mut items = Self::default();
        while items.identities.len() < SENT as usize {
            items.add(done.recv().await.unwrap());
        }
        // Items that come again would come now.
        while let Ok(Some(again)) = timeout(FAULTS, done.recv()).await {
            items.add(again);
        }
        items
    }

    /// Returns `true` if a consumer of the sending host is done with an item.
    fn has_local(&self) -> bool {
        self.identities.values().any(Option::is_none)
    }
}

/// A queue with one importer.
const QUEUE: Service = Service {
    imports: "identity = true",
    ..Service::new("queue")
};
const TO_BOTH: Service = Service {
    importers: BOTH,
    ..QUEUE
};

/// A network that is bad, but not for as long as an importer is waited for; and gateways that do not stop.
fn short() -> Faults {
    let (least, most) = (Duration::from_millis(200), Duration::from_millis(600));
    let faults = Faults::new().partitions().pauses().losses();
    let faults = faults.interval(Duration::from_secs(1), Duration::from_secs(3));
    faults.length(least, most).until(FAULTS)
}

/// Sends all items, and waits until consumers are done with them. The sending host has a consumer, too, if `is_shared`. Returns
/// `true` if a gateway has started again.
async fn consumed(service: Service, is_shared: bool, faults: Faults) -> (Items, bool) {
    let site = Site::start(service);
    let (done, received) = mpsc::channel(1);
    let mut consumers = JoinSet::new();
    for host in service.importers {
        let to = site.segment(Queue::builder(), host);
        let to = to.max_len(MAX_LEN + JobId::LEN).receiver("r").unwrap();
        consumers.spawn(consume(to, done.clone()));
    }
    let queue = || site.segment(Queue::builder(), "one");
    if is_shared {
        consumers.spawn(consume(queue().receiver("r").unwrap(), done.clone()));
    }
    let from = queue().sender("r").unwrap();
    sim::inject(faults);
    let sends = blitz_io::spawn(send(from));
    let receives = blitz_io::spawn(Items::all(received));
    let sender = sends.await.unwrap();
    // Long after the last fault, no item is lost.
    let items = timeout(FAULTS * 5, receives).await;
    let items = items.expect("an item is lost").unwrap();
    consumers.shutdown().await;
    drop(sender);
    (items, site.has_restarted())
}

async fn lossy(service: Service) {
    let (items, has_restarted) = consumed(service, false, faults()).await;
    sim::sometimes("a gateway starts again", has_restarted);
    sim::sometimes("an item comes again", items.repeats > 0);
}

async fn shared(service: Service) {
    let (items, has_restarted) = consumed(service, true, faults()).await;
    sim::sometimes("a gateway starts again", has_restarted);
    sim::sometimes("an item stays on its host", items.has_local());
    let leaves = items.identities.values().any(Option::is_some);
    sim::sometimes("an item leaves its host", leaves);
}

async fn exact(service: Service) {
    let (items, has_restarted) = consumed(service, true, short()).await;
    assert!(!has_restarted);
    assert_eq!(items.repeats, 0, "an item comes again");
}

fn check<F: Future<Output = ()> + 'static>(runs: u64, run: impl Fn() -> F + 'static) {
    let builder = Builder::new().seeds(runs).max_time(FAULTS * 10).from_env();
    let report = builder.run(run);
    assert!(report.never().is_empty(), "{report:?}");
}

#[test]
fn no_item_is_lost() {
    check(RUNS, || lossy(QUEUE));
}

#[test]
fn no_item_is_lost_between_two_importers() {
    check(RUNS, || lossy(TO_BOTH));
}

#[test]
fn no_item_is_lost_beside_a_local_consumer() {
    check(RUNS, || shared(TO_BOTH));
}

#[test]
fn no_item_comes_twice_if_no_gateway_is_lost() {
    check(RUNS, || exact(TO_BOTH));
}

#[test]
#[ignore = "takes minutes"]
fn no_item_is_lost_in_many_runs() {
    check(MANY, || lossy(QUEUE));
}

#[test]
#[ignore = "takes minutes"]
fn no_item_is_lost_between_two_importers_in_many_runs() {
    check(MANY, || lossy(TO_BOTH));
}

#[test]
#[ignore = "takes minutes"]
fn no_item_is_lost_beside_a_local_consumer_in_many_runs() {
    check(MANY, || shared(TO_BOTH));
}

#[test]
#[ignore = "takes minutes"]
fn no_item_comes_twice_in_many_runs_if_no_gateway_is_lost() {
    check(MANY, || exact(TO_BOTH));
}
