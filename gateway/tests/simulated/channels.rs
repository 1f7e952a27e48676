//! Channels: the messages of each host once and in order, or a gap that counts those that are missing.
//!
//! A gap does not tell whose messages are missing. So a receiver compares sums: at each message, the messages that it has not
//! heard of are counted in gaps.

use std::collections::BTreeMap;

use blitz_io::ipc::{Channel, Receiver, RecvError, Sender};
use blitz_io::sim::{self, Builder};
use blitz_io::task::JoinHandle;
use blitz_io::time::{Duration, Instant, sleep, sleep_until, timeout, timeout_at};

use crate::site::{BOTH, CAPACITY, FAULTS, Hosts, LONG, LOOK, Service, Site, faults};

/// Number of messages of each sender, before the last one.
const SENT: u64 = 60;
/// The longest time between two messages, in milliseconds.
const LONGEST: u64 = 400;
/// Number of messages that a large ring holds: more than there are in a run.
const LARGE: usize = 512;
/// Number of messages that a small ring holds.
const SMALL: usize = 2;
/// The number of runs that gate a change.
const RUNS: u64 = 40;
/// The number of runs of a test that takes minutes.
const MANY: u64 = 2_000;

/// A message: its sender, and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sent {
    /// The number of the host.
    host: u8,
    /// The number of the sender on it.
    sender: u8,
    number: u64,
}

impl Sent {
    /// Returns the bytes: 10, and more that follow from them.
    fn bytes(self, longest: usize) -> Vec<u8> {
        let number = self.number as usize + usize::from(self.sender) * 11;
        let len = 10 + number * 37 % (longest - 9);
        let mut bytes = vec![self.host, self.sender];
        bytes.extend(self.number.to_le_bytes());
        bytes.extend((10..len).map(|at| (number * 31 + at * 7) as u8));
        bytes
    }

    /// Reads the bytes, and requires that they are whole.
    fn of(bytes: &[u8], longest: usize) -> Self {
        let sent = Self {
            host: bytes[0],
            sender: bytes[1],
            number: u64::from_le_bytes(bytes[2..10].try_into().unwrap()),
        };
        assert_eq!(*bytes, *sent.bytes(longest), "another message");
        sent
    }
}

/// Sends all messages, and the last one long after the last fault. Returns the sender: the messages in the ring are the
/// sender's to keep.
async fn send(mut sender: Sender, host: u8, number: u8) -> Sender {
    let longest = sender.max_len();
    let is_over = Instant::now() + FAULTS * 2;
    for next in 0..=SENT {
        if next == SENT {
            sleep_until(is_over).await;
        }
        let message = Sent {
            host,
            sender: number,
            number: next,
        };
        sender.send_async(&message.bytes(longest)).await.unwrap();
        sleep(Duration::from_millis(sim::random() % LONGEST)).await;
    }
    sender
}

/// A message or a gap, as a receiver gets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heard {
    Message(Sent),
    Gap(u64),
}

