//! Channels between threads: one to one, four to one, four to four, with room for 0, 1,
//! 100, 1000 and any number of messages. Capacity 0 is a rendezvous: sender and receiver
//! meet.
//!
//! blitz-io takes part with the channel that a user would choose: `mpsc` with one receiver
//! and room, and `mpmc` with several receivers or if values are handed over one by one
//! (capacity 1 or 0; `mpsc` has no rendezvous, as Tokio's has none). A program that comes
//! from Tokio has `mpsc` with a capacity of 1, which has rows of its own. The titles say
//! which of our channels takes part.

use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::mpsc as std_mpsc;

use blitz_io_channel::{mpmc, mpsc};
use tokio::sync::mpsc as tokio_mpsc;

use super::Arrived;
use crate::scenarios::prelude::*;

/// The number of messages that have room; `None` is any number.
pub(super) type Capacity = Option<usize>;

/// A channel whose ends block.
pub(super) trait Channel {
    type Sender: Clone + Send + 'static;
    type Receiver: Send + 'static;
    /// Creates a channel with `receivers` receivers, of a shape that the contender
    /// supports.
    fn make(capacity: Capacity, receivers: usize) -> (Self::Sender, Vec<Self::Receiver>);
    /// Sends a message. Returns whether a receiver is left.
    fn send(sender: &Self::Sender, message: u64) -> bool;
    /// Returns the next message, or `None` if the last sender was dropped.
    fn recv(receiver: &mut Self::Receiver) -> Option<u64>;
}

/// Writes one `impl` for each channel: its ends, how it is made, and the two functions.
macro_rules! channels {
    ($($(#[$meta:meta])* $name:ident {
        $sender:ty, $receiver:ty, $make:expr, $send:ident, $recv:ident
    })+) => {$(
        $(#[$meta])*
        pub(super) struct $name;

        impl Channel for $name {
            type Sender = $sender;
            type Receiver = $receiver;
            fn make(capacity: Capacity, receivers: usize) -> (Self::Sender, Vec<Self::Receiver>) {
                $make(capacity, receivers)
            }
            #[inline]
            fn send(sender: &Self::Sender, message: u64) -> bool {
                sender.$send(message).is_ok()
            }
            #[inline]
            fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
                // Some return an `Option`, some a `Result`.
                receiver.$recv().into_iter().next()
            }
        }
    )+};
}

channels! {
    OursBounded { mpsc::Sender<u64>, mpsc::Receiver<u64>,
        |capacity, _| one(mpsc::channel(room(capacity))), blocking_send, blocking_recv }
    OursUnbounded { mpsc::UnboundedSender<u64>, mpsc::UnboundedReceiver<u64>,
        |_, _| one(mpsc::unbounded_channel()), send, blocking_recv }
    OursShared { mpmc::Sender<u64>, mpmc::Receiver<u64>,
        |capacity, receivers| several(by(capacity, mpmc::bounded, mpmc::unbounded), receivers),
        blocking_send, blocking_recv }
    StdBounded { std_mpsc::SyncSender<u64>, std_mpsc::Receiver<u64>,
        |capacity, _| one(std_mpsc::sync_channel(room(capacity))), send, recv }
    StdUnbounded { std_mpsc::Sender<u64>, std_mpsc::Receiver<u64>,
        |_, _| one(std_mpsc::channel()), send, recv }
    TokioBounded { tokio_mpsc::Sender<u64>, tokio_mpsc::Receiver<u64>,
        |capacity, _| one(tokio_mpsc::channel(room(capacity))), blocking_send, blocking_recv }
    TokioUnbounded { tokio_mpsc::UnboundedSender<u64>, tokio_mpsc::UnboundedReceiver<u64>,
        |_, _| one(tokio_mpsc::unbounded_channel()), send, blocking_recv }
    Crossbeam { crossbeam_channel::Sender<u64>, crossbeam_channel::Receiver<u64>,
        |capacity, receivers| several(
            by(capacity, crossbeam_channel::bounded, crossbeam_channel::unbounded), receivers),
        send, recv }
    Kanal { kanal::Sender<u64>, kanal::Receiver<u64>,
        |capacity, receivers| several(by(capacity, kanal::bounded, kanal::unbounded), receivers),
        send, recv }
    Flume { flume::Sender<u64>, flume::Receiver<u64>,
        |capacity, receivers| several(by(capacity, flume::bounded, flume::unbounded), receivers),
        send, recv }
    CrossfireMpscArray { crossfire::MTx<crossfire::mpsc::Array<u64>>,
        crossfire::Rx<crossfire::mpsc::Array<u64>>,
        |capacity, _| one(tuned(|| crossfire::mpsc::bounded_blocking(room(capacity)))),
        send, recv }
    CrossfireMpscList { crossfire::MTx<crossfire::mpsc::List<u64>>,
        crossfire::Rx<crossfire::mpsc::List<u64>>,
        |_, _| one(tuned(crossfire::mpsc::unbounded_blocking)), send, recv }
    CrossfireMpmcArray { crossfire::MTx<crossfire::mpmc::Array<u64>>,
        crossfire::MRx<crossfire::mpmc::Array<u64>>,
        |capacity, receivers| several(
            tuned(|| crossfire::mpmc::bounded_blocking(room(capacity))), receivers),
        send, recv }
    CrossfireMpmcList { crossfire::MTx<crossfire::mpmc::List<u64>>,
        crossfire::MRx<crossfire::mpmc::List<u64>>,
        |_, receivers| several(tuned(crossfire::mpmc::unbounded_blocking), receivers),
        send, recv }
    AsyncChannel { async_channel::Sender<u64>, async_channel::Receiver<u64>,
        |capacity, receivers| several(
            by(capacity, async_channel::bounded, async_channel::unbounded), receivers),
        send_blocking, recv_blocking }
}

