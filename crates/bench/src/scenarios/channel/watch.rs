//! A watched value: replacing it and reading it.

use std::hint::black_box;

use super::Arrived;
use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::settings::CHANNEL_OPS;
use crate::threads::solo;

/// A channel that keeps the last value.
trait Watch {
    type Sender;
    type Receiver;
    fn new() -> (Self::Sender, Self::Receiver);
    fn send(sender: &Self::Sender, value: u64) -> bool;
    fn borrow(receiver: &Self::Receiver) -> u64;
}

struct Ours;

impl Watch for Ours {
    type Sender = blitz_io_channel::watch::Sender<u64>;
    type Receiver = blitz_io_channel::watch::Receiver<u64>;
    fn new() -> (Self::Sender, Self::Receiver) {
        blitz_io_channel::watch::channel(0)
    }
    #[inline]
    fn send(sender: &Self::Sender, value: u64) -> bool {
        sender.send(value).is_ok()
    }
    #[inline]
    fn borrow(receiver: &Self::Receiver) -> u64 {
        *receiver.borrow()
    }
}

struct Tokio;

impl Watch for Tokio {
    type Sender = tokio::sync::watch::Sender<u64>;
    type Receiver = tokio::sync::watch::Receiver<u64>;
    fn new() -> (Self::Sender, Self::Receiver) {
        tokio::sync::watch::channel(0)
    }
    #[inline]
    fn send(sender: &Self::Sender, value: u64) -> bool {
        sender.send(value).is_ok()
    }
    #[inline]
    fn borrow(receiver: &Self::Receiver) -> u64 {
        *receiver.borrow()
    }
}

/// One contender's body.
type Body = fn(&Context) -> Measured;

const PEERS: [(&str, Body); 2] = [
    (OURS, send_and_borrow::<Ours>),
    ("tokio", send_and_borrow::<Tokio>),
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenario = Scenario::new(2, "watch", "Watch send, borrow", CHANNEL_OPS);
    vec![
        PEERS
            .iter()
            .fold(scenario, |s, &(name, body)| s.with(name, body)),
    ]
}

fn send_and_borrow<W: Watch>(cx: &Context) -> Measured {
    let (sender, receiver) = W::new();
    let (span, (sent, seen)) = solo(|| {
        let mut sent = 0u64;
        let mut seen = Arrived::default();
        for value in 0..cx.ops {
            sent += u64::from(W::send(black_box(&sender), value));
            seen.note(W::borrow(black_box(&receiver)));
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
    use std::rc::Rc;

    /// A watch that shows the value before the last one.
    struct Late;

    impl Watch for Late {
        type Sender = Rc<Cell<[u64; 2]>>;
        type Receiver = Rc<Cell<[u64; 2]>>;
        fn new() -> (Self::Sender, Self::Receiver) {
            let values = Self::Sender::default();
            (values.clone(), values)
        }
        fn send(sender: &Self::Sender, value: u64) -> bool {
            sender.set([sender.get()[1], value]);
            true
        }
        fn borrow(receiver: &Self::Receiver) -> u64 {
            receiver.get()[0]
        }
    }

    #[test]
    fn an_old_value_is_caught() {
        let failure = send_and_borrow::<Late>(&context()).unwrap_err().to_string();
        assert!(failure.starts_with("the sum of the messages"), "{failure}");
    }
}
