//! Queues.

use std::collections::HashMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use blitz_io::ipc::{Queue, RecvError};
use blitz_io_gateway::wire::JobId;

use crate::host::{Host, MAX_LEN, free_port, message, number_of, tcp};

/// Every item is done by a consumer of one of two hosts, though the gateway of one is killed; an
/// item that comes again has the same identity.
#[test]
fn every_item_is_consumed_somewhere() {
    let port = free_port();
    let import = "[limits]\nlost-after-ms = 2000\n[[import]]\nkind = 'queue'\nname = 'jobs'\nidentity = true\n";
    let export = "[limits]\nlost-after-ms = 2000\n[[export]]\nkind = 'queue'\nname = 'jobs'\n";
    let one = Host::start("one", &tcp(port), &[], export);
    let mut workers = [
        Host::start("two", &[], &tcp(port), import),
        Host::start("three", &[], &tcp(port), import),
    ];
    let (done, finished) = mpsc::channel();
    for host in &workers {
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
    let mut sender = one.builder(Queue::builder()).sender("jobs").unwrap();
    let sends = thread::spawn(move || {
        for number in 0..sent {
            sender.send(&message(number)).unwrap();
        }
        sender
    });
    let (mut ids, mut numbers) = (HashMap::new(), HashMap::new());
    let mut kills = 0;
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
        if kills < 3 && numbers.len() > 100 * (kills + 1) {
            workers[0].kill_gateway();
            workers[0].start_gateway();
            kills += 1;
        }
    }
    assert_eq!(kills, 3);
    drop(sends.join().unwrap());
}
