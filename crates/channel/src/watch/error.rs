//! Errors of sending and receiving.

use crate::macros::{error_text, opaque_debug};

/// There is no receiver. The value comes back.
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

/// All senders have been dropped.
#[derive(Debug, Clone)]
pub struct RecvError(pub(super) ());

opaque_debug!(impl<T> SendError<T>);

error_text! {
    Display for SendError<T> {
        _ => "channel closed",
    }
    Display for RecvError {
        _ => "channel closed",
    }
}