/// Returns the next thing that a receiver hears.
async fn hear(receiver: &mut Receiver) -> Heard {
    let longest = receiver.max_len();
    loop {
        match receiver.recv_async().await {
            Ok(bytes) => return Heard::Message(Sent::of(&bytes, longest)),
            Err(RecvError::Gap(count)) => return Heard::Gap(count),
            // The gateway is dead, and will start again.
            Err(RecvError::Disconnected) => sleep(LOOK).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Receives until this many messages have come or are missing.
async fn hear_of(mut receiver: Receiver, count: u64) -> Vec<Heard> {
    let (mut all, mut heard_of) = (Vec::new(), 0);
    while heard_of < count {
        let heard = hear(&mut receiver).await;
        heard_of += match heard {
            Heard::Message(_) => 1,
            Heard::Gap(missing) => missing,
        };
        all.push(heard);
    }
    all
}

fn receiver(site: &Site, host: &str, capacity: usize) -> Receiver {
    let channel = site.segment(Channel::builder(), host).capacity(capacity);
    channel.receiver("r").unwrap()
}

fn sender(site: &Site, host: &str, capacity: usize) -> Sender {
    let channel = site.segment(Channel::builder(), host).capacity(capacity);
    channel.sender("r").unwrap()
}

/// Waits until the gateways are connected, and begins the faults.
async fn begin(site: &Site) {
    let connected = timeout(FAULTS, site.connected()).await;
    connected.expect("the gateways do not find each other");
    sim::inject(faults());
}

/// Waits for a result that must come long after the last fault.
async fn settled<T>(receives: JoinHandle<T>) -> T {
    let received = timeout_at(Instant::now() + FAULTS * 5, receives).await;
    received.expect("a loss is not reported").unwrap()
}

/// A channel with short messages and one importer.
const CHANNEL: Service = Service {
    exports: "policy = 'block'",
    ..Service::new("channel")
};
const WITH_DROP: Service = Service {
    exports: "policy = 'drop'",
    ..CHANNEL
};
const TO_BOTH: Service = Service {
    importers: BOTH,
    ..CHANNEL
};
/// Its long messages travel in pieces.
const IN_PIECES: Service = Service {
    max_len: LONG,
    ..CHANNEL
};

/// The messages of two senders of one host: the order in which a receiver of that host hears them is the order for all.
async fn two_senders(service: Service) {
    let site = Site::start(service);
    let (host, capacity) = ("one", CAPACITY);
    let witness = receiver(&site, host, capacity);
    let receivers = service.importers.iter();
    let receivers: Vec<Receiver> = receivers.map(|it| receiver(&site, it, capacity)).collect();
    let senders = [0, 1].map(|number| (number, sender(&site, host, capacity)));
    begin(&site).await;
    let all = 2 * (SENT + 1);
    let sends = senders.map(|(number, sender)| blitz_io::spawn(send(sender, 0, number)));
    let witnesses = blitz_io::spawn(hear_of(witness, all));
    let receives = receivers.into_iter();
    let receives: Vec<_> = receives
        .map(|receiver| blitz_io::spawn(hear_of(receiver, all)))
        .collect();
    let mut senders = Vec::new();
    for sends in sends {
        senders.push(sends.await.unwrap());
    }
    sim::sometimes("a gateway starts again", site.has_restarted());
    let order = settled(witnesses).await;
    for receives in receives {
        let (mut rest, mut missing) = (order.iter(), 0);
        for heard in settled(receives).await {
            match heard {
                Heard::Message(_) => assert_eq!(rest.next(), Some(&heard)),
                Heard::Gap(count) => {
                    missing += count;
                    assert!(rest.nth(count as usize - 1).is_some(), "a gap is too large");
                }
            }
        }
        assert_eq!(rest.next(), None);
        sim::sometimes("a message is lost", missing > 0);
        // With `drop`, a message that another one overtakes is lost.
        let few = if service.exports == WITH_DROP.exports {
            all / 10
        } else {
            0
        };
        sim::sometimes("nothing or little is lost", missing <= few);
    }
}

/// The messages of several hosts, as one receiver hears them.
#[derive(Default, Debug)]
struct Account {
    /// By host: the number of messages, and the number of the next one.
    hosts: BTreeMap<u8, (u64, u64)>,
    /// Number of messages in gaps.
    missing: u64,
    /// The most messages that were missing and not yet in a gap.
    unreported: u64,
}

impl Account {
    /// Returns the number of messages that have not come, and before which others have come.
    fn lost(&self) -> u64 {
        self.hosts.values().map(|(count, next)| next - count).sum()
    }

    fn add(&mut self, sent: Sent) {
        let (count, next) = self.hosts.entry(sent.host).or_default();
        assert!(sent.number >= *next, "{sent:?} comes twice, or late");
        (*count, *next) = (*count + 1, sent.number + 1);
        let unreported = self.lost().saturating_sub(self.missing);
        self.unreported = self.unreported.max(unreported);
    }

    /// Receives until the last message of each of these hosts has come.
    async fn receive(mut receiver: Receiver, hosts: usize) -> Self {
        let (mut account, mut ended) = (Self::default(), 0);
        while ended < hosts {
            match hear(&mut receiver).await {
                Heard::Message(sent) => {
                    ended += usize::from(sent.number == SENT);
                    account.add(sent);
                }
                Heard::Gap(count) => account.missing += count,
            }
        }
        account
    }
}

/// Two hosts export, and the third imports from both.
const FROM_BOTH: Service = Service {
    exporters: &["one", "three"],
    ..CHANNEL
};

/// The ring of the importing host has room for so many messages.
async fn from_both(room: usize) {
    let site = Site::start(FROM_BOTH);
    let capacity = CAPACITY;
    let to = receiver(&site, "two", room);
    let senders = FROM_BOTH.exporters.iter().enumerate();
    let senders: Vec<_> = senders
        .map(|(number, host)| (number as u8, sender(&site, host, capacity)))
        .collect();
    begin(&site).await;
    let receives = blitz_io::spawn(Account::receive(to, senders.len()));
    let sends = senders.into_iter();
    let sends: Vec<_> = sends
        .map(|(number, sender)| blitz_io::spawn(send(sender, number, 0)))
        .collect();
    let account = settled(receives).await;
    assert_eq!(account.unreported, 0, "{account:?}");
    assert_eq!(account.lost(), account.missing, "{account:?}");
    sim::sometimes("a gateway starts again", site.has_restarted());
    sim::sometimes("a message is lost", account.missing > 0);
    sim::sometimes("nothing is lost", account.missing == 0);
    for sends in sends {
        drop(sends.await.unwrap());
    }
}

/// Each host exports and imports.
const BOTH_WAYS: Service = Service {
    exporters: &["one", "two"],
    importers: &["one", "two"],
    ..CHANNEL
};

/// No loss is unreported, if the ring still has the message that a dead gateway delivered last. A gap may
/// count imported messages, too, if a gateway has started again or was lost.
async fn both_ways(capacity: usize) {
    let hosts: Hosts = BOTH_WAYS.exporters;
    let site = Site::start(BOTH_WAYS);
    let ends = hosts.iter().enumerate();
    let ends: Vec<_> = ends
        .map(|(number, host)| {
            let receiver = receiver(&site, host, capacity);
            (number as u8, receiver, sender(&site, host, capacity))
        })
        .collect();
    begin(&site).await;
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for (number, receiver, sender) in ends {
        sends.push(blitz_io::spawn(send(sender, number, 0)));
        receives.push(blitz_io::spawn(Account::receive(receiver, hosts.len())));
    }
    for ((own, host), receives) in hosts.iter().enumerate().zip(receives) {
        let account = settled(receives).await;
        let (count, next) = account.hosts[&(own as u8)];
        assert_eq!(count, next, "a message of the same host is lost");
        let overwritten = if capacity == LARGE {
            0
        } else {
            site.restarts(host)
        };
        assert!(account.unreported <= overwritten, "{account:?}");
        let excess = account.missing.saturating_sub(account.lost());
        // Each imported message has a place, and so has each of its gaps.
        assert!(excess <= 2 * (SENT + 1), "{account:?}");
        sim::sometimes("a message is lost", account.lost() > 0);
        sim::sometimes("nothing is lost", account.lost() == 0);
    }
    sim::sometimes("a gateway starts again", site.has_restarted());
    for sends in sends {
        drop(sends.await.unwrap());
    }
}

/// Rings and windows are full on both hosts at the same time.
const NARROW: Service = Service {
    window: 2 << 10,
    ..BOTH_WAYS
};

/// Sends all messages, as fast as there is room.
async fn flood(mut sender: Sender, host: u8, number: u8) -> Sender {
    let longest = sender.max_len();
    for next in 0..=SENT {
        let message = Sent {
            host,
            sender: number,
            number: next,
        };
        sender.send_async(&message.bytes(longest)).await.unwrap();
    }
    sender
}

async fn floods() {
    let site = Site::start(NARROW);
    let capacity = CAPACITY;
    let mut ends = Vec::new();
    for (host, name) in NARROW.exporters.iter().enumerate() {
        let receiver = receiver(&site, name, capacity);
        let senders = [0, 1, 2].map(|number| (number, sender(&site, name, capacity)));
        ends.push((host as u8, receiver, senders));
    }
    let connected = timeout(FAULTS, site.connected()).await;
    connected.expect("the gateways do not find each other");
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for (host, receiver, senders) in ends {
        for (number, sender) in senders {
            sends.push(blitz_io::spawn(flood(sender, host, number)));
        }
        receives.push(blitz_io::spawn(hear_of(receiver, 2 * 3 * (SENT + 1))));
    }
    for receives in receives {
        let mut next = BTreeMap::new();
        for heard in settled(receives).await {
            if let Heard::Message(sent) = heard {
                let next = next.entry((sent.host, sent.sender)).or_default();
                assert!(sent.number >= *next, "{sent:?} comes twice, or late");
                *next = sent.number + 1;
            }
        }
    }
    for sends in sends {
        drop(sends.await.unwrap());
    }
}

fn check<F: Future<Output = ()> + 'static>(runs: u64, run: impl Fn() -> F + 'static) {
    let builder = Builder::new().seeds(runs).max_time(FAULTS * 10).from_env();
    let report = builder.run(run);
    assert!(report.never().is_empty(), "{report:?}");
}

#[test]
fn all_receivers_hear_two_senders_in_one_order() {
    check(RUNS, || two_senders(CHANNEL));
}

#[test]
fn all_receivers_hear_two_senders_in_one_order_with_the_policy_drop() {
    check(RUNS, || two_senders(WITH_DROP));
}

#[test]
fn all_receivers_hear_two_senders_in_one_order_on_two_hosts() {
    check(RUNS, || two_senders(TO_BOTH));
}

#[test]
fn all_receivers_hear_two_senders_in_one_order_in_pieces() {
    check(RUNS, || two_senders(IN_PIECES));
}

#[test]
fn each_loss_of_two_hosts_is_reported() {
    check(RUNS, || from_both(CAPACITY));
}

/// The messages of one host soon use the places again that show what became of those of the other.
#[test]
fn each_loss_of_two_hosts_is_reported_in_a_small_ring() {
    check(RUNS, || from_both(SMALL));
}

#[test]
fn each_loss_is_reported_both_ways() {
    check(RUNS, || both_ways(LARGE));
}

#[test]
fn nothing_comes_twice_both_ways_in_a_small_ring() {
    check(RUNS, || both_ways(CAPACITY));
}

#[test]
fn two_hosts_do_not_wait_for_each_other() {
    check(RUNS / 4, floods);
}

#[test]
#[ignore = "takes minutes"]
fn all_receivers_hear_two_senders_in_one_order_in_many_runs() {
    check(MANY, || two_senders(CHANNEL));
}

#[test]
#[ignore = "takes minutes"]
fn all_receivers_hear_two_senders_in_one_order_in_many_runs_with_the_policy_drop() {
    check(MANY / 2, || two_senders(WITH_DROP));
}

#[test]
#[ignore = "takes minutes"]
fn all_receivers_hear_two_senders_in_one_order_on_two_hosts_in_many_runs() {
    check(MANY / 2, || two_senders(TO_BOTH));
}

#[test]
#[ignore = "takes minutes"]
fn all_receivers_hear_two_senders_in_one_order_in_pieces_in_many_runs() {
    check(MANY / 2, || two_senders(IN_PIECES));
}

#[test]
#[ignore = "takes minutes"]
fn each_loss_of_two_hosts_is_reported_in_many_runs() {
    check(MANY, || from_both(CAPACITY));
}

#[test]
#[ignore = "takes minutes"]
fn each_loss_of_two_hosts_is_reported_in_a_small_ring_in_many_runs() {
    check(MANY / 2, || from_both(SMALL));
}

#[test]
#[ignore = "takes minutes"]
fn each_loss_is_reported_both_ways_in_many_runs() {
    check(MANY, || both_ways(LARGE));
}

#[test]
#[ignore = "takes minutes"]
fn nothing_comes_twice_both_ways_in_a_small_ring_in_many_runs() {
    check(MANY / 2, || both_ways(CAPACITY));
}
