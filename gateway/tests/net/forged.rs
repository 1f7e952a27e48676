//! Frames in another host's name.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use blitz_io::ipc::{RecvError, SendError, Sender};
use blitz_io_gateway::wire::{Frame, Head, LIMIT, Writer, origin, parse};
use zenoh::Wait;

use crate::host::{Host, MAX_LEN, count, free_port, message, number_of, tcp};
use crate::hostile::{Authority, stranger};

const EXPORT: &str = "[[export]]\nkind = 'route'\nname = 'r'\n";
const IMPORT: &str = "[[import]]\nkind = 'route'\nname = 'r'\n";

fn key(name: &str, rest: &str) -> String {
    format!("blitz/1/route/{name}/{MAX_LEN}/{rest}")
}

/// A frame of a new run that the host has not begun.
fn forged(host: &str, run: u128) -> Vec<u8> {
    let head = Head {
        origin: origin(host),
        epoch: 7,
        run,
        ..Head::default()
    };
    Writer::batch(&head).finish()
}

/// Five of them silenced the exporter until its gateway was started again.
#[test]
fn forged_runs_do_not_silence_an_exporter() {
    let (port, of_two) = (free_port(), free_port());
    let one = Host::start("one", &tcp(port), &[], EXPORT);
    let two = Host::start("two", &tcp(of_two), &tcp(port), IMPORT);
    let receiver = two.route_receiver("r");
    let mut sender = one.route_sender("r");
    one.until_status(&["export", "r", "two"]);
    let sent = 5000;
    let counted = count(receiver, sent, Arc::default());
    sender.send(&message(0)).unwrap();
    one.until_status(&["export", "r", "two", "1"]);
    let evil = stranger(&[tcp(port), tcp(of_two)].concat(), None);
    for run in 1..6 {
        let frame = forged("one", run);
        evil.put(key("r", "data/one"), frame).wait().unwrap();
    }
    two.until_status(&["import", "r", "one", "refused"]);
    for number in 1..sent {
        sender.send(&message(number)).unwrap();
    }
    assert_eq!(counted.join().unwrap().missing, 0);
    evil.close().wait().unwrap();
}

/// Sends messages on another thread until `over`.
fn send_until(over: &Arc<AtomicBool>, mut sender: Sender) -> thread::JoinHandle<Sender> {
    let over = over.clone();
    thread::spawn(move || {
        let mut number = 0;
        while !over.load(Ordering::Relaxed) {
            match sender.try_send(&message(number)) {
                Ok(()) => number += 1,
                Err(SendError::Full) => {}
                Err(error) => panic!("{error}"),
            }
            thread::sleep(Duration::from_millis(1));
        }
        sender
    })
}

/// Without certificates, a program that reads a run's number can forge a frame of that run. The
/// effect of the forged frame ends without help.
#[test]
fn an_importer_recovers_from_a_forged_frame_of_a_run() {
    let (port, of_two) = (free_port(), free_port());
    let soon_lost = "[limits]\nlost-after-ms = 1000\n";
    let one = Host::start("one", &tcp(port), &[], &format!("{soon_lost}{EXPORT}"));
    let two = Host::start(
        "two",
        &tcp(of_two),
        &tcp(port),
        &format!("{soon_lost}{IMPORT}"),
    );
    let mut receiver = two.route_receiver("r");
    let sender = one.route_sender("r");
    one.until_status(&["export", "r", "two"]);
    let evil = stranger(&[tcp(port), tcp(of_two)].concat(), None);
    let beats = evil
        .declare_subscriber(key("r", "data/one"))
        .wait()
        .unwrap();
    let head = loop {
        let sample = beats.recv().unwrap();
        if let Ok(Frame::Batch(head, _)) = parse(&sample.payload().to_bytes()) {
            break head;
        }
    };
    beats.undeclare().wait().unwrap();
    let far = LIMIT - 9;
    let jump = Head {
        base: far,
        base_position: far,
        ordinal: far,
        position: far,
        ..head
    };
    let frame = Writer::batch(&jump).finish();
    evil.put(key("r", "data/one"), frame).wait().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let sends = send_until(&over, sender);
    let mut jumped = false;
    loop {
        match receiver.recv() {
            Ok(message) if jumped => {
                number_of(&message);
                break;
            }
            Ok(_) => {}
            Err(RecvError::Gap(gap)) => jumped |= gap > 1 << 50,
            // The import begins again.
            Err(RecvError::Disconnected) => thread::sleep(Duration::from_millis(1)),
            Err(error) => panic!("{error}"),
        }
    }
    over.store(true, Ordering::Relaxed);
    drop(sends.join().unwrap());
    evil.close().wait().unwrap();
}

