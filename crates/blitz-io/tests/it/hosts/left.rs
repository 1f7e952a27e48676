//! Sockets that are left at the end of a run.

use std::cell::RefCell;
use std::future::pending;
use std::mem::forget;
use std::rc::Rc;

use blitz_io::net::{TcpListener, TcpStream, UdpSocket};
use blitz_io::sim::{self, Cause};

use super::builder;

/// Returns the texts of the sockets that a run has left.
fn left(failure: &sim::Failure) -> &[String] {
    match failure.cause() {
        Cause::LeakedSockets(sockets) => sockets,
        _ => panic!("{failure}"),
    }
}

#[test]
fn a_forgotten_socket_of_the_test_is_left() {
    let test = || async {
        forget(UdpSocket::bind("0.0.0.0:53").await.unwrap());
    };
    let failure = builder().check(test).unwrap_err();
    assert_eq!(left(&failure), ["UDP socket 0.0.0.0:53 of the test"]);
    let text = "1 socket is left at the end: UDP socket 0.0.0.0:53 of the test";
    assert_eq!(failure.cause().to_string(), text);
    builder().allow_leaks(true).run(test);
}

/// Keeps its sockets in a cycle.
struct Server {
    sockets: RefCell<Vec<TcpStream>>,
    listener: TcpListener,
    myself: RefCell<Option<Rc<Server>>>,
}

impl Server {
    async fn serve(is_cyclic: bool) {
        let server = Rc::new(Self {
            sockets: RefCell::default(),
            listener: TcpListener::bind("0.0.0.0:80").await.unwrap(),
            myself: RefCell::default(),
        });
        if is_cyclic {
            server.myself.replace(Some(server.clone()));
        }
        loop {
            let (stream, _) = server.listener.accept().await.unwrap();
            server.sockets.borrow_mut().push(stream);
        }
    }
}

/// Connects to a server, whose host ends in the middle or with the test.
async fn served(is_cyclic: bool, end: fn(&sim::Host)) {
    let server = sim::host("server", move |_| Server::serve(is_cyclic));
    drop(TcpStream::connect("server:80").await.unwrap());
    end(&server);
}

#[test]
fn sockets_in_a_cycle_of_a_host_are_left() {
    builder().run(|| served(false, |_| {}));
    let failure = builder().check(|| served(true, |_| {})).unwrap_err();
    let listener = &left(&failure)[0];
    let begin = format!(
        "TCP listener 0.0.0.0:80 of host `server`, added at {}:",
        file!()
    );
    assert!(listener.starts_with(&begin), "{listener}");
}

#[test]
fn an_accepted_socket_has_both_addresses() {
    let failure = builder()
        .check(|| async {
            let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
            let connected = TcpStream::connect("127.0.0.1:80").await.unwrap();
            forget(listener.accept().await.unwrap());
            forget(connected);
        })
        .unwrap_err();
    let streams = [
        "TCP stream 127.0.0.1:49152 to 127.0.0.1:80 of the test",
        "TCP stream 127.0.0.1:80 to 127.0.0.1:49152 of the test",
    ];
    assert_eq!(left(&failure), streams);
}

#[test]
fn the_system_of_a_host_that_was_stopped_has_closed_its_sockets() {
    builder().run(|| served(true, sim::Host::kill));
    builder().run(|| served(true, sim::Host::crash));
    // Those of the second life are left.
    let failure = builder()
        .check(|| async {
            let server = sim::host("server", |_| async {
                let bound = UdpSocket::bind("0.0.0.0:0").await.unwrap();
                forget(bound);
            });
            blitz_io::task::yield_now().await;
            server.restart();
            let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
            drop(socket);
            blitz_io::time::sleep(std::time::Duration::from_secs(1)).await;
        })
        .unwrap_err();
    assert_eq!(left(&failure).len(), 1, "{failure}");
}

#[test]
fn sockets_that_the_simulation_itself_keeps_are_not_left() {
    builder().run(|| async {
        let sockets = Rc::new(RefCell::new(Vec::new()));
        let (of_predicate, of_host) = (sockets.clone(), sockets.clone());
        sim::always("one socket", move || of_predicate.borrow().len() < 2);
        sim::host("server", move |_| {
            let kept = of_host.clone();
            async move {
                drop(kept);
                pending::<()>().await;
            }
        });
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        sockets.borrow_mut().push(socket);
    });
}

#[test]
fn a_long_list_of_sockets_is_shortened() {
    let failure = builder()
        .check(|| async {
            for _ in 0..10 {
                forget(UdpSocket::bind("0.0.0.0:0").await.unwrap());
            }
        })
        .unwrap_err();
    let text = failure.cause().to_string();
    assert!(
        text.starts_with("10 sockets are left at the end: UDP"),
        "{text}"
    );
    assert!(text.ends_with("; and 2 more"), "{text}");
    assert_eq!(left(&failure).len(), 10);
}
