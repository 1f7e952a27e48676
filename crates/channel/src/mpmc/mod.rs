//! Channels of many senders and many receivers, for tasks and for threads.
//!
//! Each value goes to one receiver. Every end can be cloned and shared, and has
//! three forms of its operation: [`send`](Sender::send) and
//! [`recv`](Receiver::recv) for tasks, [`blocking_send`](Sender::blocking_send) and
//! [`blocking_recv`](Receiver::blocking_recv) for threads (also with a deadline),
//! and [`try_send`](Sender::try_send) and [`try_recv`](Receiver::try_recv), which
//! never wait. A task may send what a thread receives, and the reverse. The
//! names are those of async-channel; timeouts and [`Select`] are crossbeam's.
//!
//! * [`bounded`]`(n)` holds up to `n` values; senders wait while it is full.
//! * [`bounded`]`(0)` holds none: a sender waits for the receiver that takes its
//!   value.
//! * [`unbounded`] grows as far as memory allows; sending never waits.
//!
//! **Order.** Values leave in the order in which they came. Waiters are served in
//! the order of arrival, and none overtakes another. A receive future that is kept without
//! being polled keeps its place in the queue and the value that was assigned to it.
//! Users of async-channel expect that others get the value.
//!
//! **The end.** A channel is closed by [`close`](Sender::close), or when its last sender or its
//! last receiver is dropped. Sending fails from then on. Receivers still get the remaining
//! values; with the last receiver, these are dropped.
//!
//! **Cost.** A step that wakes no waiter takes one atomic read-modify-write. Waiting
//! allocates nothing. A bounded channel takes memory as it fills up.
//!
//! ```
//! use blitz_io::sync::mpmc;
//!
//! let (sender, receiver) = mpmc::bounded(8);
//! let thread = std::thread::spawn(move || {
//!     for n in 1..=3 {
//!         sender.blocking_send(n).unwrap();
//!     }
//! });
//! let sum = pollster::block_on(async { // the crate pollster
//!     let mut sum = 0;
//!     while let Ok(n) = receiver.recv().await {
//!         sum += n;
//!     }
//!     sum
//! });
//! assert_eq!(sum, 6);
//! # thread.join().unwrap();
//! ```

mod blocking;
// Not `channel`, whose name would hide from rustc that `bounded` has this alias.
mod chan;
#[cfg(not(loom))]
mod clock;
mod error;
mod futures;
mod iter;
mod macros;
mod receiver;
mod request;
mod select;
mod sender;
#[cfg(feature = "sink")]
mod sink;
mod state;
#[cfg(feature = "stream")]
mod stream;
mod waiter;
mod weak;
mod woken;

#[doc(inline)]
pub use crate::{__mpmc_select as select, __mpmc_select_biased as select_biased};
#[cfg(not(loom))]
pub use clock::{after, at, never, tick};
pub use error::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError,
    SendTimeoutError, TryReadyError, TryRecvError, TrySelectError, TrySendError,
};
pub use futures::{Closed, Recv, Send};
pub use iter::{IntoIter, Iter, TryIter};
pub use receiver::Receiver;
pub use select::{Select, SelectedOperation};
pub use sender::Sender;
#[cfg(feature = "sink")]
pub use sink::SendSink;
pub use weak::{WeakReceiver, WeakSender};

use chan::Channel;

/// Creates a channel that holds up to `capacity` values. With zero, it holds none,
/// and a sender waits for the receiver that takes its value.
///
/// ```
/// use blitz_io::sync::mpmc::{self, TrySendError};
///
/// let (sender, receiver) = mpmc::bounded(1);
/// sender.try_send(1).unwrap();
/// assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
/// assert_eq!(receiver.try_recv(), Ok(1));
/// ```
#[must_use]
#[doc(alias("channel", "sync_channel"))]
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    ends(capacity)
}

/// Creates a channel that holds as many values as there is memory for.
///
/// ```
/// let (sender, receiver) = blitz_io::sync::mpmc::unbounded();
/// for n in 0..1000 {
///     sender.try_send(n).unwrap();
/// }
/// assert_eq!(receiver.len(), 1000);
/// ```
#[must_use]
#[doc(alias = "unbounded_channel")]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    ends(state::UNLIMITED)
}

fn ends<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let channel = Channel::shown(capacity);
    (Sender::new(channel.clone()), Receiver::new(channel))
}
