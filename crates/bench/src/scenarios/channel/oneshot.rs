//! Channels for one message: created, sent through and received from, on one thread.
//!
//! Two rows have the same peers: our channel that is made like Tokio's, and our channel
//! in memory of the caller, which no peer has. There the memory is part of the
//! operation: a fresh piece for every message.
use std::hint::black_box;

use super::Arrived;
use crate::poll::poll_now;
use crate::scenario::{Context, Measured, OURS, Sample, Scenario};
use crate::settings::CHANNEL_OPS;
use crate::threads::solo;

/// A channel for one message.
trait Oneshot {
    /// Creates a channel, sends `message` and receives it.
    fn pass(message: u64) -> Option<u64>;
}

struct Ours;

impl Oneshot for Ours {
    #[inline]
    fn pass(message: u64) -> Option<u64> {
        let (sender, receiver) = black_box(blitz_io_channel::oneshot::channel());
        sender.send(message).ok()?;
        poll_now(receiver)?.ok()
    }
}

/// The channel is in memory that the caller chooses, here on the stack.
struct OursInPlace;

impl Oneshot for OursInPlace {
    #[inline]
    fn pass(message: u64) -> Option<u64> {
        let mut slot = blitz_io_channel::oneshot::Slot::new();
        let (sender, receiver) = black_box(slot.channel());
        sender.send(message).ok()?;
        poll_now(receiver)?.ok()
    }
}

struct Tokio;

impl Oneshot for Tokio {
    #[inline]
    fn pass(message: u64) -> Option<u64> {
        let (sender, receiver) = black_box(tokio::sync::oneshot::channel());
        sender.send(message).ok()?;
        poll_now(receiver)?.ok()
    }
}

/// The crate `oneshot`.
struct Crate;

impl Oneshot for Crate {
    #[inline]
    fn pass(message: u64) -> Option<u64> {
        let (sender, receiver) = black_box(oneshot::async_channel());
        sender.send(message).ok()?;
        poll_now(receiver)?.ok()
    }
}

struct AsyncOneshot;

impl Oneshot for AsyncOneshot {
    #[inline]
    fn pass(message: u64) -> Option<u64> {
        let (mut sender, receiver) = black_box(async_oneshot::oneshot());
        sender.send(message).ok()?;
        poll_now(receiver)?.ok()
    }
}

/// One contender's body.
type Body = fn(&Context) -> Measured;

const PEERS: [(&str, Body); 3] = [
    ("tokio", made::<Tokio>),
    ("oneshot", made::<Crate>),
    ("async-oneshot", made::<AsyncOneshot>),
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenario = |id, title, ours: Body| {
        let scenario = Scenario::new(2, id, title, CHANNEL_OPS).with(OURS, ours);
        PEERS
            .iter()
            .fold(scenario, |s, &(name, body)| s.with(name, body))
    };
    vec![
        scenario("oneshot", "Oneshot create, send, recv", made::<Ours>),
        scenario(
            "oneshot_in_place",
            "Oneshot create, send, recv (ours: in place)",
            made::<OursInPlace>,
        ),
    ]
}

fn made<O: Oneshot>(cx: &Context) -> Measured {
    let (span, arrived) = solo(|| {
        let mut arrived = Arrived::default();
        for message in 0..cx.ops {
            if let Some(message) = O::pass(message) {
                arrived.note(message);
            }
        }
        arrived
    });
    arrived.verify(cx.ops, 1)?;
    Ok(Sample::new(span, cx.ops))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::tests::context;

    /// A channel that swaps two messages.
    struct Mixed;

    impl Oneshot for Mixed {
        fn pass(message: u64) -> Option<u64> {
            Some(message.max(1))
        }
    }

    #[test]
    fn a_changed_message_is_caught() {
        let failure = made::<Mixed>(&context()).unwrap_err().to_string();
        assert!(failure.starts_with("the sum of the messages"), "{failure}");
    }
}
