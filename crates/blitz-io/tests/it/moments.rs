//! Timers and events of the network at the same moment.

use std::time::Duration;

use blitz_io::net::UdpSocket;
use blitz_io::sim::{self, Builder, Link, Schedule};
use blitz_io::time::{sleep, timeout};

const LATENCY: Duration = Duration::from_millis(10);

/// A datagram arrives at the moment at which the wait for it is over. Returns `true` if the datagram comes first.
async fn answer_comes_first() -> bool {
    sim::set_all_links(Link::new().latency(LATENCY, LATENCY));
    let socket = UdpSocket::bind("0.0.0.0:5").await.unwrap();
    sim::host("sender", |_| async {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        sleep(LATENCY).await;
        socket.send_to(&[1], "test:5").await.unwrap();
    });
    let mut byte = [0];
    timeout(2 * LATENCY, socket.recv(&mut byte)).await.is_ok()
}

#[test]
fn either_comes_first() {
    let report = Builder::new().seeds(60).run(|| async {
        let first = answer_comes_first().await;
        sim::sometimes("the datagram", first);
        sim::sometimes("the timer", !first);
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn the_timer_comes_first_without_a_decision() {
    let test = || async { assert!(!answer_comes_first().await) };
    Builder::new().schedule(Schedule::RoundRobin).run(test);
    let failure = Builder::new().seeds(60).check(test).unwrap_err();
    assert_eq!(failure.trace().len(), 1, "{failure}");
    let again = Builder::new().trace(failure.trace().clone());
    assert_eq!(again.check(test).unwrap_err().cause(), failure.cause());
}

/// The network comes first, and what it makes ready runs before the timer fires.
#[test]
fn a_timer_waits_until_the_receiver_has_run() {
    let report = Builder::new()
        .seeds(60)
        .check_determinism(true)
        .run(|| async {
            sim::set_all_links(Link::new().latency(LATENCY, LATENCY));
            let socket = UdpSocket::bind("0.0.0.0:5").await.unwrap();
            sim::host("sender", |_| async {
                let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
                socket.send_to(&[1], "test:5").await.unwrap();
            });
            let sleeper = blitz_io::spawn(sleep(LATENCY));
            assert_eq!(socket.recv(&mut [0]).await.unwrap(), 1);
            let has_ended = sleeper.is_finished();
            for _ in 0..100 {
                blitz_io::task::yield_now().await;
            }
            assert_eq!(sleeper.is_finished(), has_ended);
            sim::sometimes("the timer", has_ended);
            sim::sometimes("the receiver", !has_ended);
            sleeper.await.unwrap();
        });
    assert!(report.never().is_empty(), "{:?}", report.never());
}
