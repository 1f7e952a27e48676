//! Several hosts in network namespaces. The first one exports, and the others import.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use blitz_io::ipc::{SendError, Sender};
use blitz_io_gateway::wire::PIECE;

use crate::host::{Host, Receipt, Stop, carry, count, message, number_of};
use crate::hostile::Authority;
use crate::lossy::Lossy;
use crate::namespace::Network;

const EXPORT: &str = "[[export]]\nkind = 'route'\nname = 'r'\npolicy = 'block'\n";
const IMPORT: &str = "[[import]]\nkind = 'route'\nname = 'r'\n";
/// The gateways no longer wait for a host that they have not heard for two seconds.
const SOON_LOST: &str = "[limits]\nlost-after-ms = 2000\n";
const NAMES: [&str; 4] = ["one", "two", "three", "four"];

/// A host of the network, which connects to the first one.
fn host(network: &Network, number: usize, rules: &str) -> Host {
    let (listen, connect) = if number == 0 {
        (Network::tcp(0), vec![])
    } else {
        (vec![], Network::tcp(0))
    };
    Host::new(NAMES[number])
        .within(&network.hosts[number])
        .run(&listen, &connect, rules)
}

/// One host that exports and two that import.
fn three(network: &Network, limits: &str) -> [Host; 3] {
    [EXPORT, IMPORT, IMPORT]
        .map(|rule| format!("{limits}{rule}"))
        .iter()
        .enumerate()
        .map(|(number, rules)| host(network, number, rules))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_else(|_| unreachable!("there are three rules"))
}

/// A flow of messages from the first host to others.
struct Flow {
    sent: u64,
    progress: Vec<Arc<AtomicU64>>,
    counted: Vec<JoinHandle<Receipt>>,
    sends: JoinHandle<Sender>,
}

