//! Channels on one thread: filling, draining, back and forth.
//!
//! All contenders use the `try` forms, the only ones that every channel has. The channel
//! is made before the clock starts, so memory that a channel takes at its creation is not
//! counted, and memory that it takes during use is.
use std::hint::black_box;

use super::Arrived;
use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::settings::CHANNEL_OPS;
use crate::threads::solo;

/// A bounded channel with one receiver.
trait Channel {
    type Sender;
    type Receiver;
    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver);
    /// Sends a message. Returns whether there was room.
    fn try_send(sender: &Self::Sender, message: u64) -> bool;
    fn try_recv(receiver: &mut Self::Receiver) -> Option<u64>;
}

/// Implements the trait for channels whose functions have the same names.
macro_rules! channels {
    ($($(#[$meta:meta])* $name:ident: $($path:ident)::+ {
        $bounded:ident, $sender:ident, $receiver:ident
    })+) => {$(
        $(#[$meta])*
        struct $name;

        impl Channel for $name {
            type Sender = $($path)::+::$sender<u64>;
            type Receiver = $($path)::+::$receiver<u64>;
            fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
                $($path)::+::$bounded(capacity)
            }
            #[inline]
            fn try_send(sender: &Self::Sender, message: u64) -> bool {
                sender.try_send(message).is_ok()
            }
            #[inline]
            fn try_recv(receiver: &mut Self::Receiver) -> Option<u64> {
                receiver.try_recv().ok()
            }
        }
    )+};
}

channels! {
    Ours: blitz_io_channel::mpsc { channel, Sender, Receiver }
    Tokio: tokio::sync::mpsc { channel, Sender, Receiver }
    AsyncChannel: async_channel { bounded, Sender, Receiver }
    Flume: flume { bounded, Sender, Receiver }
    Crossbeam: crossbeam_channel { bounded, Sender, Receiver }
    Std: std::sync::mpsc { sync_channel, SyncSender, Receiver }
}

/// Kanal's `try` forms report success in the value, not in the error.
struct Kanal;

impl Channel for Kanal {
    type Sender = kanal::Sender<u64>;
    type Receiver = kanal::Receiver<u64>;
    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        kanal::bounded(capacity)
    }
    #[inline]
    fn try_send(sender: &Self::Sender, message: u64) -> bool {
        sender.try_send(message) == Ok(true)
    }
    #[inline]
    fn try_recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok().flatten()
    }
}

contenders! {
    <C: Channel> {
        fill: Body = fill::<C>,
        drain: Body = drain::<C>,
        round_trip: Body = round_trip::<C>,
    }
    OURS => Ours,
    "tokio" => Tokio,
    "async-channel" => AsyncChannel,
    "flume" => Flume,
    "kanal" => Kanal,
    "crossbeam" => Crossbeam,
    "std" => Std,
}

/// One contender's body.
type Body = fn(&Context) -> Measured;

pub(super) fn scenarios() -> Vec<Scenario> {
    let fill = Scenario::new(2, "channel_send", "Channel send to fill", CHANNEL_OPS);
    let drain = Scenario::new(2, "channel_recv", "Channel recv to drain", CHANNEL_OPS);
    let round_trip = Scenario::new(
        2,
        "channel_round_trip",
        "Channel round trip, capacity 1",
        CHANNEL_OPS,
    );
    vec![
        fill.with_all(PEERS.map(|peer| (peer.name, peer.fill))),
        drain.with_all(PEERS.map(|peer| (peer.name, peer.drain))),
        round_trip.with_all(PEERS.map(|peer| (peer.name, peer.round_trip))),
    ]
}

fn fill<C: Channel>(cx: &Context) -> Measured {
    let (sender, mut receiver) = C::bounded(cx.ops as usize);
    let (span, sent) = solo(|| send_all::<C>(&sender, cx.ops));
    verify("messages that found room", cx.ops, sent)?;
    receive_all::<C>(&mut receiver).verify(cx.ops, 1)?;
    Ok(Sample::new(span, cx.ops))
}

fn drain<C: Channel>(cx: &Context) -> Measured {
    let (sender, mut receiver) = C::bounded(cx.ops as usize);
    let sent = send_all::<C>(&sender, cx.ops);
    verify("messages that found room", cx.ops, sent)?;
    // Exactly this many: a try that finds nothing is not an operation.
    let (span, arrived) = solo(|| {
        let mut arrived = Arrived::default();
        for _ in 0..cx.ops {
            if let Some(message) = C::try_recv(black_box(&mut receiver)) {
                arrived.note(message);
            }
        }
        arrived
    });
    arrived.verify(cx.ops, 1)?;
    Ok(Sample::new(span, cx.ops))
}

fn round_trip<C: Channel>(cx: &Context) -> Measured {
    let (sender, mut receiver) = C::bounded(1);
    let (span, arrived) = solo(|| {
        let mut arrived = Arrived::default();
        for message in 0..cx.ops {
            C::try_send(black_box(&sender), message);
            if let Some(message) = C::try_recv(black_box(&mut receiver)) {
                arrived.note(message);
            }
        }
        arrived
    });
    arrived.verify(cx.ops, 1)?;
    Ok(Sample::new(span, cx.ops))
}

fn send_all<C: Channel>(sender: &C::Sender, messages: u64) -> u64 {
    let mut sent = 0u64;
    for message in 0..messages {
        sent += u64::from(C::try_send(black_box(sender), message));
    }
    sent
}

fn receive_all<C: Channel>(receiver: &mut C::Receiver) -> Arrived {
    let mut arrived = Arrived::default();
    while let Some(message) = C::try_recv(receiver) {
        arrived.note(message);
    }
    arrived
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::tests::context;
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    /// A channel that silently loses every hundredth message.
    struct Leaky;

    impl Channel for Leaky {
        type Sender = Rc<RefCell<VecDeque<u64>>>;
        type Receiver = Rc<RefCell<VecDeque<u64>>>;
        fn bounded(_capacity: usize) -> (Self::Sender, Self::Receiver) {
            let queue = Self::Sender::default();
            (queue.clone(), queue)
        }
        fn try_send(sender: &Self::Sender, message: u64) -> bool {
            if message % 100 != 99 {
                sender.borrow_mut().push_back(message);
            }
            true
        }
        fn try_recv(receiver: &mut Self::Receiver) -> Option<u64> {
            receiver.borrow_mut().pop_front()
        }
    }

    #[test]
    fn a_leaky_channel_is_caught() {
        for body in [fill::<Leaky>, drain::<Leaky>, round_trip::<Leaky>] {
            let failure = body(&context()).unwrap_err().to_string();
            assert_eq!(failure, "messages that arrived: expected 2000, found 1980");
        }
    }
}
