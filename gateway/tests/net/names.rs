//! Several gateways that have one name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use blitz_io::ipc::RecvError;

use crate::host::{Host, Receipt, count, free_port, message, number_of, tcp};

const EXPORT: &str = "[[export]]\nkind = 'route'\nname = 'r'\npolicy = 'block'\n";
const IMPORT: &str = "[[import]]\nkind = 'route'\nname = 'r'\n";

/// Sends half of the messages, calls `between`, and sends the others. Every one must arrive.
fn flow(from: &Host, to: &Host, between: impl FnOnce()) {
    let receiver = to.route_receiver("r");
    let mut sender = from.route_sender("r");
    from.until_status(&["export", "r", to.name]);
    let sent = 10_000;
    let progress = Arc::new(AtomicU64::new(0));
    let counted = count(receiver, sent, progress.clone());
    let mut send = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            sender.send(&message(number)).unwrap();
        }
    };
    send(0..sent / 2);
    while progress.load(Ordering::Relaxed) < sent / 2 {
        thread::sleep(Duration::from_millis(1));
    }
    between();
    send(sent / 2..sent);
    let all = Receipt {
        received: sent,
        missing: 0,
    };
    assert_eq!(counted.join().unwrap(), all);
}

/// The second one silenced the first one, and every status said `ok`.
#[test]
fn a_second_exporter_of_a_name_is_refused_and_shown() {
    let port = free_port();
    let two = Host::start("two", &tcp(port), &[], IMPORT);
    let one = Host::start("one", &[], &tcp(port), EXPORT);
    let other = Host::new("one");
    // Made after the import has begun.
    let mut others = None;
    flow(&one, &two, || {
        let other = other.run(&[], &tcp(port), EXPORT);
        let mut sender = other.route_sender("r");
        // Both ends tell.
        two.until_status(&["import", "r", "one", "refused"]);
        other.until_status(&["export", "r", "two", "another"]);
        // It has no receiver, so it does not wait. These messages are more than the ring holds.
        for number in 0..5000 {
            sender.send(&message(number)).unwrap();
        }
        others = Some((other, sender));
    });
    one.until_status(&["export", "r", "two", "ok"]);
}

/// Each acknowledged what the other one had not received, and every status said `ok`.
#[test]
fn a_second_importer_of_a_name_is_refused_and_shown() {
    let port = free_port();
    let one = Host::start("one", &tcp(port), &[], EXPORT);
    let two = Host::start("two", &[], &tcp(port), IMPORT);
    let mut others = None;
    flow(&one, &two, || {
        let other = Host::start("two", &[], &tcp(port), IMPORT);
        let receiver = other.route_receiver("r");
        one.until_status(&["export", "r", "two", "refused"]);
        others = Some((other, receiver));
    });
}

/// A gateway that has lost its records proves nothing. The importer takes up its run after `lost-after-ms`.
#[test]
fn a_gateway_without_its_records_is_heard_after_a_while() {
    let port = free_port();
    let limits = "[limits]\nlost-after-ms = 1000\n";
    let mut one = Host::start("one", &tcp(port), &[], &format!("{limits}{EXPORT}"));
    let two = Host::start("two", &[], &tcp(port), &format!("{limits}{IMPORT}"));
    let (mut sender, mut receiver) = (one.route_sender("r"), two.route_receiver("r"));
    one.until_status(&["export", "r", "two"]);
    sender.send(&message(1)).unwrap();
    assert_eq!(number_of(&receiver.recv().unwrap()), 1);
    one.kill_gateway();
    std::fs::remove_dir_all(one.directory().join("gateway")).unwrap();
    one.start_gateway();
    // The importer knows the run before, and does not acknowledge this one until it has given that up.
    one.until_status(&["export", "r", "two", "ok"]);
    sender.send(&message(2)).unwrap();
    loop {
        match receiver.recv() {
            Ok(message) => {
                assert_eq!(number_of(&message), 2);
                break;
            }
            // No gateway has sent here for a while.
            Err(RecvError::Disconnected) => thread::sleep(Duration::from_millis(1)),
            Err(error) => panic!("{error}"),
        }
    }
}
