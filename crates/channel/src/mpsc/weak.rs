//! `WeakSender` and `WeakUnboundedSender`.

use std::fmt;

use super::chan::WeakTx;
use super::sender::Sender;
use super::unbounded::UnboundedSender;

macro_rules! weak {
    ($(#[$attribute:meta])* $name:ident, $text:literal, $strong:ident) => {
        $(#[$attribute])*
        pub struct $name<T> {
            tx: WeakTx<T>,
        }

        impl<T> $name<T> {
            pub(super) fn new(tx: WeakTx<T>) -> Self {
                Self { tx }
            }

            /// Returns a sender, unless all senders have been dropped.
            pub fn upgrade(&self) -> Option<$strong<T>> {
                self.tx.upgrade().map($strong::new)
            }

            /// Returns the number of senders.
            pub fn strong_count(&self) -> usize {
                self.tx.chan().strong_count()
            }

            /// Returns the number of weak senders.
            pub fn weak_count(&self) -> usize {
                self.tx.chan().weak_count()
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                Self::new(self.tx.clone())
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($text).finish()
            }
        }
    };
}

weak! {
    /// A [`Sender`] that does not keep the channel open, made by
    /// [`Sender::downgrade`].
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<u8>(1);
    /// let weak = tx.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    WeakSender, "WeakSender", Sender
}

weak! {
    /// An [`UnboundedSender`] that does not keep the channel open, made by
    /// [`UnboundedSender::downgrade`].
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<u8>();
    /// let weak = tx.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    WeakUnboundedSender, "WeakUnboundedSender", UnboundedSender
}
