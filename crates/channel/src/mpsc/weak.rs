//! `WeakSender` and `WeakUnboundedSender`: senders that do not keep the channel
//! open.

use std::fmt;

use super::sender::Sender;
use super::tx::WeakTx;
use super::unbounded::UnboundedSender;

/// What both have.
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

            /// A sender, if there still is another one.
            pub fn upgrade(&self) -> Option<$strong<T>> {
                self.tx.upgrade().map($strong::new)
            }

            /// How many senders there are.
            pub fn strong_count(&self) -> usize {
                self.tx.chan().strong_count()
            }

            /// How many weak senders there are.
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
    /// use blitz_channel::mpsc;
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
    /// use blitz_channel::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<u8>();
    /// let weak = tx.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    WeakUnboundedSender, "WeakUnboundedSender", UnboundedSender
}
