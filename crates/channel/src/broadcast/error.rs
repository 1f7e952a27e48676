//! What can go wrong with a broadcast channel.

use std::error::Error;
use std::fmt;

/// A value could not be sent because there are no receivers. It is given back.
///
/// Receivers may subscribe later, so another attempt may succeed.
#[derive(Debug)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl<T: fmt::Debug> Error for SendError<T> {}

/// Why [`recv`](super::Receiver::recv) has no value to return.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum RecvError {
    /// Everything has been received, and there are no senders any more.
    Closed,
    /// The receiver was too slow: so many values have been overwritten before it
    /// got them. The next attempt gets the oldest value that is left.
    Lagged(u64),
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("channel closed"),
            Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl Error for RecvError {}

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

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("channel empty"),
            Self::Closed => f.write_str("channel closed"),
            Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl Error for TryRecvError {}

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

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("timed out waiting on channel"),
            Self::Closed => f.write_str("channel closed"),
            Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl Error for RecvTimeoutError {}

impl From<RecvError> for RecvTimeoutError {
    fn from(error: RecvError) -> Self {
        match error {
            RecvError::Closed => Self::Closed,
            RecvError::Lagged(missed) => Self::Lagged(missed),
        }
    }
}
