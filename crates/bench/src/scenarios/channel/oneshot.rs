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

/// Creates a channel, sends a message through it and receives it.
macro_rules! pass {
    ($message:ident, $channel:expr) => {{
        #[allow(unused_mut, reason = "some senders take `&mut self`")]
        let (mut sender, receiver) = black_box($channel);
        sender.send($message).ok()?;
        poll_now(receiver)?.ok()
    }};
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let row = |id, title| Scenario::new(2, id, title, CHANNEL_OPS);
    let ours = |cx: &Context| made(cx, |m| pass!(m, blitz_io_channel::oneshot::channel()));
    // The channel is in memory that the caller chooses, here on the stack.
    let in_place = |cx: &Context| {
        made(cx, |m| {
            let mut slot = blitz_io_channel::oneshot::Slot::new();
            pass!(m, slot.channel())
        })
    };
    let peers = |scenario: Scenario| {
        scenario
            .with("tokio", |cx| {
                made(cx, |m| pass!(m, tokio::sync::oneshot::channel()))
            })
            .with("oneshot", |cx| {
                made(cx, |m| pass!(m, oneshot::async_channel()))
            })
            .with("async-oneshot", |cx| {
                made(cx, |m| pass!(m, async_oneshot::oneshot()))
            })
    };
    let title = "Oneshot create, send, recv";
    let title_in_place = "Oneshot create, send, recv (ours: in place)";
    vec![
        peers(row("oneshot", title).with(OURS, ours)),
        peers(row("oneshot_in_place", title_in_place).with(OURS, in_place)),
    ]
}

/// `pass` sends a message through a new channel and returns the message that arrives.
fn made(cx: &Context, pass: impl Fn(u64) -> Option<u64> + Copy) -> Measured {
    let (span, arrived) = solo(|| {
        let mut arrived = Arrived::default();
        for message in 0..cx.ops {
            if let Some(message) = pass(message) {
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

    #[test]
    fn a_changed_message_is_caught() {
        let failure = made(&context(), |message| Some(message.max(1))).unwrap_err();
        assert!(
            failure.to_string().starts_with("the sum of the messages"),
            "{failure}"
        );
    }
}
