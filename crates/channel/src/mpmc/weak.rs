//! Ends that do not keep the channel open.

use std::sync::Arc;

use blitz_io_futex::atomic::Ordering;

use super::chan::Channel;
use super::receiver::Receiver;
use super::sender::Sender;
use blitz_io_core::debug_is_name;

macro_rules! weak {
    ($(#[$attribute:meta])* $weak:ident, $end:ident, $count:ident) => {
        $(#[$attribute])*
        pub struct $weak<T> {
            channel: Arc<Channel<T>>,
        }

        impl<T> $end<T> {
            /// Returns an end of the same kind that does not keep the channel open.
            #[must_use]
            pub fn downgrade(&self) -> $weak<T> {
                let channel = self.channel.clone();
                $weak { channel }
            }
        }

        impl<T> $weak<T> {
            /// Returns an end that keeps the channel open, unless it is closed.
            #[must_use]
            pub fn upgrade(&self) -> Option<$end<T>> {
                let channel = &self.channel;
                let more = |ends: usize| (ends != 0 && !channel.is_closed()).then(|| ends + 1);
                let ends = channel
                    .$count
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
                ends.ok().map(|_| $end::new(channel.clone()))
            }
        }

        impl<T> Clone for $weak<T> {
            fn clone(&self) -> Self {
                let channel = self.channel.clone();
                Self { channel }
            }
        }

        debug_is_name!(impl<T> $weak<T>);
    };
}

weak! {
    /// A sender that does not keep the channel open, and cannot send.
    ///
    /// ```
    /// let (sender, _receiver) = blitz_io::sync::mpmc::unbounded::<()>();
    /// let weak = sender.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(sender);
    /// assert!(weak.upgrade().is_none());
    /// ```
    WeakSender, Sender, senders
}

weak! {
    /// A receiver that does not keep the channel open, and cannot receive.
    ///
    /// ```
    /// let (_sender, receiver) = blitz_io::sync::mpmc::unbounded::<()>();
    /// let weak = receiver.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(receiver);
    /// assert!(weak.upgrade().is_none());
    /// ```
    WeakReceiver, Receiver, receivers
}
