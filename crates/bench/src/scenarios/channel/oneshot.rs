//! Channels for one message: created, sent through and received from, on one thread.
//!
//! Two rows have the same peers: our channel that is made like Tokio's, and our channel
//! in memory of the caller, which no peer has. There the memory is part of the
//! operation: a fresh piece for every message.

use super::pass_each;
use crate::scenarios::prelude::*;

/// Creates a channel for each message, sends the message through it and receives it.
macro_rules! pass {
    ($(let mut $slot:ident = $new:expr;)? $channel:expr) => {
        |cx| {
            pass_each(cx, |message| {
                $(let mut $slot = $new;)?
                #[allow(unused_mut, reason = "some senders take `&mut self`")]
                let (mut sender, receiver) = black_box($channel);
                sender.send(message).ok()?;
                poll_now(receiver)?.ok()
            })
        }
    };
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let ours: [(&str, &str, Body); 2] = [
        (
            "oneshot",
            "Oneshot create, send, recv",
            pass!(blitz_io_channel::oneshot::channel()),
        ),
        (
            "oneshot_in_place",
            "Oneshot create, send, recv (ours: in place)",
            // The channel is in memory that the caller chooses, here on the stack.
            pass!(let mut slot = blitz_io_channel::oneshot::Slot::new(); slot.channel()),
        ),
    ];
    let peers: [(&str, Body); 3] = [
        ("tokio", pass!(tokio::sync::oneshot::channel())),
        ("oneshot", pass!(oneshot::async_channel())),
        ("async-oneshot", pass!(async_oneshot::oneshot())),
    ];
    let row = |(id, title, body)| {
        let scenario = Scenario::new(2, id, title, CHANNEL_OPS);
        scenario.with(OURS, body).with_all(peers)
    };
    ours.map(row).into()
}
