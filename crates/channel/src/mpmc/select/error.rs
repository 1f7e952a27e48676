//! What can go wrong with a selection.

use crate::macros::error_text;

/// No operation was possible at once.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct TrySelectError;

/// No operation was possible in time.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct SelectTimeoutError;

/// No operation was ready at once.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct TryReadyError;

/// No operation was ready in time.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct ReadyTimeoutError;

error_text! {
    Display for TrySelectError {
        _ => "all operations in select would block",
    }
    Display for SelectTimeoutError {
        _ => "timed out waiting on select",
    }
    Display for TryReadyError {
        _ => "no operation in select is ready",
    }
    Display for ReadyTimeoutError {
        _ => "timed out waiting for an operation in select to be ready",
    }
}