impl Flow {
    /// Starts it when all receivers are known. The sender pauses after this many messages.
    fn start(from: &Host, to: &[&Host], sent: u64, pause_every: u64) -> Self {
        let receivers: Vec<_> = to.iter().map(|host| host.route_receiver("r")).collect();
        let mut sender = from.route_sender("r");
        for host in to {
            from.until_status(&["export", "r", host.name]);
        }
        let progress: Vec<Arc<AtomicU64>> = to.iter().map(|_| Arc::default()).collect();
        let counted = receivers
            .into_iter()
            .zip(&progress)
            .map(|(receiver, progress)| count(receiver, sent, progress.clone()));
        let counted = counted.collect();
        let sends = thread::spawn(move || {
            for number in 0..sent {
                sender.send(&message(number)).unwrap();
                if number % pause_every == pause_every - 1 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            // Dropped only when the test ends: the segment's messages are the sender's to keep.
            sender
        });
        Self {
            sent,
            progress,
            counted,
            sends,
        }
    }

    /// Waits until a receiver has reached this message.
    fn until(&self, receiver: usize, number: u64) {
        while self.progress[receiver].load(Ordering::Relaxed) < number {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for the end. Returns what each has received; `count` has compared the sums.
    fn end(self) -> Vec<Receipt> {
        let _sender = self.sends.join().unwrap();
        let receipts: Vec<_> = self
            .counted
            .into_iter()
            .map(|counted| counted.join().unwrap())
            .collect();
        eprintln!("sent {}: {receipts:?}", self.sent);
        receipts
    }
}

fn all_received(receipts: &[Receipt], sent: u64) {
    for receipt in receipts {
        assert_eq!((receipt.received, receipt.missing), (sent, 0));
    }
}

#[test]
fn each_host_receives_every_message() {
    let Some(network) = Network::new(3) else {
        return;
    };
    let [one, two, three] = three(&network, "");
    let flow = Flow::start(&one, &[&two, &three], 30_000, 1000);
    all_received(&flow.end(), 30_000);
}

/// The three gateways are stopped one after the other while messages flow, in each way.
fn stops(rounds: u64) {
    let Some(network) = Network::new(3) else {
        return;
    };
    let mut hosts = three(&network, "");
    let per_round = 2000;
    let sent = per_round * (rounds + 1);
    let flow = Flow::start(&hosts[0], &[&hosts[1], &hosts[2]], sent, 30);
    for round in 0..rounds {
        // At another point of each round, and by the progress of one and the other.
        flow.until(
            (round % 2) as usize,
            round * per_round + round * 761 % per_round,
        );
        let host = &mut hosts[(round * 7 % 3) as usize];
        let stop = Stop::in_round(round / 3);
        host.stop(stop);
        host.resume(stop);
    }
    for receipt in flow.end() {
        assert!(receipt.received > sent / 10, "{receipt:?}");
    }
}

#[test]
fn stopped_gateways_of_three_hosts_lose_nothing_in_silence() {
    stops(12);
}

#[test]
#[ignore = "takes minutes"]
fn gateways_that_are_stopped_200_times_lose_nothing_in_silence() {
    stops(200);
}

#[test]
fn a_killed_router_loses_nothing_with_block() {
    let Some(network) = Network::new(4) else {
        return;
    };
    let mut router = Host::new("router")
        .mode("router")
        .within(&network.hosts[3])
        .run(&Network::tcp(3), &[], "");
    let client = |number: usize, rules| {
        Host::new(NAMES[number])
            .mode("client")
            .within(&network.hosts[number])
            .run(&[], &Network::tcp(3), rules)
    };
    let (one, two, three) = (client(0, EXPORT), client(1, IMPORT), client(2, IMPORT));
    let sent = 20_000;
    let flow = Flow::start(&one, &[&two, &three], sent, 50);
    for round in 1..=4 {
        flow.until(0, round * 4000);
        router.kill_gateway();
        router.start_gateway();
    }
    all_received(&flow.end(), sent);
}

#[test]
fn a_partition_of_5_seconds_loses_nothing_with_block() {
    let Some(network) = Network::new(3) else {
        return;
    };
    let [one, two, three] = three(&network, "");
    let sent = 20_000;
    let flow = Flow::start(&one, &[&two, &three], sent, 100);
    flow.until(0, 3000);
    network.set_link(1, false);
    thread::sleep(Duration::from_secs(5));
    network.set_link(1, true);
    all_received(&flow.end(), sent);
}

/// Longer than `lost-after-ms`: the other host receives everything, and the host that was away gets a
/// report of the messages that it has missed.
#[test]
#[ignore = "takes minutes"]
fn a_partition_of_60_seconds_is_a_gap_for_one_host() {
    let Some(network) = Network::new(3) else {
        return;
    };
    let [one, two, three] = three(&network, "");
    let sent = 200_000;
    let flow = Flow::start(&one, &[&two, &three], sent, 100);
    flow.until(0, 3000);
    network.set_link(1, false);
    thread::sleep(Duration::from_secs(60));
    network.set_link(1, true);
    let receipts = flow.end();
    assert!(receipts[0].missing > 0, "{receipts:?}");
    all_received(&receipts[1..], sent);
}

/// The exporter gives its host up. What the network keeps for it still arrives, and the rest is a gap.
#[test]
fn a_stopped_gateway_does_not_stop_the_others() {
    let Some(network) = Network::new(3) else {
        return;
    };
    let [one, two, three] = three(&network, SOON_LOST);
    let sent = 60_000;
    let flow = Flow::start(&one, &[&two, &three], sent, 100);
    flow.until(0, 3000);
    two.signal("-STOP");
    flow.until(1, sent);
    two.signal("-CONT");
    let receipts = flow.end();
    all_received(&receipts[1..], sent);
}

/// A message of 64 MiB takes five seconds. It is not sent again because it was not acknowledged.
#[test]
fn a_shaped_link_carries_large_and_small_messages_once() {
    let Some(network) = Network::new(2) else {
        return;
    };
    if let Err(error) = network.shape(1, "100mbit") {
        eprintln!("skipped: a link cannot be shaped here: {error}");
        return;
    }
    // Frames that wait for the importer have room, however late it runs.
    let limits = "[limits]\ninbox-bytes = 268435456\n";
    let one = host(&network, 0, EXPORT);
    let two = host(&network, 1, &format!("{limits}{IMPORT}"));
    let lens = [64 << 20, 5, 8 << 20, 0, 1 << 20, PIECE];
    carry(&one, &two, &lens);
    one.until_status(&["export", "r", "two", &lens.len().to_string()]);
    let (frames, repeats) = (lens.iter().sum::<usize>() / PIECE, one.repeats());
    eprintln!("{repeats} of {frames} frames were sent again");
    // None, unless the engine has made the connection anew.
    assert!(repeats < frames as u64 / 2, "{repeats} of {frames}");
}

/// QUIC through a network that delays each datagram by 50 ms and loses one of a hundred.
#[test]
fn a_network_that_loses_datagrams_loses_no_message() {
    let Some(network) = Network::new(2) else {
        return;
    };
    let authority = Authority::new();
    let switch = format!("{}:7447", Network::SWITCH);
    let behind = format!("{}:7447", Network::address(0));
    let lossy = Lossy::start(
        &network.switch,
        switch.parse().unwrap(),
        behind.parse().unwrap(),
    );
    let run = |number: usize, listen: &[String], connect: &[String], rule| {
        Host::new(NAMES[number]).within(&network.hosts[number]).run(
            listen,
            connect,
            &format!("{}{rule}", authority.host(NAMES[number], &NAMES)),
        )
    };
    let one = run(0, &[format!("quic/{behind}")], &[], EXPORT);
    let two = run(1, &[], &[format!("quic/{switch}")], IMPORT);
    let sent = 6000;
    let flow = Flow::start(&one, &[&two], sent, 1000);
    all_received(&flow.end(), sent);
    let [forwarded, lost] =
        [&lossy.forwarded, &lossy.lost].map(|count| count.load(Ordering::Relaxed));
    eprintln!("{lost} of {forwarded} datagrams were lost");
    assert!(lost > 0 && lost < forwarded / 20, "{lost} of {forwarded}");
}

/// Returns the library that shifts a program's clock: Debian's package `libfaketime`.
fn faketime() -> String {
    let processor = std::env::consts::ARCH;
    format!("/usr/lib/{processor}-linux-gnu/faketime/libfaketimeMT.so.1")
}

/// A host joins late, and its clock is a day ahead; that of another one is a day behind.
#[test]
fn clocks_that_differ_by_a_day_change_nothing() {
    let Some(network) = Network::new(3) else {
        return;
    };
    let library = faketime();
    if !Path::new(&library).exists() {
        eprintln!("skipped: {library} is missing; install libfaketime");
        return;
    }
    let shifted = |number: usize, by: &str| {
        let variables = [
            ("LD_PRELOAD", library.clone()),
            ("FAKETIME", by.to_owned()),
            // Clocks that never jump are no calendar, and stay as they are.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        Host::new(NAMES[number])
            .within(&network.hosts[number])
            .environment(&variables)
            .run(&[], &Network::tcp(0), IMPORT)
    };
    let one = host(&network, 0, EXPORT);
    let two = shifted(1, "-1d");
    let sent = 20_000;
    let flow = Flow::start(&one, &[&two], sent, 30);
    flow.until(0, 3000);
    let three = shifted(2, "+1d");
    let mut late = three.route_receiver("r");
    one.until_status(&["export", "r", "three"]);
    // From its first message on, it gets all.
    let first = number_of(&late.recv().unwrap());
    let rest = thread::spawn(move || {
        for number in first + 1..sent {
            assert_eq!(number_of(&late.recv().unwrap()), number);
        }
    });
    all_received(&flow.end(), sent);
    rest.join().unwrap();
    assert!(first >= 3000);
}

#[test]
fn of_two_hosts_that_export_a_route_one_is_refused() {
    let Some(network) = Network::new(3) else {
        return;
    };
    let one = host(&network, 0, EXPORT);
    let three = Host::new("three").within(&network.hosts[2]).run(
        &Network::tcp(2),
        &Network::tcp(0),
        IMPORT,
    );
    let sent = 10_000;
    let flow = Flow::start(&one, &[&three], sent, 50);
    flow.until(0, 1000);
    let two = Host::new("two").within(&network.hosts[1]).run(
        &[],
        &[Network::tcp(0), Network::tcp(2)].concat(),
        EXPORT,
    );
    let mut other = two.route_sender("r");
    two.until_status(&["export", "r"]);
    // The row of the second exporter shows the reason.
    while !three
        .status()
        .lines()
        .any(|line| line.contains("two") && !line.ends_with("ok"))
    {
        _ = other.try_send(b"of the second host");
        thread::sleep(Duration::from_millis(5));
    }
    all_received(&flow.end(), sent);
}

/// A receiver that does not read holds the sender up. Until then the messages fill only the rings and
/// the memory that the limits allow.
#[test]
fn memory_is_bounded_while_a_receiver_does_not_read() {
    let Some(network) = Network::new(2) else {
        return;
    };
    let limits = "[limits]\nwindow-bytes = 1048576\ninbox-bytes = 2097152\n";
    let one = host(&network, 0, &format!("{limits}{EXPORT}"));
    let two = host(&network, 1, &format!("{limits}{IMPORT}"));
    let mut receiver = two.route_receiver("r");
    let mut sender = one.route_sender("r");
    one.until_status(&["export", "r", "two"]);
    sender.send(&message(0)).unwrap();
    receiver.recv().unwrap();
    let before = [one.peak_memory(), two.peak_memory()];
    let mut sent = 1;
    let mut refused = 0;
    // Two seconds without room: nothing moves any more.
    while refused < 400 {
        match sender.try_send(&message(sent)) {
            Ok(()) => (sent, refused) = (sent + 1, 0),
            Err(SendError::Full) => {
                refused += 1;
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("{error}"),
        }
    }
    // Both rings, and the window of messages of 158 bytes on average. A batch and the frames in the
    // engine count as a half of the window.
    let (ring, in_window) = (1024, (1 << 20) / 150);
    assert!(
        sent < 2 * ring + in_window * 3 / 2,
        "{sent} messages had room"
    );
    let after = [one.peak_memory(), two.peak_memory()];
    eprintln!("{sent} messages, memory before {before:?}, after {after:?}");
    for (before, after) in before.into_iter().zip(after) {
        assert!(after - before < 16 << 20, "{before} to {after} bytes");
    }
    for number in 1..sent {
        assert_eq!(number_of(&receiver.recv().unwrap()), number);
    }
}