/// A host with a valid certificate could call itself by another's name.
#[test]
fn a_certificate_is_for_one_name() {
    let authority = Authority::new();
    let hosts = ["one", "two", "mallory"];
    let address = vec![format!("tls/localhost:{}", free_port())];
    let rules = format!("{}{IMPORT}", authority.host("two", &hosts));
    let two = Host::start("two", &address, &[], &rules);
    let _receiver = two.route_receiver("r");
    let evil = stranger(&address, Some(&authority.certificate("mallory")));
    let sends = || {
        for (host, run) in [("one", 1), ("mallory", 2)] {
            let (key, frame) = (key("r", &format!("data/{host}")), forged(host, run));
            evil.put(key, frame).wait().unwrap();
        }
        thread::sleep(Duration::from_millis(20));
    };
    // Frames before its own ones on the same connection have arrived too.
    while !shows_import(&two, "mallory") {
        sends();
    }
    (0..10).for_each(|_| sends());
    assert!(!shows_import(&two, "one"), "{}", two.status());
    evil.close().wait().unwrap();
    // The gateway accepts the frames of the host itself.
    let rules = format!("{}{EXPORT}", authority.host("one", &hosts));
    let one = Host::start("one", &[], &address, &rules);
    let _sender = one.route_sender("r");
    two.until_status(&["import", "r", "one"]);
}

fn shows_import(host: &Host, of: &str) -> bool {
    let status = host.status();
    let rows = status.lines().map(|line| line.split_whitespace().collect());
    let mut rows = rows.filter(|row: &Vec<_>| row.len() > 4 && row[0] == "import");
    rows.any(|row| row[4] == of)
}

/// Every host that could connect could read everything.
#[test]
fn an_export_leaves_only_to_its_hosts() {
    let authority = Authority::new();
    let hosts = ["one", "two", "mallory"];
    let address = vec![format!("tls/localhost:{}", free_port())];
    // The engine has patterns of its own.
    let exports = [("route", "r*"), ("queue", "*a**b"), ("channel", "**")]
        .map(|(kind, name)| format!("[[export]]\nkind = '{kind}'\nname = '{name}'\nto = ['two']\n"))
        .concat()
        + "[[export]]\nkind = 'route'\nname = 'open'\n";
    let rules = format!("{}{exports}", authority.host("one", &hosts));
    let one = Host::start("one", &address, &[], &rules);
    let rules = format!("{}{IMPORT}", authority.host("two", &hosts));
    let two = Host::start("two", &[], &address, &rules);
    let mut receiver = two.route_receiver("r");
    let evil = stranger(&address, Some(&authority.certificate("mallory")));
    let reads = evil.declare_subscriber("blitz/**").wait().unwrap();
    let (mut secret, _open) = (one.route_sender("r"), one.route_sender("open"));
    one.until_status(&["export", "r", "two"]);
    one.until_status(&["export", "open"]);
    // Both have been sent repeatedly since it has seen the first frame of one of them.
    let mut keys: Vec<String> = Vec::new();
    for number in 0..50 {
        secret.send(&message(number)).unwrap();
        assert_eq!(number_of(&receiver.recv().unwrap()), number);
        keys.push(reads.recv().unwrap().key_expr().to_string());
    }
    let open = key("open", "data/one");
    assert!(keys.iter().all(|key| *key == open), "{keys:?}");
    reads.undeclare().wait().unwrap();
    evil.close().wait().unwrap();
}

/// Hosts accept all frames that a router passes on. A router accepts only a neighbour's own frames.
#[test]
fn a_router_with_certificates_passes_on_what_its_neighbours_may_send() {
    let authority = Authority::new();
    let address = vec![format!("tls/localhost:{}", free_port())];
    let hosts = ["one", "two", "mallory"];
    let _router =
        Host::new("router")
            .mode("router")
            .run(&address, &[], &authority.host("router", &hosts));
    let client = |name: &'static str, rule: &str| {
        let network = authority.host(name, &["router"]);
        let network = network.replace("hosts = ", "routers = ");
        let rules = format!("{network}{rule}");
        Host::new(name).mode("client").run(&[], &address, &rules)
    };
    let two = client("two", IMPORT);
    let _receiver = two.route_receiver("r");
    let evil = stranger(&address, Some(&authority.certificate("mallory")));
    while !shows_import(&two, "mallory") {
        for (host, run) in [("one", 1), ("mallory", 2)] {
            let (key, frame) = (key("r", &format!("data/{host}")), forged(host, run));
            evil.put(key, frame).wait().unwrap();
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!shows_import(&two, "one"), "{}", two.status());
    evil.close().wait().unwrap();
    let one = client("one", EXPORT);
    let _sender = one.route_sender("r");
    two.until_status(&["import", "r", "one"]);
}
