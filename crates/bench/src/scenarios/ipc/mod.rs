//! Messages between processes (tier 8). Each sender and each receiver is a process of its
//! own; receivers count the messages that arrive and sum their bytes.

mod awaits;
mod frames;
#[cfg(feature = "iceoryx2")]
mod iceoryx;
mod latency;
mod link;
mod ours;
mod posix;
mod transport;
mod transports;

use crate::scenarios::prelude::*;
use crate::scenarios::processes::{Processes, Role};
use posix::MessageQueues;
use transport::Transport;
use transports::{Datagrams, Pipes};

/// Messages of one iteration of a full run, of all senders together.
const MESSAGES: u64 = 100_000;
/// Lengths of messages, in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=256;

/// Random bytes; each message is a piece of them.
struct Bytes(Vec<u8>);

impl Bytes {
    fn new() -> Self {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let bytes = (0..8192).flat_map(|_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random.to_le_bytes()
        });
        Self(bytes.collect())
    }

    #[inline]
    fn message(&self, number: u64) -> &[u8] {
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let (low, high) = (*LENGTHS.start(), *LENGTHS.end());
        let len = low + hash as usize % (high - low + 1);
        let begin = (hash >> 12) as usize % (self.0.len() - high);
        &self.0[begin..begin + len]
    }
}

/// Returns the sum of a message's bytes, as words of eight, and of its length.
#[inline]
fn sum(message: &[u8]) -> u64 {
    let (words, rest) = message.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|&byte| u64::from(byte));
    words
        .chain(rest)
        .fold(message.len() as u64, u64::wrapping_add)
}

/// The receivers of a message.
#[derive(Clone, Copy, PartialEq)]
enum Delivery {
    Every,
    One,
}

fn run<T: Transport>(
    cx: &Context,
    senders: usize,
    receivers: usize,
    delivery: Delivery,
) -> Measured {
    let share = (cx.ops / senders as u64 / receivers as u64).max(1) * receivers as u64;
    let total = share * senders as u64;
    let copies = match delivery {
        Delivery::Every => receivers as u64,
        Delivery::One => 1,
    };
    // In a queue each receiver stops after its share, so that the last one can stop, too.
    let expected = total * copies / receivers as u64;
    let bytes = Bytes::new();
    let all = (0..total).fold(0, |all, n| sum(bytes.message(n)).wrapping_add(all));
    let transport = T::new(senders, receivers);
    let mut processes = Processes::new(senders + receivers, 0)?;
    for number in 0..receivers {
        processes.start(&transport, |transport, role: &Role<'_>| {
            // SAFETY of the copy: see `Processes::start`.
            let mut receiver = transport.receiver(number);
            let mut buffer = [0; 256];
            role.wait_for_all();
            let mut found = 0_u64;
            for _ in 0..expected {
                let len = T::receive(&mut receiver, &mut buffer);
                found = found.wrapping_add(sum(&buffer[..len]));
            }
            role.ended(expected, found);
        })?;
    }
    for number in 0..senders {
        processes.start(&transport, |transport, role: &Role<'_>| {
            let mut sender = transport.sender(number);
            role.wait_for_all();
            let first = number as u64 * share;
            for n in first..first + share {
                T::send(&mut sender, bytes.message(n));
            }
            role.ended(0, 0);
        })?;
    }
    let found = processes.measure()?;
    let reports = &found.reports[..receivers];
    let count = reports.iter().map(|report| report.0).sum();
    let all_found = reports
        .iter()
        .fold(0, |all, report| report.1.wrapping_add(all));
    verify("messages", total * copies, count)?;
    verify("sum of the bytes", all.wrapping_mul(copies), all_found)?;
    Ok(Sample::new(Span::of(found.elapsed), total))
}

/// Returns one contender's body for these numbers of senders and receivers.
fn body<T: Transport + 'static>(
    senders: usize,
    receivers: usize,
    delivery: Delivery,
) -> impl Fn(&Context) -> Measured {
    move |cx| run::<T>(cx, senders, receivers, delivery)
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for receivers in [1, 2, 8] {
        let row = scenario(&format!("route_{receivers}"), "Route", 1, receivers);
        scenarios.push(broadcast::<ours::Route>(row, 1, receivers));
    }
    for (senders, receivers) in channels() {
        let id = format!("channel_{senders}_{receivers}");
        let row = scenario(&id, "Channel", senders, receivers);
        scenarios.push(broadcast::<ours::Channel>(row, senders, receivers));
    }
    for number in [1, 2, 4, 8] {
        let one = Delivery::One;
        let id = format!("queue_{number}_{number}");
        let mut row = scenario(&id, "Queue", number, number)
            .with(OURS, body::<ours::Queue>(number, number, one))
            .with(
                "unix datagrams",
                body::<Datagrams<true>>(number, number, one),
            );
        if posix::is_supported() {
            row = row.with("posix mq", body::<MessageQueues<true>>(number, number, one));
        }
        scenarios.push(row);
    }
    scenarios.extend(latency::scenarios());
    scenarios.push(awaits::scenario());
    scenarios.extend(frames::scenarios());
    scenarios
}

/// Returns how many processes send and how many receive in the rows of channels.
fn channels() -> impl Iterator<Item = (usize, usize)> {
    let all = [1, 2, 4, 8];
    let from_one = all.map(|receivers| (1, receivers));
    let to_one = [2, 4, 8].map(|senders| (senders, 1));
    let both = [2, 4, 8].map(|number| (number, number));
    from_one.into_iter().chain(to_one).chain(both)
}

/// Adds all contenders that can deliver every message to each receiver, and `Ours`.
fn broadcast<Ours: Transport + 'static>(
    row: Scenario,
    senders: usize,
    receivers: usize,
) -> Scenario {
    let every = Delivery::Every;
    let mut row = row
        .with(OURS, body::<Ours>(senders, receivers, every))
        .with(
            "unix datagrams",
            body::<Datagrams<false>>(senders, receivers, every),
        );
    if senders == 1 {
        row = row.with("pipes", body::<Pipes>(senders, receivers, every));
    }
    if posix::is_supported() {
        row = row.with(
            "posix mq",
            body::<MessageQueues<false>>(senders, receivers, every),
        );
    }
    #[cfg(feature = "iceoryx2")]
    {
        use iceoryx::{Polled, WithEvents};
        row = row
            .with("iceoryx2", body::<Polled>(senders, receivers, every))
            .with(
                "iceoryx2 events",
                body::<WithEvents>(senders, receivers, every),
            );
    }
    row
}

fn scenario(id: &str, what: &str, senders: usize, receivers: usize) -> Scenario {
    let title = format!("{what} between processes, {senders} → {receivers}");
    Scenario::new(8, id, title, MESSAGES).threads(senders + receivers)
}
