//! Channels on one thread: filling, draining, back and forth.
//!
//! All contenders use the `try` forms, the only ones that every channel has. The channel
//! is made before the clock starts, so memory that a channel takes at its creation is not
//! counted, and memory that it takes during use is.

use super::{Arrived, pass_each};
use crate::scenarios::prelude::*;

/// One contender's bodies: how its channel is made and, if they are not those of most channels, its
/// two `try` forms.
macro_rules! bodies {
    ($bounded:expr) => {
        bodies!($bounded, |s, m| s.try_send(m).is_ok(), |r| r
            .try_recv()
            .ok())
    };
    ($bounded:expr, $try_send:expr, $try_recv:expr) => {{
        let bodies: [Body; 3] = [
            |cx| fill(cx, $bounded(cx.ops as usize), $try_send, $try_recv),
            |cx| drain(cx, $bounded(cx.ops as usize), $try_send, $try_recv),
            |cx| round_trip(cx, $bounded(1), $try_send, $try_recv),
        ];
        bodies
    }};
}

pub(super) fn scenarios() -> Vec<Scenario> {
    // Kanal's `try` forms report success in the value, not in the error.
    let kanal = bodies!(kanal::bounded, |s, m| s.try_send(m) == Ok(true), |r| r
        .try_recv()
        .ok()
        .flatten());
    let peers: [(&str, [Body; 3]); 7] = [
        (OURS, bodies!(blitz_io_channel::mpsc::channel)),
        ("tokio", bodies!(tokio::sync::mpsc::channel)),
        ("async-channel", bodies!(async_channel::bounded)),
        ("flume", bodies!(flume::bounded)),
        ("kanal", kanal),
        ("crossbeam", bodies!(crossbeam_channel::bounded)),
        ("std", bodies!(std::sync::mpsc::sync_channel)),
    ];
    let row = |number: usize, id, title| {
        let scenario = Scenario::new(2, id, title, CHANNEL_OPS);
        scenario.with_all(peers.map(|(name, bodies)| (name, bodies[number])))
    };
    vec![
        row(0, "channel_send", "Channel send to fill"),
        row(1, "channel_recv", "Channel recv to drain"),
        row(2, "channel_round_trip", "Channel round trip, capacity 1"),
    ]
}

fn fill<S, R>(
    cx: &Context,
    (sender, mut receiver): (S, R),
    try_send: impl Fn(&S, u64) -> bool,
    try_recv: impl Fn(&mut R) -> Option<u64>,
) -> Measured {
    let sample = repeat(cx, "messages that found room", |message| {
        try_send(black_box(&sender), message)
    })?;
    let mut arrived = Arrived::default();
    while let Some(message) = try_recv(&mut receiver) {
        arrived.note(message);
    }
    arrived.verify(cx.ops, 1)?;
    Ok(sample)
}

fn drain<S, R>(
    cx: &Context,
    (sender, mut receiver): (S, R),
    try_send: impl Fn(&S, u64) -> bool,
    try_recv: impl Fn(&mut R) -> Option<u64>,
) -> Measured {
    let sent = (0..cx.ops).filter(|&message| try_send(&sender, message));
    verify("messages that found room", cx.ops, sent.count() as u64)?;
    // Exactly this many: a try that finds nothing is not an operation.
    pass_each(cx, |_| try_recv(black_box(&mut receiver)))
}

fn round_trip<S, R>(
    cx: &Context,
    (sender, mut receiver): (S, R),
    try_send: impl Fn(&S, u64) -> bool,
    try_recv: impl Fn(&mut R) -> Option<u64>,
) -> Measured {
    pass_each(cx, |message| {
        try_send(black_box(&sender), message);
        try_recv(black_box(&mut receiver))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_that_loses_every_hundredth_message_is_caught() {
        let bodies = bodies!(
            std::sync::mpsc::sync_channel,
            |s, m| m % 100 == 99 || s.try_send(m).is_ok(),
            |r| r.try_recv().ok()
        );
        for body in bodies {
            let words = "messages that arrived: expected 2000, found 1980";
            assert_caught(body(&context()), words);
        }
    }
}
