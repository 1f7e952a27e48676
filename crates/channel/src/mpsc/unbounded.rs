//! `UnboundedSender`: the sending end of a channel that always has room.

use std::fmt;

use super::chan::{Refusal, Tx};
use super::error::SendError;
use super::weak::WeakUnboundedSender;

/// The sending end of an unbounded channel, made by
/// [`unbounded_channel`](super::unbounded_channel).
///
/// It can be cloned. The channel ends for the receiver when all senders are gone.
pub struct UnboundedSender<T> {
    tx: Tx<T>,
}

impl<T> UnboundedSender<T> {
    pub(super) fn new(tx: Tx<T>) -> Self {
        Self { tx }
    }

    /// Sends a value. It never waits, so it is for threads and for tasks.
    ///
    /// # Errors
    ///
    /// If the receiver has closed the channel or is gone.
    ///
    /// # Panics
    ///
    /// If there are 2^31 values in the channel.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// tx.send(7).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// drop(rx);
    /// assert_eq!(tx.send(8).unwrap_err().0, 8);
    /// ```
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.tx.chan().try_send(message) {
            Ok(()) => Ok(()),
            Err((Refusal::Closed, message)) => Err(SendError(message)),
            Err((Refusal::Full, _)) => too_many(),
        }
    }

    /// Waits until the receiver closes the channel or is dropped.
    ///
    /// # Cancel safety
    ///
    /// It may be dropped and called again at any time.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel::<()>();
    /// rx.close();
    /// tx.closed().await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        self.tx.chan().closed().await;
    }

    /// Returns whether the receiver has closed the channel or is gone.
    pub fn is_closed(&self) -> bool {
        self.tx.chan().is_closed()
    }

    /// Returns whether both send into the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.tx.is(&other.tx)
    }

    /// Returns a handle that does not keep the channel open.
    #[must_use = "the weak sender is a new handle, and this one stays as it is"]
    pub fn downgrade(&self) -> WeakUnboundedSender<T> {
        WeakUnboundedSender::new(self.tx.downgrade())
    }

    /// Returns how many senders there are.
    pub fn strong_count(&self) -> usize {
        self.tx.chan().strong_count()
    }

    /// Returns how many weak senders there are.
    pub fn weak_count(&self) -> usize {
        self.tx.chan().weak_count()
    }
}

#[cold]
fn too_many() -> ! {
    panic!("too many messages in an unbounded channel");
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> Self {
        Self::new(self.tx.clone())
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedSender")
            .field("chan", &self.tx)
            .finish()
    }
}
