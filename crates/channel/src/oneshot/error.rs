//! Errors of receiving.

use crate::macros::error_text;

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

error_text! {
    Display for RecvError {
        _ => "channel closed",
    }
    Display for TryRecvError {
        Self::Empty => "channel empty",
        Self::Closed => "channel closed",
    }
}
