//! What can go wrong when receiving.

use std::error::Error;
use std::fmt;

/// The sender was dropped without sending, or the receiver was closed before
/// anything was sent.
#[derive(Debug, Eq, PartialEq, Clone)]
pub struct RecvError(pub(super) ());

/// Why there is no value.
#[derive(Debug, Eq, PartialEq, Clone)]
pub enum TryRecvError {
    /// Nothing has been sent yet.
    Empty,
    /// Nothing will be sent any more, or the value has been received already.
    Closed,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl Error for RecvError {}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "channel empty",
            Self::Closed => "channel closed",
        })
    }
}

impl Error for TryRecvError {}
