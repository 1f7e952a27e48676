//! Datagrams between hosts.

use std::cell::Cell;
use std::future::pending;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use blitz_io::net::UdpSocket;
use blitz_io::sim::{self, Link};
use blitz_io::time::{self, timeout};

use super::builder;

/// Sends the numbers from 0 to 9 to the test.
async fn count() {
    let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    for number in 0..10_u8 {
        socket.send_to(&[number], "test:5").await.unwrap();
    }
}

/// Receives numbers for a second.
async fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut numbers = Vec::new();
    let mut byte = [0];
    while let Ok(received) = timeout(Duration::from_secs(1), socket.recv(&mut byte)).await {
        assert_eq!(received.unwrap(), 1);
        numbers.push(byte[0]);
    }
    numbers
}

#[test]
fn datagrams_overtake_each_other_and_none_is_lost() {
    let report = builder().run(|| async {
        let socket = UdpSocket::bind("0.0.0.0:5").await.unwrap();
        sim::host("sender", |_| count());
        let mut numbers = receive(&socket).await;
        sim::sometimes("another order", !numbers.is_sorted());
        numbers.sort_unstable();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    });
    assert!(report.never().is_empty());
}

#[test]
fn links_lose_and_double_datagrams() {
    let report = builder().run(|| async {
        let socket = UdpSocket::bind("0.0.0.0:5").await.unwrap();
        sim::set_all_links(Link::new().loss(0.2).duplication(0.2));
        sim::host("sender", |_| count());
        let mut numbers = receive(&socket).await;
        let len = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        sim::sometimes("a loss", numbers.len() < 10);
        sim::sometimes("a double", numbers.len() < len);
    });
    assert!(report.never().is_empty());
}

#[test]
fn a_cut_loses_datagrams_in_its_direction() {
    builder().run(|| async {
        let socket = UdpSocket::bind("0.0.0.0:5").await.unwrap();
        sim::host("sender", |_| async {
            loop {
                count().await;
                time::sleep(Duration::from_secs(5)).await;
            }
        });
        sim::partition_one_way("test", "sender");
        assert_eq!(receive(&socket).await.len(), 10);
        sim::partition_one_way("sender", "test");
        time::sleep(Duration::from_secs(7)).await;
        assert_eq!(receive(&socket).await, [0; 0]);
        sim::heal("sender", "test");
        time::sleep(Duration::from_secs(2)).await;
        assert_eq!(receive(&socket).await.len(), 10);
    });
}

#[test]
fn a_connected_socket_hears_its_peer_only() {
    builder().run(|| async {
        sim::hosts(2, |_| async {
            let socket = UdpSocket::bind("0.0.0.0:5").await.unwrap();
            let mut bytes = [0; 9];
            let (n, from) = socket.recv_from(&mut bytes).await.unwrap();
            time::sleep(Duration::from_secs(1)).await;
            socket.send_to(&bytes[..n], from).await.unwrap();
        });
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let unconnected = socket.send(b"?").await.unwrap_err();
        assert_eq!(unconnected.kind(), ErrorKind::NotConnected);
        socket.connect("host-1:5").await.unwrap();
        socket.send(b"one").await.unwrap();
        socket.send_to(b"other", "host-0:5").await.unwrap();
        let mut bytes = [0; 9];
        let from = socket.peek_sender().await.unwrap();
        assert_eq!(from.ip(), sim::named("host-1").address());
        assert_eq!(socket.peek(&mut bytes).await.unwrap(), 3);
        assert_eq!(socket.recv(&mut bytes[..2]).await.unwrap(), 2);
        assert_eq!(&bytes[..3], b"one");
        let other = timeout(Duration::from_secs(9), socket.recv(&mut bytes)).await;
        assert!(other.is_err());
        let large = socket.send(&[0; 70_000]).await.unwrap_err();
        assert_eq!(large.kind(), ErrorKind::InvalidInput);
    });
}

/// The port of groups and broadcasts.
const GROUP_PORT: u16 = 9;

/// Three hosts send what they receive on to the test. `prepare` makes their socket hear a group.
fn listeners(any: &'static str, prepare: fn(&UdpSocket, u32)) {
    let next = Cell::new(0);
    sim::hosts(3, move |_| {
        let number = next.get();
        next.set(number + 1);
        async move {
            let socket = UdpSocket::bind((any, GROUP_PORT)).await.unwrap();
            prepare(&socket, number);
            let mut byte = [0];
            loop {
                let (_, from) = socket.recv_from(&mut byte).await.unwrap();
                assert_eq!(from.is_ipv6(), any == "::");
                socket.send_to(&byte, from).await.unwrap();
            }
        }
    });
}

#[test]
fn a_broadcast_reaches_each_host_with_a_socket_for_it() {
    builder().run(|| async {
        listeners("0.0.0.0", |_, _| {});
        sim::host("deaf", |_| pending::<()>());
        time::sleep(Duration::from_secs(1)).await;
        let all = (Ipv4Addr::BROADCAST, GROUP_PORT);
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let refused = socket.send_to(&[7], all).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        socket.set_broadcast(true).unwrap();
        sim::partition("test", "host-1");
        assert_eq!(socket.send_to(&[7], all).await.unwrap(), 1);
        assert_eq!(receive(&socket).await, [7, 7]);
        sim::heal("test", "host-1");
        socket.send_to(&[8], all).await.unwrap();
        assert_eq!(receive(&socket).await, [8, 8, 8]);
    });
}

#[test]
fn a_group_reaches_those_that_have_joined_it() {
    builder().run(|| async {
        let group = Ipv4Addr::new(239, 1, 2, 3);
        listeners("0.0.0.0", |socket, number| {
            let group = Ipv4Addr::new(239, 1, 2, 3);
            if number != 1 {
                let any = Ipv4Addr::UNSPECIFIED;
                socket.join_multicast_v4(group, any).unwrap();
                let again = socket.join_multicast_v4(group, any).unwrap_err();
                assert_eq!(again.kind(), ErrorKind::AddrInUse);
            }
        });
        time::sleep(Duration::from_secs(1)).await;
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        socket.send_to(&[7], (group, GROUP_PORT)).await.unwrap();
        assert_eq!(receive(&socket).await, [7, 7]);
    });
}

#[test]
fn a_group_has_addresses_of_both_versions_and_comes_back_unless_that_is_off() {
    builder().run(|| async {
        let group = Ipv6Addr::new(0xFF08, 0, 0, 0, 0, 0, 0, 9);
        listeners("::", |socket, number| {
            let group = Ipv6Addr::new(0xFF08, 0, 0, 0, 0, 0, 0, 9);
            socket.join_multicast_v6(&group, 0).unwrap();
            if number == 0 {
                socket.leave_multicast_v6(&group, 0).unwrap();
            }
        });
        time::sleep(Duration::from_secs(1)).await;
        let socket = UdpSocket::bind(("::", GROUP_PORT)).await.unwrap();
        socket.join_multicast_v6(&group, 0).unwrap();
        socket.send_to(&[7], (group, GROUP_PORT)).await.unwrap();
        assert_eq!(receive(&socket).await, [7, 7, 7], "one is its own");
        socket.set_multicast_loop_v6(false).unwrap();
        socket.send_to(&[8], (group, GROUP_PORT)).await.unwrap();
        assert_eq!(receive(&socket).await, [8, 8]);
    });
}
