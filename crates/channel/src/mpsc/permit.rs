//! `Sender::reserve` and the like, and the permits that they return: room that is kept.

use std::iter::FusedIterator;
use std::mem;

use blitz_io_core::{coop, debug_fields};
use blitz_io_observe::{CalledAt, Kind};

use super::error::{SendError, TrySendError};
use super::sender::Sender;
use super::tx::Tx;
use super::word::MAX_PERMITS;
use crate::events;
use crate::model::model_has_failed;

impl<T> Sender<T> {
    /// Waits for room for one value, and keeps it.
    ///
    /// # Errors
    ///
    /// If the channel is closed.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, nothing is kept, and the
    /// place in the queue is lost.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve().await.unwrap();
    /// assert!(tx.try_send(123).is_err()); // the room is taken
    /// permit.send(456);
    /// assert_eq!(rx.recv().await, Some(456));
    /// # });
    /// ```
    #[track_caller]
    pub fn reserve(&self) -> impl Future<Output = Result<Permit<'_, T>, SendError<()>>> {
        CalledAt::new(async move {
            self.take_permits(1).await?;
            Ok(Permit { tx: &self.tx })
        })
    }

    /// Waits for room for `n` values, and keeps it.
    ///
    /// # Errors
    ///
    /// If the channel is closed, or never has room for `n` values, or for `n`
    /// from 2^29 on.
    ///
    /// # Cancel safety
    ///
    /// As [`reserve`](Self::reserve).
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(2);
    /// for (permit, n) in tx.reserve_many(2).await.unwrap().zip(1..) {
    ///     permit.send(n);
    /// }
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert_eq!(rx.recv().await, Some(2));
    /// # });
    /// ```
    #[track_caller]
    pub fn reserve_many(
        &self,
        n: usize,
    ) -> impl Future<Output = Result<PermitIterator<'_, T>, SendError<()>>> {
        CalledAt::new(async move {
            let permits = self.permits(n).ok_or(SendError(()))?;
            self.take_permits(permits).await?;
            Ok(PermitIterator { tx: &self.tx, n })
        })
    }

    /// Waits for room for one value, and keeps it and the sender.
    ///
    /// # Errors
    ///
    /// If the channel is closed. The sender is dropped then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, the sender is dropped with
    /// it. Clone it before if you need it.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve_owned().await.unwrap();
    /// let tx = permit.send(123);
    /// assert_eq!(rx.recv().await, Some(123));
    /// # drop(tx);
    /// # });
    /// ```
    #[track_caller]
    pub fn reserve_owned(self) -> impl Future<Output = Result<OwnedPermit<T>, SendError<()>>> {
        CalledAt::new(async move {
            self.take_permits(1).await?;
            let tx = Some(self.tx);
            Ok(OwnedPermit { tx })
        })
    }

    /// Keeps room for one value if there is some and no sender waits for it.
    ///
    /// # Errors
    ///
    /// As [`try_send`](Self::try_send).
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.try_reserve().unwrap();
    /// assert!(tx.try_reserve().is_err());
    /// permit.send(7);
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// ```
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.tx.try_reserve(1)?;
        Ok(Permit { tx: &self.tx })
    }

    /// Keeps room for `n` values if there is as much and no sender waits for it.
    ///
    /// # Errors
    ///
    /// As [`try_send`](Self::try_send); [`Full`](TrySendError::Full), too, if
    /// there is never room for `n` values, and for `n` from 2^29 on.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<u8>(2);
    /// assert!(tx.try_reserve_many(3).is_err());
    /// assert_eq!(tx.try_reserve_many(2).unwrap().len(), 2);
    /// ```
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        let permits = self.permits(n).ok_or(TrySendError::Full(()))?;
        self.tx.try_reserve(permits)?;
        Ok(PermitIterator { tx: &self.tx, n })
    }

    /// Keeps room for one value, and the sender, if there is some and no other sender
    /// waits for it.
    ///
    /// # Errors
    ///
    /// As [`try_send`](Self::try_send). Both give the sender back.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.clone().try_reserve_owned().unwrap();
    /// assert!(tx.try_reserve_owned().is_err());
    /// permit.send(7);
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// ```
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.tx.try_reserve(1) {
            Ok(()) => Ok(OwnedPermit { tx: Some(self.tx) }),
            Err(refusal) => Err(refusal.with(self)),
        }
    }

    /// Returns `n` as a number of permits, or `None` if there cannot be as many.
    fn permits(&self, n: usize) -> Option<u32> {
        u32::try_from(n)
            .ok()
            .filter(|&permits| n <= self.max_capacity() && permits <= MAX_PERMITS)
    }

    async fn take_permits(&self, n: u32) -> Result<(), SendError<()>> {
        let taken = match coop::attempt(|| self.tx.try_reserve(n).ok()) {
            Some(()) => Ok(()),
            None => self.tx.reserve(n).await,
        };
        let object = &self.tx.observed.object;
        match &taken {
            Ok(()) => events::reserved(object, Kind::MpscSend, n as usize),
            Err(_) => self.tx.refuses(&TrySendError::Closed(())),
        }
        taken
    }
}

/// Room for one value, kept by [`Sender::reserve`] or [`Sender::try_reserve`].
/// Dropped without being used, it gives the room back.
pub struct Permit<'a, T> {
    tx: &'a Tx<T>,
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

debug_fields!(impl<T> Permit<'_, T>, |this| { chan: this.tx });

/// Room for several values, reserved by [`Sender::reserve_many`] or [`Sender::try_reserve_many`]:
/// one [`Permit`] after the other. Dropping it returns the remaining room.
pub struct PermitIterator<'a, T> {
    tx: &'a Tx<T>,
    n: usize,
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

debug_fields!(impl<T> PermitIterator<'_, T>, |this| { chan: this.tx, capacity: this.n });

/// Room for one value, and the sender, kept by [`Sender::reserve_owned`] or
/// [`Sender::try_reserve_owned`]. Dropped without being used, it gives the room
/// back.
pub struct OwnedPermit<T> {
    /// `None` when it has been used.
    tx: Option<Tx<T>>,
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

    /// Returns `true` if both are for the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        let both = self.tx.as_ref().zip(other.tx.as_ref());
        both.is_some_and(|(one, other)| one.is(other))
    }

    /// Returns `true` if it is for the channel of `sender`.
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

debug_fields!(impl<T> OwnedPermit<T>, |this| { chan: this.tx });
