//! Routes: each message once and in order, or a gap in its place.

use std::time::Duration;

use blitz_io::ipc::{Receiver, RecvError, Route, Sender};
use blitz_io::sim::{self, Builder};
use blitz_io::time::{Instant, sleep, timeout, timeout_at};

use crate::site::{BOTH, FAULTS, LONG, LOOK, Service, Site, faults};

/// Number of messages.
const SENT: u64 = 120;
/// The longest time between two messages, in milliseconds.
const LONGEST: u64 = 200;
/// The number of runs that gate a change.
const RUNS: u64 = 100;
/// The number of runs that are repeated.
const TWICE: u64 = 10;
/// The number of runs of each test that takes minutes.
const MANY: u64 = 2_500;

/// Sends all messages. Returns the sender: the messages in the ring are the sender's to keep.
pub async fn send(mut sender: Sender) -> Sender {
    for number in 0..SENT {
        let message = message(number, sender.max_len());
        sender.send_async(&message).await.unwrap();
        sleep(Duration::from_millis(sim::random() % LONGEST)).await;
    }
    sender
}

/// The message with this number: 8 bytes, and more that follow from them.
fn message(number: u64, longest: usize) -> Vec<u8> {
    let len = 8 + number as usize * 37 % (longest - 7);
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((8..len).map(|at| (number as usize * 31 + at * 7) as u8));
    bytes
}

/// The messages that a receiver has heard of.
#[derive(Default)]
pub struct Receipt {
    pub received: u64,
    pub missing: u64,
}

/// Receives until each message has arrived or is in a gap: each in its place.
pub async fn receive(mut receiver: Receiver) -> Receipt {
    let mut receipt = Receipt::default();
    let longest = receiver.max_len();
    while receipt.received + receipt.missing < SENT {
        match receiver.recv_async().await {
            Ok(received) => {
                let expected = message(receipt.received + receipt.missing, longest);
                assert_eq!(*received, *expected, "another message");
                receipt.received += 1;
            }
            Err(RecvError::Gap(count)) => receipt.missing += count,
            // The gateway is dead, and will start again.
            Err(RecvError::Disconnected) => sleep(LOOK).await,
            Err(error) => panic!("{error}"),
        }
    }
    receipt
}

/// A route with short messages and one importer.
pub const ROUTE: Service = Service {
    exports: "policy = 'block'",
    ..Service::new("route")
};
const WITH_DROP: Service = Service {
    exports: "policy = 'drop'",
    ..ROUTE
};
const TO_BOTH: Service = Service {
    importers: BOTH,
    ..ROUTE
};
/// Its long messages travel in pieces.
pub const IN_PIECES: Service = Service {
    max_len: LONG,
    ..ROUTE
};

async fn run(service: Service) {
    let site = Site::start(service);
    let receiver = |host: &&str| site.segment(Route::builder(), host).receiver("r").unwrap();
    let receivers: Vec<Receiver> = service.importers.iter().map(receiver).collect();
    let from = site.segment(Route::builder(), "one").sender("r").unwrap();
    let connected = timeout(FAULTS, site.connected()).await;
    connected.expect("the gateways do not find each other");
    sim::inject(faults());
    let sends = blitz_io::spawn(send(from));
    let receive = |receiver| blitz_io::spawn(receive(receiver));
    let receives: Vec<_> = receivers.into_iter().map(receive).collect();
    let sender = sends.await.unwrap();
    sim::sometimes("a gateway starts again", site.has_restarted());
    // Long after the last fault, each loss is reported.
    let end = Instant::now() + FAULTS * 5;
    for receipt in receives {
        let receipt = timeout_at(end, receipt).await;
        let receipt = receipt.expect("a loss is not reported").unwrap();
        assert_eq!(receipt.received + receipt.missing, SENT);
        sim::sometimes("a message is lost", receipt.missing > 0);
        // With `drop`, a message that another one overtakes is lost.
        let few = if service.exports == WITH_DROP.exports {
            SENT / 10
        } else {
            0
        };
        sim::sometimes("nothing or little is lost", receipt.missing <= few);
    }
    drop(sender);
}

fn check(service: Service, runs: u64) {
    let builder = Builder::new().seeds(runs).max_time(FAULTS * 10).from_env();
    let report = builder.run(move || run(service));
    assert!(report.never().is_empty(), "{report:?}");
}

#[test]
fn each_loss_is_reported_and_nothing_comes_twice_with_the_policy_block() {
    check(ROUTE, RUNS);
}

#[test]
fn each_loss_is_reported_and_nothing_comes_twice_with_the_policy_drop() {
    check(WITH_DROP, RUNS);
}

#[test]
fn each_loss_is_reported_to_both_importers() {
    check(TO_BOTH, RUNS);
}

#[test]
fn each_loss_is_reported_of_messages_in_pieces() {
    check(IN_PIECES, RUNS);
}

#[test]
fn a_seed_decides_about_a_run() {
    let builder = Builder::new().seeds(TWICE).check_determinism(true);
    builder.from_env().run(|| run(ROUTE));
}

#[test]
#[ignore = "takes minutes"]
fn each_loss_is_reported_in_many_runs_with_the_policy_block() {
    check(ROUTE, MANY);
}

#[test]
#[ignore = "takes minutes"]
fn each_loss_is_reported_in_many_runs_with_the_policy_drop() {
    check(WITH_DROP, MANY);
}

#[test]
#[ignore = "takes minutes"]
fn each_loss_is_reported_to_both_importers_in_many_runs() {
    check(TO_BOTH, MANY);
}

#[test]
#[ignore = "takes minutes"]
fn each_loss_is_reported_of_messages_in_pieces_in_many_runs() {
    check(IN_PIECES, MANY);
}
