//! A channel in memory of the caller.
//!
//! Both ends borrow the slot, and reach the cell only in their own methods. So an end may be
//! dropped or forgotten. While it can be used, it keeps the slot where it is. When it cannot,
//! nothing touches the slot on its behalf. Wakers in the cell do not point to it. Values and
//! wakers of forgotten ends are dropped when the slot is used again or dropped itself.

use super::core::Core;
use super::{Receiver, Sender};
use crate::macros::opaque_debug;

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
pub struct Slot<T>(Core<T>);

/// The end of a [`Slot`] that sends.
pub type SlotSender<'a, T> = Sender<T, &'a Core<T>>;

/// The end of a [`Slot`] that receives: a future of the value.
pub type SlotReceiver<'a, T> = Receiver<T, &'a Core<T>>;

impl<T> Slot<T> {
    blitz_io_core::const_unless_loom! {
        /// Creates an empty slot.
        #[must_use]
        pub const fn new() -> Self {
            Self(Core::new())
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
    pub fn channel(&mut self) -> (SlotSender<'_, T>, SlotReceiver<'_, T>) {
        self.0.clear();
        let core = &self.0;
        (Sender::new(core), Receiver::new(core))
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

opaque_debug!(impl<T> Slot<T>);
