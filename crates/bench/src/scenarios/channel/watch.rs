//! A watched value: replacing it and reading it.

use super::pass_each;
use crate::scenarios::prelude::*;

/// One contender's body: it sends each value and reads it.
macro_rules! body {
    ($channel:expr) => {
        |cx| {
            let (sender, receiver) = $channel;
            pass_each(cx, |value| {
                black_box(&sender).send(value).ok()?;
                Some(*black_box(&receiver).borrow())
            })
        }
    };
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let peers: [(&str, Body); 2] = [
        (OURS, body!(blitz_io_channel::watch::channel(0))),
        ("tokio", body!(tokio::sync::watch::channel(0))),
    ];
    let scenario = Scenario::new(2, "watch", "Watch send, borrow", CHANNEL_OPS);
    vec![scenario.with_all(peers)]
}
