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

mod cell;
mod ends;
#[cfg_attr(loom, path = "heap_model.rs")]
mod heap;

use blitz_io_core::{const_unless_loom, debug_is_name, default_is_new};

use cell::Cell;

pub use ends::{Receiver, Sender};

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
    let (tx, rx) = heap::Heap::new();
    (Sender::new(tx), Receiver::new(rx))
}

/// Memory for a channel for one value, for one use after another. Nothing is
/// allocated.
///
/// The ends borrow the slot. So this is for scoped threads, and for futures that
/// are joined, not for tasks that are spawned.
///
/// ```
/// use blitz_io::sync::oneshot::Slot;
///
/// let mut slot = Slot::new();
/// for round in 0..3 {
///     let (tx, rx) = slot.channel();
///     std::thread::scope(|scope| {
///         scope.spawn(move || tx.send(round));
///         assert_eq!(rx.blocking_recv(), Ok(round));
///     });
/// }
/// ```
///
/// While an end can still be used, the slot can be neither used again nor moved nor
/// dropped:
///
/// ```compile_fail,E0499
/// # use blitz_io::sync::oneshot::Slot;
/// let mut slot = Slot::new();
/// let (tx, _rx) = slot.channel();
/// let (_tx, rx) = slot.channel();
/// tx.send(1).unwrap();
/// ```
// Both ends borrow the slot, and reach the cell only in their own methods. So an end may be
// dropped or forgotten. While it can be used, it keeps the slot where it is. When it cannot,
// nothing touches the slot on its behalf. Wakers in the cell do not point to it. The slot drops
// values and wakers of forgotten ends when it is used again or dropped itself.
pub struct Slot<T>(Cell<T>);

/// The end of a [`Slot`] that sends.
pub type SlotSender<'a, T> = Sender<T, &'a Cell<T>>;

/// The end of a [`Slot`] that receives: a future of the value.
pub type SlotReceiver<'a, T> = Receiver<T, &'a Cell<T>>;

impl<T> Slot<T> {
    const_unless_loom! {
        /// Creates an empty slot.
        #[must_use]
        pub const fn new() -> Self {
            Self(Cell::new())
        }
    }

    /// Makes a channel here. It can be called again when both ends have been dropped.
    ///
    /// ```
    /// use blitz_io::sync::oneshot::Slot;
    ///
    /// # async fn double(x: u32) -> u32 { 2 * x }
    /// # pollster::block_on(async {
    /// let mut slot = Slot::new();
    /// let (tx, rx) = slot.channel();
    /// let (answer, ()) = blitz_io::join!(rx, async { tx.send(double(21).await).unwrap() });
    /// assert_eq!(answer, Ok(42));
    /// # });
    /// ```
    #[track_caller]
    pub fn channel(&mut self) -> (SlotSender<'_, T>, SlotReceiver<'_, T>) {
        self.0.clear();
        let core = &self.0;
        (Sender::new(core), Receiver::new(core))
    }
}

default_is_new!(Slot<T>);

debug_is_name!(impl<T> Slot<T>);

/// Errors of receiving.
pub mod error {
    use blitz_io_core::error_text;

    pub use crate::timed::RecvTimeoutError;

    /// The sender was dropped without sending, or the receiver was closed before
    /// anything was sent.
    #[derive(Debug, Eq, PartialEq, Clone)]
    pub struct RecvError(pub(super) ());

    /// The error of an attempt to receive.
    #[derive(Debug, Eq, PartialEq, Clone)]
    pub enum TryRecvError {
        /// No value has been sent yet.
        Empty,
        /// No value will be sent any more, or the value has been received already.
        Closed,
    }

    error_text! {
        Display for RecvError {
            _ => "channel closed",
        }
        Display for TryRecvError {
            Self::Empty => "channel empty",
            Self::Closed => "channel closed",
        }
    }
}
