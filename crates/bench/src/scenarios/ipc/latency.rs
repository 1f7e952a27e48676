//! The time of one message from one process to another.

use super::link::{Datagrams, Link, MessageQueues, Ours, Pipes, Poll};
use super::posix;
use crate::scenarios::prelude::*;
use crate::scenarios::processes::{Processes, Role, now};

/// Bytes of a message while both sides poll.
const LARGE: usize = 8192;
/// Bytes of a message for a receiver that sleeps.
const SMALL: usize = 64;
/// The sender's pause before each message, in which the receiver falls asleep.
const PAUSE: Duration = Duration::from_micros(150);

pub(super) fn scenarios() -> [Scenario; 2] {
    let title = "8 KiB one way between processes that both poll";
    let spin = Scenario::new(8, "ipc_latency_spin", title, 40_000)
        .threads(2)
        .with(OURS, spin_with::<Ours>)
        .with("unix datagrams", spin_with::<Datagrams>);
    #[cfg(feature = "iceoryx2")]
    let spin = spin.with("iceoryx2", spin_with::<super::iceoryx::Polled>);

    let title = "64 bytes one way to a process that sleeps";
    let mut sleep = Scenario::new(8, "ipc_latency_sleep", title, 2_000)
        .threads(2)
        .decided_by(Compares::P50Ns)
        .with(OURS, sleep_with::<Ours>)
        .with("unix datagrams", sleep_with::<Datagrams>)
        .with("pipes", sleep_with::<Pipes>);
    if posix::is_supported() {
        sleep = sleep.with("posix mq", sleep_with::<MessageQueues>);
    }
    #[cfg(feature = "iceoryx2")]
    let sleep = sleep.with("iceoryx2 events", sleep_with::<super::iceoryx::WithEvents>);
    [spin, sleep]
}

/// Writes the part of a message that is checked if only the transport is measured: its
/// first and its last bytes.
fn stamp(bytes: &mut [u8], first: u64, second: u64) {
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..16].copy_from_slice(&second.to_le_bytes());
    if let Some(last) = bytes.last_chunk_mut() {
        *last = (!first).to_le_bytes();
    }
}

/// Returns the numbers that [`stamp`] has written.
fn stamped(bytes: &[u8]) -> (u64, u64) {
    let word = |at: usize| {
        bytes[at..]
            .first_chunk()
            .map_or(0, |b| u64::from_le_bytes(*b))
    };
    assert_eq!(word(0), !word(bytes.len() - 8), "a whole message");
    (word(0), word(8))
}

/// Back and forth; a message's time is half of the round trip's.
fn spin_with<L: Poll>(cx: &Context) -> Measured {
    let rounds = cx.ops / 2;
    let links = (L::new(LARGE), L::new(LARGE));
    let mut processes = Processes::new(2, rounds as usize)?;
    processes.start(&links, |(there, back), role: &Role<'_>| {
        let (mut there, mut back) = (there.sender(), back.receiver());
        role.wait_for_all();
        for round in 0..rounds {
            let begin = now();
            L::send(&mut there, |bytes| stamp(bytes, round, round));
            let echoed = L::spin(&mut back, stamped);
            role.record(round, (now() - begin) / 2);
            assert_eq!(echoed, (round, round + 1));
        }
        role.ended(rounds, 0);
    })?;
    processes.start(&links, |(there, back), role: &Role<'_>| {
        let (mut there, mut back) = (there.receiver(), back.sender());
        role.wait_for_all();
        for round in 0..rounds {
            let found = L::spin(&mut there, stamped);
            L::send(&mut back, |bytes| stamp(bytes, found.0, found.1 + 1));
            assert_eq!(found, (round, round));
        }
        role.ended(rounds, 0);
    })?;
    let found = processes.measure()?;
    let count = found.reports.iter().map(|report| report.0).sum();
    verify("messages", rounds * 2, count)?;
    let span = Span::of(found.elapsed);
    Ok(Sample::new(span, count).with_waits(found.histogram()))
}

/// The sender writes the time into each message. What counts is the time in transit,
/// without the pauses.
fn sleep_with<L: Link>(cx: &Context) -> Measured {
    let count = cx.ops;
    let link = L::new(SMALL);
    let mut processes = Processes::new(2, count as usize)?;
    processes.start(&link, |link, role: &Role<'_>| {
        let mut sender = link.sender();
        role.wait_for_all();
        for number in 0..count {
            std::thread::sleep(PAUSE);
            L::send(&mut sender, |bytes| stamp(bytes, number, now()));
        }
        role.ended(0, 0);
    })?;
    processes.start(&link, |link, role: &Role<'_>| {
        let mut receiver = link.receiver();
        role.wait_for_all();
        for number in 0..count {
            let (found, begin) = L::receive(&mut receiver, stamped);
            role.record(number, now() - begin);
            assert_eq!(found, number);
        }
        role.ended(count, 0);
    })?;
    let found = processes.measure()?;
    verify("messages", count, found.reports[1].0)?;
    verify("waits", count, found.waits.len() as u64)?;
    let span = Span::of(found.waits.iter().sum());
    Ok(Sample::new(span, count).with_waits(found.histogram()))
}
