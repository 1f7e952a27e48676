//! One value, from one end to the other.
//!
//! [`channel`] makes the two ends. The sender sends at once, without waiting. The receiver is a
//! future; it can also check for a value ([`try_recv`](Receiver::try_recv)) or block its thread
//! ([`blocking_recv`](Receiver::blocking_recv)). Dropping either end ends the other's wait.
//!
//! Names and behaviour are those of `tokio::sync::oneshot`. No runtime is needed.
//!
//! ```
//! use blitz_io::sync::oneshot;
//!
//! # pollster::block_on(async {
//! let (tx, rx) = oneshot::channel();
//! std::thread::spawn(move || tx.send(3));
//! assert_eq!(rx.await, Ok(3));
//!
//! let (tx, rx) = oneshot::channel::<u32>();
//! drop(tx);
//! assert!(rx.await.is_err());
//! # });
//! ```
//!
//! # Memory
//!
//! The ends share a cell of about fifty bytes and the value. A thread keeps the cells that it
//! frees, up to a limit, and its next channels use them again. So a thread that makes one channel
//! after the other allocates only for the first. See [`Slot`] for a channel that never allocates.

mod core;
pub mod error;
mod receiver;
mod sender;
mod slot;
mod storage;

pub use receiver::Receiver;
pub use sender::Sender;
pub use slot::{Slot, SlotReceiver, SlotSender};

/// Makes a channel for one value.
///
/// ```
/// use blitz_io::sync::oneshot;
///
/// let (tx, mut rx) = oneshot::channel();
/// assert!(rx.try_recv().is_err());
/// tx.send("hello").unwrap();
/// assert_eq!(rx.try_recv(), Ok("hello"));
/// ```
#[inline]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = storage::Heap::new();
    (Sender::new(tx), Receiver::new(rx))
}
