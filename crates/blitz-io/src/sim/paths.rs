//! The paths between hosts: cuts, and links that lose packets.

use blitz_io_net::simulation::{self, Link};

use super::host::{Host, ToHost};
use super::hosts::current;
use super::notes::Fault;

/// Cuts two hosts off from each other. Connections between them stall, and go on when they [heal](heal); datagrams are
/// lost.
///
/// # Panics
///
/// Outside of a simulation, and if there is no such host.
///
/// # Examples
///
/// ```
/// use std::future::pending;
/// use std::time::Duration;
///
/// use blitz_io::net::{TcpListener, TcpStream};
/// use blitz_io::{sim, time};
///
/// sim::Builder::new().seeds(20).run(|| async {
///     sim::host("server", |_me| async {
///         let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
///         pending::<()>().await;
///     });
///     sim::partition("test", "server");
///     let mut attempt = std::pin::pin!(TcpStream::connect("server:80"));
///     assert!(time::timeout(Duration::from_secs(9), attempt.as_mut()).await.is_err());
///     sim::heal("test", "server");
///     assert!(attempt.await.is_ok());
/// });
/// ```
#[track_caller]
pub fn partition(one: impl ToHost, other: impl ToHost) {
    let (one, other) = (one.number(), other.number());
    let hosts = current();
    hosts.note(Some(Fault::Cut), &[one, other], || {
        let (one, other) = (hosts.host(one), hosts.host(other));
        format!("{one} and {other} are cut off from each other")
    });
    simulation::set_cut(one, other, true);
    simulation::set_cut(other, one, true);
}

/// Cuts the path from one host to another, and not the way back. See [`partition`].
///
/// # Panics
///
/// As [`partition`].
#[track_caller]
pub fn partition_one_way(from: impl ToHost, to: impl ToHost) {
    let (from, to) = (from.number(), to.number());
    let hosts = current();
    hosts.note(Some(Fault::Cut), &[from, to], || {
        let (from, to) = (hosts.host(from), hosts.host(to));
        format!("the path from {from} to {to} is cut")
    });
    simulation::set_cut(from, to, true);
}

/// Opens the paths between two hosts again, in both directions.
///
/// # Panics
///
/// As [`partition`].
#[track_caller]
pub fn heal(one: impl ToHost, other: impl ToHost) {
    let (one, other) = (one.number(), other.number());
    let hosts = current();
    hosts.note(None, &[one, other], || {
        let (one, other) = (hosts.host(one), hosts.host(other));
        format!("the paths between {one} and {other} are open")
    });
    simulation::set_cut(one, other, false);
    simulation::set_cut(other, one, false);
}

/// Opens all paths between hosts again.
///
/// # Panics
///
/// Outside of a simulation.
#[track_caller]
pub fn heal_all() {
    let hosts = current();
    hosts.note(None, &[], || "all paths are open".to_owned());
    let last = hosts.made.borrow().len() as u32;
    for from in 0..=last {
        for to in (0..=last).filter(|to| *to != from) {
            simulation::set_cut(from, to, false);
        }
    }
}

/// Sets the links between two hosts, in both directions.
///
/// # Panics
///
/// As [`partition`].
#[track_caller]
pub fn set_link(one: impl ToHost, other: impl ToHost, link: Link) {
    let (one, other) = (one.number(), other.number());
    let hosts = current();
    hosts.note(changes(&link), &[one, other], || {
        let (one, other) = (hosts.host(one), hosts.host(other));
        format!("the links of {one} and {other} have {link}")
    });
    simulation::set_link(one, other, link);
    simulation::set_link(other, one, link);
}

/// Sets the links between all hosts, also between those that are added later.
///
/// # Panics
///
/// Outside of a simulation.
#[track_caller]
pub fn set_all_links(link: Link) {
    current().note(changes(&link), &[], || format!("all links have {link}"));
    simulation::set_all_links(link);
}

/// Sets the links between these hosts and all of `among`, and the test.
#[track_caller]
pub(super) fn set_links_of(of: &[Host], among: &[Host], link: Link) {
    let hosts = current();
    let numbers: Vec<u32> = of.iter().map(ToHost::number).collect();
    let concerned = if of.len() < among.len() {
        &numbers[..]
    } else {
        &[]
    };
    hosts.note(changes(&link), concerned, || {
        if concerned.is_empty() {
            return format!("all links have {link}");
        }
        let names: Vec<&str> = of.iter().map(Host::name).collect();
        format!("all links of {} have {link}", names.join(", "))
    });
    for &one in &numbers {
        let others = among.iter().map(ToHost::number).chain([0]);
        for other in others.filter(|other| *other != one) {
            simulation::set_link(one, other, link);
            simulation::set_link(other, one, link);
        }
    }
}

/// Returns the fault if links are not those that they are by default.
fn changes(link: &Link) -> Option<Fault> {
    (*link != Link::new()).then_some(Fault::Links)
}
