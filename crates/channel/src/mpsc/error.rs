//! Errors of the channel.

#![allow(deprecated, reason = "`RecvError` is kept for code that names it")]

use blitz_io_core::debug_is_name;
use blitz_io_core::error_text;

pub use crate::timed::{RecvTimeoutError, SendTimeoutError};

/// The channel is closed. Gives the value back.
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

/// The error of an attempt to send, with the value.
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum TrySendError<T> {
    /// There is no room, or others wait for it.
    Full(T),
    /// The receiver has closed the channel, or has been dropped.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// Returns the value that was not sent.
    ///
    /// ```
    /// use blitz_io::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel(1);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(tx.try_send(2).unwrap_err().into_inner(), 2);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) => value,
        }
    }
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> Self {
        Self::Closed(error.0)
    }
}

impl TrySendError<()> {
    /// Returns the same error with this value.
    pub(super) fn with<T>(self, value: T) -> TrySendError<T> {
        match self {
            Self::Full(()) => TrySendError::Full(value),
            Self::Closed(()) => TrySendError::Closed(value),
        }
    }
}

/// The error of an attempt to receive.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum TryRecvError {
    /// There is no message now, but there may be one later.
    Empty,
    /// There is no message, and there will be none.
    Disconnected,
}

/// The channel is closed. Nothing returns it: it is here for code that names it.
#[derive(Debug, Clone)]
#[doc(hidden)]
#[deprecated(note = "nothing returns it: `recv` returns an `Option`")]
pub struct RecvError(());

debug_is_name!(impl<T> SendError<T>);

error_text! {
    Display for RecvError {
        _ => "channel closed",
    }
    Display for SendError<T> {
        _ => "channel closed",
    }
    Debug for TrySendError<T> {
        Self::Full(_) => "Full(..)",
        Self::Closed(_) => "Closed(..)",
    }
    Display for TrySendError<T> {
        Self::Full(_) => "no available capacity",
        Self::Closed(_) => "channel closed",
    }
    Display for TryRecvError {
        Self::Empty => "receiving on an empty channel",
        Self::Disconnected => "receiving on a closed channel",
    }
}
