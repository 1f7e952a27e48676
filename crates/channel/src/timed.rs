//! The errors of waits with a time limit: one for each direction, in all channels.

use blitz_io_core::error_text;

/// The error of a send with a time limit, with the value. All channels have this one.
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum SendTimeoutError<T> {
    /// The time elapsed before there was room.
    Timeout(T),
    /// The channel is closed.
    Closed(T),
}

impl<T> SendTimeoutError<T> {
    /// Returns the value that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(value) | Self::Closed(value) => value,
        }
    }

    /// Returns `true` if the time elapsed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }

    /// Returns `true` if the channel is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }
}

/// The error of a receive with a time limit. All channels have this one, but `broadcast`, whose
/// receivers may also have missed values.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum RecvTimeoutError {
    /// The time elapsed before a value came.
    Timeout,
    /// There is no value, and there will be none.
    Closed,
}

impl RecvTimeoutError {
    /// Returns `true` if the time elapsed.
    pub fn is_timeout(&self) -> bool {
        *self == Self::Timeout
    }

    /// Returns `true` if there is no value, and will be none.
    pub fn is_closed(&self) -> bool {
        *self == Self::Closed
    }
}

error_text! {
    Debug for SendTimeoutError<T> {
        Self::Timeout(_) => "Timeout(..)",
        Self::Closed(_) => "Closed(..)",
    }
    Display for SendTimeoutError<T> {
        Self::Timeout(_) => "timed out waiting on send operation",
        Self::Closed(_) => "channel closed",
    }
    Display for RecvTimeoutError {
        Self::Timeout => "timed out waiting on receive operation",
        Self::Closed => "receiving on a closed channel",
    }
}
