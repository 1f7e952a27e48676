//! What can go wrong. An error of a sender gives the value back.

use std::error::Error;
use std::fmt;

/// The channel is closed. The value comes back.
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

/// A value could not be sent at once. It comes back.
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum TrySendError<T> {
    /// There is no room, or, in a channel without a buffer, nobody waits to
    /// receive.
    Full(T),
    /// The channel is closed.
    Closed(T),
}

/// A value could not be sent in time. It comes back.
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum SendTimeoutError<T> {
    /// There was no room all the time.
    Timeout(T),
    /// The channel is closed.
    Closed(T),
}

/// The channel is empty and closed.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct RecvError;

/// There was nothing to receive at once.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum TryRecvError {
    /// The channel is empty.
    Empty,
    /// The channel is empty and closed.
    Closed,
}

/// There was nothing to receive in time.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum RecvTimeoutError {
    /// The channel was empty all the time.
    Timeout,
    /// The channel is empty and closed.
    Closed,
}

impl<T> SendError<T> {
    /// Returns the value that was not sent.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> TrySendError<T> {
    /// Returns the value that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) => value,
        }
    }

    /// Returns whether there was no room.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Returns whether the channel is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }
}

impl<T> SendTimeoutError<T> {
    /// Returns the value that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(value) | Self::Closed(value) => value,
        }
    }

    /// Returns whether the time was up.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }

    /// Returns whether the channel is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }
}

impl TryRecvError {
    /// Returns whether the channel was empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::Empty
    }

    /// Returns whether the channel is empty and closed.
    pub fn is_closed(&self) -> bool {
        *self == Self::Closed
    }
}

impl RecvTimeoutError {
    /// Returns whether the time was up.
    pub fn is_timeout(&self) -> bool {
        *self == Self::Timeout
    }

    /// Returns whether the channel is empty and closed.
    pub fn is_closed(&self) -> bool {
        *self == Self::Closed
    }
}

const SENDING_CLOSED: &str = "sending into a closed channel";
const SENDING_FULL: &str = "sending into a full channel";
const RECEIVING_EMPTY: &str = "receiving from an empty channel";
const RECEIVING_CLOSED: &str = "receiving from an empty and closed channel";

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SENDING_CLOSED)
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => SENDING_FULL,
            Self::Closed(_) => SENDING_CLOSED,
        })
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout(_) => "Timeout(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout(_) => "timed out waiting on send operation",
            Self::Closed(_) => SENDING_CLOSED,
        })
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RECEIVING_CLOSED)
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => RECEIVING_EMPTY,
            Self::Closed => RECEIVING_CLOSED,
        })
    }
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "timed out waiting on receive operation",
            Self::Closed => RECEIVING_CLOSED,
        })
    }
}

impl<T> Error for SendError<T> {}
impl<T> Error for TrySendError<T> {}
impl<T> Error for SendTimeoutError<T> {}
impl Error for RecvError {}
impl Error for TryRecvError {}
impl Error for RecvTimeoutError {}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(SendError(value): SendError<T>) -> Self {
        Self::Closed(value)
    }
}

impl<T> From<SendError<T>> for SendTimeoutError<T> {
    fn from(SendError(value): SendError<T>) -> Self {
        Self::Closed(value)
    }
}

impl From<RecvError> for TryRecvError {
    fn from(RecvError: RecvError) -> Self {
        Self::Closed
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(RecvError: RecvError) -> Self {
        Self::Closed
    }
}