/// Returns the capacity of a channel that has one.
fn room(capacity: Capacity) -> usize {
    capacity.expect("a bounded channel is asked for")
}

/// Creates a bounded or an unbounded channel.
fn by<C>(capacity: Capacity, bounded: fn(usize) -> C, unbounded: fn() -> C) -> C {
    capacity.map_or_else(unbounded, bounded)
}

/// Creates a channel of crossfire, which first inspects the machine: its documentation
/// tells users to begin with that.
fn tuned<C>(make: impl FnOnce() -> C) -> C {
    crossfire::detect_backoff_cfg();
    make()
}

fn one<S, R>((sender, receiver): (S, R)) -> (S, Vec<R>) {
    (sender, vec![receiver])
}

fn several<S, R: Clone>((sender, receiver): (S, R), receivers: usize) -> (S, Vec<R>) {
    (sender, vec![receiver; receivers])
}

/// How the scenarios differ.
#[derive(Clone, Copy)]
struct Shape {
    producers: usize,
    consumers: usize,
    capacity: Capacity,
    /// The name of our channel that takes part.
    ours: &'static str,
}

const MPSC: &str = "mpsc";
const MPMC: &str = "mpmc";

type Receivers = RangeInclusive<usize>;
const ONE: Receivers = 1..=1;
const MANY: Receivers = 2..=usize::MAX;
const ANY: Receivers = 1..=usize::MAX;

type Capacities = RangeInclusive<Capacity>;
const UNBOUNDED: Capacities = None..=None;
const BOUNDED: Capacities = Some(0)..=Some(usize::MAX);
const WITH_ROOM: Capacities = Some(1)..=Some(usize::MAX);
const ALL: Capacities = None..=Some(usize::MAX);

