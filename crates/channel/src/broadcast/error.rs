//! Errors of a broadcast channel.

use std::fmt::Debug;

use crate::macros::error_text;

/// A value could not be sent because there are no receivers. The error has the value.
///
/// Receivers may subscribe later, so another attempt may succeed.
#[derive(Debug)]
pub struct SendError<T>(pub T);

/// Why [`recv`](super::Receiver::recv) has no value to return.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum RecvError {
    /// Everything has been received, and there are no senders any more.
    Closed,
    /// The receiver was too slow: so many values have been overwritten before it
    /// got them. The next attempt gets the oldest value that is left.
    Lagged(u64),
}

/// Why [`try_recv`](super::Receiver::try_recv) has no value to return.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum TryRecvError {
    /// Everything has been received. There are senders, so more may come.
    Empty,
    /// Everything has been received, and there are no senders any more.
    Closed,
    /// The receiver was too slow: so many values have been overwritten before it
    /// got them. The next attempt gets the oldest value that is left.
    Lagged(u64),
}

/// Why [`blocking_recv_timeout`](super::Receiver::blocking_recv_timeout) has no
/// value to return.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum RecvTimeoutError {
    /// Nothing came in time.
    Timeout,
    /// Everything has been received, and there are no senders any more.
    Closed,
    /// The receiver was too slow: so many values have been overwritten before it
    /// got them. The next attempt gets the oldest value that is left.
    Lagged(u64),
}

error_text! {
    Display for SendError<T: Debug> {
        _ => "channel closed",
    }
    Display for RecvError {
        Self::Closed => "channel closed",
        Self::Lagged(missed) => format_args!("channel lagged by {missed}"),
    }
    Display for TryRecvError {
        Self::Empty => "channel empty",
        Self::Closed => "channel closed",
        Self::Lagged(missed) => format_args!("channel lagged by {missed}"),
    }
    Display for RecvTimeoutError {
        Self::Timeout => "timed out waiting on channel",
        Self::Closed => "channel closed",
        Self::Lagged(missed) => format_args!("channel lagged by {missed}"),
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(error: RecvError) -> Self {
        match error {
            RecvError::Closed => Self::Closed,
            RecvError::Lagged(missed) => Self::Lagged(missed),
        }
    }
}
