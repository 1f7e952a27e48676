//! Ends that do not keep the channel open.

use std::fmt;
use std::sync::Arc;

use blitz_futex::atomic::{AtomicUsize, Ordering};

use super::channel::Channel;
use super::receiver::Receiver;
use super::sender::Sender;

/// A sender that does not keep the channel open, and cannot send.
///
/// ```
/// let (sender, _receiver) = blitz_io::sync::mpmc::unbounded::<()>();
/// let weak = sender.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(sender);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T> {
    channel: Arc<Channel<T>>,
}

/// A receiver that does not keep the channel open, and cannot receive.
///
/// ```
/// let (_sender, receiver) = blitz_io::sync::mpmc::unbounded::<()>();
/// let weak = receiver.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(receiver);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakReceiver<T> {
    channel: Arc<Channel<T>>,
}

/// Counts one end more, unless there are none.
fn join(ends: &AtomicUsize) -> bool {
    ends.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |ends| match ends {
        0 => None,
        ends => Some(ends + 1),
    })
    .is_ok()
}

impl<T> WeakSender<T> {
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Self { channel }
    }

    /// Returns a sender, unless the channel is closed.
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        if self.channel.is_closed() || !join(&self.channel.senders) {
            return None;
        }
        Some(Sender::new(self.channel.clone()))
    }
}

impl<T> WeakReceiver<T> {
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Self { channel }
    }

    /// Returns a receiver, unless the channel is closed.
    #[must_use]
    pub fn upgrade(&self) -> Option<Receiver<T>> {
        if self.channel.is_closed() || !join(&self.channel.receivers) {
            return None;
        }
        Some(Receiver::new(self.channel.clone()))
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self::new(self.channel.clone())
    }
}

impl<T> Clone for WeakReceiver<T> {
    fn clone(&self) -> Self {
        Self::new(self.channel.clone())
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for WeakReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakReceiver").finish_non_exhaustive()
    }
}
