//! One sender and four receivers; every message reaches all receivers.

use std::hint::black_box;

use super::Arrived;
use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::settings::CHANNEL_OPS;
use crate::threads::solo;

const RECEIVERS: usize = 4;
/// The capacity of a channel, which holds at most one message here.
const CAPACITY: usize = 16;

/// A channel whose messages reach every receiver.
trait Broadcast {
    type Sender;
    type Receiver;
    fn new() -> (Self::Sender, [Self::Receiver; RECEIVERS]);
    fn send(sender: &Self::Sender, message: u64) -> bool;
    fn try_recv(receiver: &mut Self::Receiver) -> Option<u64>;
}

struct Ours;

impl Broadcast for Ours {
    type Sender = blitz_io_channel::broadcast::Sender<u64>;
    type Receiver = blitz_io_channel::broadcast::Receiver<u64>;
    fn new() -> (Self::Sender, [Self::Receiver; RECEIVERS]) {
        let (sender, _) = blitz_io_channel::broadcast::channel(CAPACITY);
        let receivers = std::array::from_fn(|_| sender.subscribe());
        (sender, receivers)
    }
    #[inline]
    fn send(sender: &Self::Sender, message: u64) -> bool {
        sender.send(message).is_ok()
    }
    #[inline]
    fn try_recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }
}

struct Tokio;

impl Broadcast for Tokio {
    type Sender = tokio::sync::broadcast::Sender<u64>;
    type Receiver = tokio::sync::broadcast::Receiver<u64>;
    fn new() -> (Self::Sender, [Self::Receiver; RECEIVERS]) {
        let (sender, _) = tokio::sync::broadcast::channel(CAPACITY);
        let receivers = std::array::from_fn(|_| sender.subscribe());
        (sender, receivers)
    }
    #[inline]
    fn send(sender: &Self::Sender, message: u64) -> bool {
        sender.send(message).is_ok()
    }
    #[inline]
    fn try_recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }
}

struct AsyncBroadcast;

impl Broadcast for AsyncBroadcast {
    type Sender = async_broadcast::Sender<u64>;
    type Receiver = async_broadcast::Receiver<u64>;
    fn new() -> (Self::Sender, [Self::Receiver; RECEIVERS]) {
        // Without any receiver the channel would close.
        let (sender, first) = async_broadcast::broadcast(CAPACITY);
        let receivers = std::array::from_fn(|_| first.new_receiver());
        (sender, receivers)
    }
    #[inline]
    fn send(sender: &Self::Sender, message: u64) -> bool {
        sender.try_broadcast(message).is_ok()
    }
    #[inline]
    fn try_recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }
}

/// One contender's body.
type Body = fn(&Context) -> Measured;

const PEERS: [(&str, Body); 3] = [
    (OURS, one_to_four::<Ours>),
    ("tokio", one_to_four::<Tokio>),
    ("async-broadcast", one_to_four::<AsyncBroadcast>),
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let title = "Broadcast send, 4 receivers";
    let scenario = Scenario::new(2, "broadcast", title, CHANNEL_OPS);
    vec![
        PEERS
            .iter()
            .fold(scenario, |s, &(name, body)| s.with(name, body)),
    ]
}

fn one_to_four<B: Broadcast>(cx: &Context) -> Measured {
    let (sender, mut receivers) = B::new();
    let (span, (sent, arrived)) = solo(|| {
        let mut sent = 0u64;
        let mut arrived = Arrived::default();
        for message in 0..cx.ops {
            sent += u64::from(B::send(black_box(&sender), message));
            for receiver in &mut receivers {
                if let Some(message) = B::try_recv(black_box(receiver)) {
                    arrived.note(message);
                }
            }
        }
        (sent, arrived)
    });
    verify("messages that were sent", cx.ops, sent)?;
    arrived.verify(cx.ops, RECEIVERS as u64)?;
    Ok(Sample::new(span, cx.ops))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::tests::context;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A channel whose last receiver gets nothing.
    struct Unfair;

    impl Broadcast for Unfair {
        type Sender = Rc<Cell<u64>>;
        type Receiver = (usize, Rc<Cell<u64>>);
        fn new() -> (Self::Sender, [Self::Receiver; RECEIVERS]) {
            let sender = Self::Sender::default();
            let receivers = std::array::from_fn(|i| (i, sender.clone()));
            (sender, receivers)
        }
        fn send(sender: &Self::Sender, message: u64) -> bool {
            sender.set(message);
            true
        }
        fn try_recv((member, value): &mut Self::Receiver) -> Option<u64> {
            (*member < 3).then(|| value.get())
        }
    }

    #[test]
    fn a_receiver_without_messages_is_caught() {
        let failure = one_to_four::<Unfair>(&context()).unwrap_err().to_string();
        assert_eq!(failure, "messages that arrived: expected 8000, found 6000");
    }
}
