//! `Permit`, `PermitIterator` and `OwnedPermit`: room that is kept.

use std::fmt;
use std::iter::FusedIterator;
use std::mem;

use super::sender::Sender;
use super::tx::Tx;
use crate::model::model_has_failed;

/// Room for one value, kept by [`Sender::reserve`] or [`Sender::try_reserve`].
/// Dropped without being used, it gives the room back.
pub struct Permit<'a, T> {
    pub(super) tx: &'a Tx<T>,
}

impl<T> Permit<'_, T> {
    /// Sends a value into the reserved room. It never waits. If the receiver has been dropped,
    /// the value is dropped with the channel.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.try_reserve().unwrap();
    /// permit.send(7);
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// ```
    pub fn send(self, value: T) {
        let tx = self.tx;
        mem::forget(self);
        tx.send_permitted(value);
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        if !model_has_failed() {
            self.tx.give_back(1);
        }
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("chan", self.tx).finish()
    }
}

/// Room for several values, reserved by [`Sender::reserve_many`] or [`Sender::try_reserve_many`]:
/// one [`Permit`] after the other. Dropping it returns the remaining room.
pub struct PermitIterator<'a, T> {
    pub(super) tx: &'a Tx<T>,
    pub(super) n: usize,
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.n = self.n.checked_sub(1)?;
        Some(Permit { tx: self.tx })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n, Some(self.n))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        if !model_has_failed() {
            // There never are more than a `u32` holds.
            self.tx.give_back(self.n as u32);
        }
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitIterator")
            .field("chan", self.tx)
            .field("capacity", &self.n)
            .finish()
    }
}

/// Room for one value, and the sender, kept by [`Sender::reserve_owned`] or
/// [`Sender::try_reserve_owned`]. Dropped without being used, it gives the room
/// back.
pub struct OwnedPermit<T> {
    /// `None` when it has been used.
    pub(super) tx: Option<Tx<T>>,
}

impl<T> OwnedPermit<T> {
    /// Sends a value into the reserved room, and returns the sender. It never waits. If the
    /// receiver has been dropped, the value is dropped with the channel.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let tx = tx.try_reserve_owned().unwrap().send(7);
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// # drop(tx);
    /// ```
    pub fn send(mut self, value: T) -> Sender<T> {
        let tx = self.take();
        tx.send_permitted(value);
        Sender::new(tx)
    }

    /// Gives the room back, and returns the sender.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<u8>(1);
    /// let tx = tx.try_reserve_owned().unwrap().release();
    /// assert_eq!(tx.capacity(), 1);
    /// ```
    pub fn release(mut self) -> Sender<T> {
        let tx = self.take();
        tx.give_back(1);
        Sender::new(tx)
    }

    /// Returns whether both are for the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        let both = self.tx.as_ref().zip(other.tx.as_ref());
        both.is_some_and(|(one, other)| one.is(other))
    }

    /// Returns whether it is for the channel of `sender`.
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.tx.as_ref().is_some_and(|tx| tx.is(&sender.tx))
    }

    fn take(&mut self) -> Tx<T> {
        self.tx.take().expect("a permit is used by value")
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(tx) = self.tx.take().filter(|_| !model_has_failed()) {
            tx.give_back(1);
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit")
            .field("chan", &self.tx)
            .finish()
    }
}
