//! Queues.

use std::collections::{BTreeSet, HashMap};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use blitz_io::ipc::{Queue, Receiver, RecvError, Sender};
use blitz_io_gateway::wire::JobId;

use crate::host::{Host, MAX_LEN, Stop, free_port, message, number_of, tcp};

const LIMITS: &str = "[limits]\nlost-after-ms = 2000\n";
const EXPORT: &str = "[[export]]\nkind = 'queue'\nname = 'jobs'\n";
const IMPORT: &str = "[[import]]\nkind = 'queue'\nname = 'jobs'\n";
/// An import that makes a segment with one place, of [`MAX_LEN`] bytes.
const ONE_PLACE: &str = "max-len = 1008\ncapacity = 1\n";

fn consumer(host: &Host) -> Receiver {
    host.builder(Queue::builder()).receiver("jobs").unwrap()
}

/// Two hosts, a sender of 40 items on the first, and a consumer on the second, which has not taken its
/// first item yet.
fn forty(import: &str) -> (Host, Host, Sender, Receiver) {
    let port = free_port();
    let one = Host::start("one", &tcp(port), &[], &format!("{LIMITS}{EXPORT}"));
    let two = Host::start("two", &[], &tcp(port), &format!("{LIMITS}{IMPORT}{import}"));
    let place = two.builder(Queue::builder());
    let place = if import.is_empty() {
        place
    } else {
        place.capacity(1)
    };
    let remote = place.receiver("jobs").unwrap();
    let mut sender = one.builder(Queue::builder()).sender("jobs").unwrap();
    one.until_status(&["export", "jobs"]);
    two.until_status(&["import", "jobs"]);
    // All workers of the exporting gateway hear that there is room, and wait for items.
    thread::sleep(Duration::from_millis(500));
    for number in 0..40 {
        sender.send(&message(number)).unwrap();
    }
    (one, two, sender, remote)
}

/// A host with room for one item gets one, and not the workers of the gateway one each besides.
#[test]
fn items_without_a_place_elsewhere_stay_for_local_consumers() {
    let (one, _two, _sender, mut remote) = forty(ONE_PLACE);
    // It is never done with it.
    let busy = remote.recv().unwrap();
    let mut local = consumer(&one);
    let mut found = BTreeSet::from([number_of(&busy)]);
    while found.len() < 40 {
        found.insert(number_of(&local.recv().unwrap()));
    }
}

/// No consumer is done with any of 40 items when the exporting gateway stops: all are still there.
fn stops(stop: Stop, import: &str, is_other_dead: bool) {
    let (mut one, mut two, sender, mut remote) = forty(import);
    let _busy = remote.recv().unwrap();
    if is_other_dead {
        two.stop(Stop::Kill);
    }
    one.stop(stop);
    let mut local = consumer(&one);
    // Now the end of the queue shows that no item is left.
    drop(sender);
    let mut found = BTreeSet::new();
    let end = loop {
        match local.recv() {
            Ok(item) => found.insert(number_of(&item)),
            Err(error) => break error,
        };
    };
    assert_eq!(end, RecvError::Disconnected);
    assert_eq!(found, (0..40).collect(), "{stop:?}");
}

#[test]
fn a_gateway_that_stops_consumes_no_item() {
    for stop in Stop::ALL {
        for import in ["", ONE_PLACE] {
            stops(stop, import, false);
        }
    }
}

#[test]
fn a_gateway_that_stops_consumes_no_item_of_a_dead_host() {
    for stop in Stop::ALL {
        stops(stop, "", true);
    }
}

/// The sender leaves, so that only the gateway keeps the segment, and the consumer takes its time.
#[test]
fn a_gateway_alone_keeps_items_that_are_not_confirmed() {
    let (_one, _two, sender, mut remote) = forty(ONE_PLACE);
    let first = remote.recv().unwrap();
    let mut found = BTreeSet::from([number_of(&first)]);
    drop(sender);
    // Longer than `lost-after-ms`, after which a gateway leaves that has nothing to do.
    thread::sleep(Duration::from_secs(4));
    drop(first);
    while found.len() < 40 {
        found.insert(number_of(&remote.recv().unwrap()));
    }
}

/// Every item is done by a consumer of one of two hosts, though the gateways of all three are stopped
/// in each way; an item that comes again has the same identity.
#[test]
fn every_item_is_consumed_somewhere() {
    let port = free_port();
    let import = &format!("{LIMITS}{IMPORT}identity = true\n");
    let mut hosts = [
        Host::start("one", &tcp(port), &[], &format!("{LIMITS}{EXPORT}")),
        Host::start("two", &[], &tcp(port), import),
        Host::start("three", &[], &tcp(port), import),
    ];
    let (done, finished) = mpsc::channel();
    for host in &hosts[1..] {
        let builder = host.builder(Queue::builder()).max_len(MAX_LEN + JobId::LEN);
        let (mut receiver, done) = (builder.receiver("jobs").unwrap(), done.clone());
        thread::spawn(move || {
            loop {
                match receiver.recv() {
                    Ok(item) => {
                        let (id, item) = JobId::split(&item).unwrap();
                        if done.send((id, number_of(item))).is_err() {
                            return;
                        }
                    }
                    Err(RecvError::Disconnected) => thread::sleep(Duration::from_millis(1)),
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    let sent = 600;
    let mut sender = hosts[0].builder(Queue::builder()).sender("jobs").unwrap();
    let sends = thread::spawn(move || {
        for number in 0..sent {
            sender.send(&message(number)).unwrap();
        }
        sender
    });
    let (mut ids, mut numbers) = (HashMap::new(), HashMap::new());
    let mut stops = 0;
    while numbers.len() < sent as usize {
        let (id, number) = finished.recv().unwrap();
        assert_eq!(
            *ids.entry(id).or_insert(number),
            number,
            "one identity, two items"
        );
        assert_eq!(
            *numbers.entry(number).or_insert(id),
            id,
            "one item, two identities"
        );
        // Each host in each way.
        if stops < 9 && numbers.len() > 60 * (stops + 1) {
            let (host, stop) = (&mut hosts[stops % 3], Stop::in_round(stops as u64 / 3));
            host.stop(stop);
            host.resume(stop);
            stops += 1;
        }
    }
    assert_eq!(stops, 9);
    drop(sends.join().unwrap());
}
