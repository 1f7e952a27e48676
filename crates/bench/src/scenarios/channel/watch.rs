//! A watched value: replacing it and reading it.

use std::hint::black_box;

use super::Arrived;
use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::settings::CHANNEL_OPS;
use crate::threads::solo;

pub(super) fn scenarios() -> Vec<Scenario> {
    let ours = |cx: &Context| {
        let channel = blitz_io_channel::watch::channel(0);
        send_and_borrow(
            cx,
            channel,
            |s, value| s.send(value).is_ok(),
            |r| *r.borrow(),
        )
    };
    let tokio = |cx: &Context| {
        let channel = tokio::sync::watch::channel(0);
        send_and_borrow(
            cx,
            channel,
            |s, value| s.send(value).is_ok(),
            |r| *r.borrow(),
        )
    };
    let scenario = Scenario::new(2, "watch", "Watch send, borrow", CHANNEL_OPS);
    vec![scenario.with(OURS, ours).with("tokio", tokio)]
}

fn send_and_borrow<S, R>(
    cx: &Context,
    (sender, receiver): (S, R),
    send: impl Fn(&S, u64) -> bool + Copy,
    borrow: impl Fn(&R) -> u64 + Copy,
) -> Measured {
    let (span, (sent, seen)) = solo(|| {
        let mut sent = 0u64;
        let mut seen = Arrived::default();
        for value in 0..cx.ops {
            sent += u64::from(send(black_box(&sender), value));
            seen.note(borrow(black_box(&receiver)));
        }
        (sent, seen)
    });
    verify("values that were sent", cx.ops, sent)?;
    seen.verify(cx.ops, 1)?;
    Ok(Sample::new(span, cx.ops))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::tests::context;
    use std::cell::Cell;

    /// A watch that shows the value before the last one.
    #[test]
    fn an_old_value_is_caught() {
        let values = Cell::new([0, 0]);
        let send = |values: &&Cell<[u64; 2]>, value| {
            values.set([values.get()[1], value]);
            true
        };
        let late = |values: &&Cell<[u64; 2]>| values.get()[0];
        let failure = send_and_borrow(&context(), (&values, &values), send, late).unwrap_err();
        assert!(
            failure.to_string().starts_with("the sum of the messages"),
            "{failure}"
        );
    }
}
