//! Hosts that take more than their part.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use blitz_io::ipc::{Route, list_in};
use blitz_io_gateway::gateway::local_socket;
use blitz_io_gateway::wire::{Ack, Head, Writer, origin};
use zenoh::Wait;

use crate::host::{Host, MAX_LEN, free_port, message, number_of, tcp};
use crate::hostile::stranger;

const EXPORT: &str = "[[export]]\nkind = 'route'\nname = 'r'\npolicy = 'block'\n";
const IMPORT: &str = "[[import]]\nkind = 'route'\nname = 'r'\n";

/// The exporter's length of messages decided: 512 MiB for the segment of a host that had none, and
/// then no other length could be received.
#[test]
fn a_peer_does_not_choose_the_memory_of_an_importer() {
    let port = free_port();
    let two = Host::start("two", &tcp(port), &[], IMPORT);
    let one = Host::start("one", &[], &tcp(port), EXPORT);
    let long = Route::builder().directory(one.directory());
    let _long = long.capacity(1).max_len(512 << 10).sender("r").unwrap();
    two.until_status(&["import", "r", "one", "segment"]);
    assert!(list_in(two.directory()).unwrap().is_empty());
    // The right length finds its place.
    let three = Host::start("three", &[], &tcp(port), EXPORT);
    let mut sender = three.route_sender("r");
    let mut receiver = two.route_receiver("r");
    three.until_status(&["export", "r", "two"]);
    sender.send(&message(1)).unwrap();
    assert_eq!(number_of(&receiver.recv().unwrap()), 1);
}

/// The importer's own `max-len` makes the segment, and is the only length that the importer accepts.
#[test]
fn an_importer_makes_a_segment_of_its_own_length() {
    let port = free_port();
    let import = format!("{IMPORT}max-len = {MAX_LEN}\ncapacity = 16\n");
    let two = Host::start("two", &tcp(port), &[], &import);
    let one = Host::start("one", &[], &tcp(port), EXPORT);
    let long = Route::builder().directory(one.directory());
    let _long = long.capacity(1).max_len(512 << 10).sender("r").unwrap();
    let three = Host::start("three", &[], &tcp(port), EXPORT);
    let _sender = three.route_sender("r");
    three.until_status(&["export", "r", "two", "ok"]);
    let segments = list_in(two.directory()).unwrap();
    assert_eq!(segments.len(), 1, "{segments:?}");
    assert_eq!((segments[0].max_len, segments[0].capacity), (MAX_LEN, 16));
}

/// Sends frames repeatedly until it is dropped.
struct Repeats(Arc<AtomicBool>, Option<thread::JoinHandle<()>>);

impl Repeats {
    fn start(session: &zenoh::Session, frames: Vec<(String, Vec<u8>)>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (is_over, session) = (over.clone(), session.clone());
        let sends = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                for (key, frame) in &frames {
                    session.put(key.clone(), frame.clone()).wait().unwrap();
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        Self(over, Some(sends))
    }
}

impl Drop for Repeats {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        _ = self.1.take().unwrap().join();
    }
}

/// One host had all places of names, and the others none.
#[test]
fn a_peer_does_not_take_the_places_of_others() {
    let port = free_port();
    let limits = "[limits]\nnames = 2\nhosts = 2\n";
    let import = "[[import]]\nkind = 'route'\nname = '*'\n";
    let two = Host::start("two", &tcp(port), &[], &format!("{limits}{import}"));
    let evil = stranger(&tcp(port), None);
    let head = Head {
        origin: origin("evil"),
        epoch: 1,
        run: 1,
        ..Head::default()
    };
    let frames = (0..8).map(|number| {
        let key = format!("blitz/1/route/n{number}/{MAX_LEN}/data/evil");
        (key, Writer::batch(&head).finish())
    });
    let repeats = Repeats::start(&evil, frames.collect());
    two.until_status(&["import", "evil"]);
    let one = Host::start("one", &[], &tcp(port), EXPORT);
    let (mut sender, mut receiver) = (one.route_sender("r"), two.route_receiver("r"));
    one.until_status(&["export", "r", "two"]);
    sender.send(&message(1)).unwrap();
    assert_eq!(number_of(&receiver.recv().unwrap()), 1);
    let status = two.status();
    let of_evil = status.lines().filter(|line| line.contains(" evil "));
    assert_eq!(of_evil.count(), 2, "{status}");
    drop(repeats);
    evil.close().wait().unwrap();
}

/// A host that the export is not for, and that never receives, held the sender up.
#[test]
fn a_stranger_does_not_hold_a_sender_up() {
    let port = free_port();
    let limits = "[limits]\nlost-after-ms = 1000\n";
    let rules = format!("{limits}{EXPORT}to = ['two']\n");
    let one = Host::start("one", &tcp(port), &[], &rules);
    let mut sender = one.route_sender("r");
    one.until_status(&["export", "r"]);
    let evil = stranger(&tcp(port), None);
    let key = |host: &str| format!("blitz/1/route/r/{MAX_LEN}/ack/one/{host}");
    let ack = Writer::ack(&Ack::default());
    let repeats = Repeats::start(&evil, vec![(key("stranger"), ack.clone())]);
    // This one is allowed. What came before it on the same connection has arrived too.
    let as_two = Repeats::start(
        &evil,
        vec![(key("stranger"), ack.clone()), (key("two"), ack)],
    );
    one.until_status(&["export", "r", "two"]);
    drop(as_two);
    // More than the ring and the window hold, while the stranger keeps sending.
    for number in 0..50_000 {
        sender.send(&message(number)).unwrap();
    }
    assert!(!one.status().contains("stranger"), "{}", one.status());
    drop(repeats);
    evil.close().wait().unwrap();
}

/// The default was TCP on 127.0.0.1, where every user of the host could read.
#[test]
fn by_default_only_the_user_reaches_a_gateway() {
    let one = Host::start("one", &[], &[], EXPORT);
    let socket = local_socket(&one.directory().join("gateway"));
    let folder = socket.parent().unwrap();
    let mode = folder.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // Another user, where this one may become that.
    let path = socket.clone();
    let other = thread::spawn(move || {
        // SAFETY: the system call takes three numbers; called directly, it changes this thread only.
        let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        (changed == 0).then(|| UnixStream::connect(path).unwrap_err().kind())
    });
    if let Some(error) = other.join().unwrap() {
        assert_eq!(error, std::io::ErrorKind::PermissionDenied);
    }
    let address = vec![format!("unixsock-stream/{}", socket.display())];
    let two = Host::start("two", &[], &address, IMPORT);
    let (mut sender, mut receiver) = (one.route_sender("r"), two.route_receiver("r"));
    one.until_status(&["export", "r", "two"]);
    sender.send(&message(1)).unwrap();
    assert_eq!(number_of(&receiver.recv().unwrap()), 1);
}

/// The gateway accepted this without a warning.
#[test]
fn check_warns_of_everything_to_everybody() {
    let host = Host::new("one");
    let export = "[[export]]\nkind = 'route'\nname = '*'\n";
    host.configure(&["tcp/0.0.0.0:7447".to_owned()], &[], export);
    let said = host.check();
    assert!(
        said.contains("any program that reaches this address"),
        "{said}"
    );
    assert!(said.contains("every route of this user"), "{said}");
    host.configure(&[], &[], export);
    assert_eq!(host.check(), "");
}