/// A contender, its body, and the numbers of receivers and the capacities that its channel has.
type Peer = (&'static str, BodyOf<Shape>, Receivers, Capacities);

const PEERS: [Peer; 13] = [
    ("std", through::<StdUnbounded>, ONE, UNBOUNDED),
    ("std", through::<StdBounded>, ONE, BOUNDED),
    ("tokio", through::<TokioUnbounded>, ONE, UNBOUNDED),
    ("tokio", through::<TokioBounded>, ONE, WITH_ROOM),
    ("crossfire", through::<CrossfireMpscList>, ONE, UNBOUNDED),
    ("crossfire", through::<CrossfireMpscArray>, ONE, WITH_ROOM),
    ("crossfire", through::<CrossfireMpmcList>, MANY, UNBOUNDED),
    ("crossfire", through::<CrossfireMpmcArray>, MANY, WITH_ROOM),
    ("crossbeam", through::<Crossbeam>, ANY, ALL),
    ("kanal", through::<Kanal>, ANY, ALL),
    ("flume", through::<Flume>, ANY, ALL),
    ("async-channel", through::<AsyncChannel>, ANY, UNBOUNDED),
    ("async-channel", through::<AsyncChannel>, ANY, WITH_ROOM),
];

impl Shape {
    /// Creates a shape with our channel that fits it best.
    fn new(producers: usize, consumers: usize, capacity: Capacity) -> Shape {
        let ours = match (consumers, capacity) {
            (1, None | Some(2..)) => MPSC,
            _ => MPMC,
        };
        Shape {
            producers,
            consumers,
            capacity,
            ours,
        }
    }

    fn body_of_ours(self) -> BodyOf<Shape> {
        match (self.ours, self.capacity) {
            (MPMC, _) => through::<OursShared>,
            (_, None) => through::<OursUnbounded>,
            (_, Some(_)) => through::<OursBounded>,
        }
    }

    /// Returns fewer operations where nearly every message costs a sleep and a wake.
    fn ops(self) -> u64 {
        match self.capacity {
            Some(0 | 1) => 20_000,
            _ => 1_000_000,
        }
    }

    fn scenario(self) -> Scenario {
        let (producers, consumers) = (self.producers, self.consumers);
        let (mut id, capacity) = match self.capacity {
            None => ("unbounded".to_owned(), "unbounded".to_owned()),
            Some(0) => ("0".to_owned(), "rendezvous".to_owned()),
            Some(n) => (n.to_string(), format!("capacity {n}")),
        };
        let ours = self.ours;
        if ours != Shape::new(producers, consumers, self.capacity).ours {
            id = format!("{id}_{ours}");
        }
        let id = format!("channel_{producers}_{consumers}_{id}");
        let title = format!("Channel {producers} → {consumers}, {capacity} (ours: {ours})");
        let peers = PEERS.into_iter().filter(|(.., receivers, capacities)| {
            receivers.contains(&consumers) && capacities.contains(&self.capacity)
        });
        Scenario::new(4, id, title, self.ops())
            .threads(producers + consumers)
            .with_each(self, [(OURS, self.body_of_ours())])
            .with_each(self, peers.map(|(name, body, ..)| (name, body)))
    }
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for (producers, consumers) in [(1, 1), (4, 1), (4, 4)] {
        for capacity in [Some(0), Some(1), Some(100), Some(1000), None] {
            let shape = Shape::new(producers, consumers, capacity);
            scenarios.push(shape.scenario());
            if (consumers, capacity) == (1, Some(1)) {
                let over_mpsc = Shape {
                    ours: MPSC,
                    ..shape
                };
                scenarios.push(over_mpsc.scenario());
            }
        }
    }
    scenarios
}

/// The part of one thread, which returns the messages that arrived there.
type Role = Box<dyn FnOnce() -> Arrived + Send>;

fn through<C: Channel>(cx: &Context, shape: Shape) -> Measured {
    let producers = shape.producers;
    let share = cx.share(producers);
    let (sender, receivers) = C::make(shape.capacity, shape.consumers);
    let mut roles: Vec<Role> = Vec::new();
    for (sender, first) in vec![sender; producers].into_iter().zip(0..) {
        let mut messages = first * share..(first + 1) * share;
        roles.push(Box::new(move || {
            messages.all(|message| C::send(&sender, message));
            Arrived::default()
        }));
    }
    for mut receiver in receivers {
        roles.push(Box::new(move || {
            let mut arrived = Arrived::default();
            while let Some(message) = C::recv(&mut receiver) {
                arrived.note(message);
            }
            arrived
        }));
    }
    // Each thread takes its role before the clock starts.
    let roles = Mutex::new(roles);
    let (span, arrived) = start_all(producers + shape.consumers, |_| {
        let role = roles.lock().expect("no thread panics in there").pop();
        role.expect("as many roles as threads")
    });
    let total = share * producers as u64;
    let arrived = arrived.into_iter().fold(Arrived::default(), Arrived::and);
    arrived.verify(total, 1)?;
    Ok(Sample::new(span, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A channel that silently loses every hundredth message.
    struct Leaky;

    impl Channel for Leaky {
        type Sender = std_mpsc::Sender<u64>;
        type Receiver = std_mpsc::Receiver<u64>;
        fn make(_: Capacity, _: usize) -> (Self::Sender, Vec<Self::Receiver>) {
            one(std_mpsc::channel())
        }
        fn send(sender: &Self::Sender, message: u64) -> bool {
            message % 100 == 99 || sender.send(message).is_ok()
        }
        fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
            receiver.recv().ok()
        }
    }

    #[test]
    fn a_leaky_channel_is_caught() {
        let shape = Shape::new(4, 1, None);
        let words = "messages that arrived: expected 2000, found 1980";
        assert_caught(through::<Leaky>(&context(), shape), words);
    }
}
