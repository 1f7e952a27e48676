//! Channels between tasks: four producers, four consumers, room for 1000
//! messages.
//!
//! Tokio has no channel with several receivers. The rows under its name run what its users
//! write: an `mpsc` channel whose receiver is behind a mutex.

use super::Arrived;
use crate::scenarios::contended_by_tasks;
use crate::scenarios::prelude::*;
use crate::tasks::{Host, SharedRuntime};

const PRODUCERS: usize = 4;
const CONSUMERS: usize = 4;
const CAPACITY: usize = 1000;

/// A bounded channel whose two ends can be cloned.
trait Channel: 'static {
    type Sender: Clone + Send + Sync + 'static;
    type Receiver: Clone + Send + Sync + 'static;
    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver);
    fn send(sender: &Self::Sender, message: u64) -> impl Future<Output = bool> + Send;
    /// Returns the next message, or `None` if the last sender was dropped.
    fn recv(receiver: &Self::Receiver) -> impl Future<Output = Option<u64>> + Send;
}

/// Writes one `impl` for each channel: its ends, how it is made, and the two operations.
macro_rules! channels {
    ($($name:ident: $sender:ty, $receiver:ty, $bounded:expr,
        |$from:ident, $message:ident| $send:expr, |$to:ident| $recv:expr;)+) => {
        $(struct $name;

        impl Channel for $name {
            type Sender = $sender;
            type Receiver = $receiver;
            fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
                $bounded(capacity)
            }
            #[inline]
            async fn send($from: &Self::Sender, $message: u64) -> bool {
                $send.await.is_ok()
            }
            #[inline]
            async fn recv($to: &Self::Receiver) -> Option<u64> {
                // Some return an `Option`, some a `Result`.
                $recv.await.into_iter().next()
            }
        })+
    };
}

channels! {
    Ours: blitz_io_channel::mpmc::Sender<u64>, blitz_io_channel::mpmc::Receiver<u64>,
        blitz_io_channel::mpmc::bounded, |s, message| s.send(message), |r| r.recv();
    Tokio: tokio::sync::mpsc::Sender<u64>, Arc<tokio::sync::Mutex<tokio::sync::mpsc::Receiver<u64>>>,
        |capacity| {
            let (sender, receiver) = tokio::sync::mpsc::channel(capacity);
            (sender, Arc::new(tokio::sync::Mutex::new(receiver)))
        }, |s, message| s.send(message), |r| r.lock().await.recv();
    AsyncChannel: async_channel::Sender<u64>, async_channel::Receiver<u64>,
        async_channel::bounded, |s, message| s.send(message), |r| r.recv();
    Flume: flume::Sender<u64>, flume::Receiver<u64>,
        flume::bounded, |s, message| s.send_async(message), |r| r.recv_async();
    Kanal: kanal::AsyncSender<u64>, kanal::AsyncReceiver<u64>,
        kanal::bounded_async, |s, message| s.send(message), |r| r.recv();
}

const PEERS: [(&str, Body); 5] = [
    (OURS, four_to_four::<Ours, SharedRuntime>),
    ("tokio", four_to_four::<Tokio, SharedRuntime>),
    ("async-channel", four_to_four::<AsyncChannel, SharedRuntime>),
    ("flume", four_to_four::<Flume, SharedRuntime>),
    ("kanal", four_to_four::<Kanal, SharedRuntime>),
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let what = (
        "mpmc_tasks",
        "MPMC, 4 producers and 4 consumers, capacity 1000",
    );
    let on_own = on_own_runtimes!(four_to_four: Ours, Tokio, AsyncChannel);
    contended_by_tasks(what, PEERS, on_own).into()
}

fn four_to_four<C: Channel, G: Host>(cx: &Context) -> Measured {
    let share = cx.share(PRODUCERS);
    let (sender, receiver) = C::bounded(CAPACITY);
    let mut senders = vec![sender; PRODUCERS];
    let mut receivers = vec![receiver; CONSUMERS];
    let mut roles = Vec::new();
    // Senders and receivers alternate, so that neither side comes first.
    while let (Some(sender), Some(receiver)) = (senders.pop(), receivers.pop()) {
        let first = share * (roles.len() as u64 / 2);
        roles.push(Role::<C>::Produces(sender, first..first + share));
        roles.push(Role::<C>::Consumes(receiver));
    }
    let roles = std::cell::RefCell::new(roles.into_iter());
    let (span, arrived) = G::start_all(cx.workers, PRODUCERS + CONSUMERS, |_| {
        let role = roles.borrow_mut().next();
        role.expect("as many roles as tasks").play()
    });
    let total = share * PRODUCERS as u64;
    let arrived = arrived.into_iter().fold(Arrived::default(), Arrived::and);
    arrived.verify(total, 1)?;
    Ok(Sample::new(span, total))
}

/// The part of one task.
enum Role<C: Channel> {
    Produces(C::Sender, std::ops::Range<u64>),
    Consumes(C::Receiver),
}

impl<C: Channel> Role<C> {
    /// Plays the part to its end and returns the messages that arrived here.
    async fn play(self) -> Arrived {
        let mut arrived = Arrived::default();
        match self {
            Role::Produces(sender, messages) => {
                for message in messages {
                    if !C::send(&sender, message).await {
                        break;
                    }
                }
            }
            Role::Consumes(receiver) => {
                while let Some(message) = C::recv(&receiver).await {
                    arrived.note(message);
                }
            }
        }
        arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A channel that sends every hundredth message twice.
    struct Stutters;

    impl Channel for Stutters {
        type Sender = async_channel::Sender<u64>;
        type Receiver = async_channel::Receiver<u64>;
        fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
            async_channel::bounded(capacity)
        }
        async fn send(sender: &Self::Sender, message: u64) -> bool {
            if message % 100 == 99 {
                let _ = sender.send(message).await;
            }
            sender.send(message).await.is_ok()
        }
        async fn recv(receiver: &Self::Receiver) -> Option<u64> {
            receiver.recv().await.ok()
        }
    }

    #[test]
    fn doubled_messages_are_caught() {
        let measured = four_to_four::<Stutters, SharedRuntime>(&context());
        assert_caught(measured, "messages that arrived: expected 2000, found 2020");
    }
}
