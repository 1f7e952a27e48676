//! Errors of the channel. An error of a sender has the value.

use blitz_io_core::error_text;

pub use crate::timed::{RecvTimeoutError, SendTimeoutError};

/// The channel is closed. The value comes back.
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

/// The error of an attempt to send, with the value.
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum TrySendError<T> {
    /// There is no room, or, in a channel without a buffer, no receiver waits.
    Full(T),
    /// The channel is closed.
    Closed(T),
}

/// The channel is empty and closed.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct RecvError;

/// The error of an attempt to receive.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum TryRecvError {
    /// The channel is empty.
    Empty,
    /// The channel is empty and closed.
    Closed,
}

/// The error of `Select::try_select`: no operation was possible.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct TrySelectError;

/// The error of `Select::select_timeout` and `select_deadline`: no operation became possible in time.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct SelectTimeoutError;

/// The error of `Select::try_ready`: no operation was ready.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct TryReadyError;

/// The error of `Select::ready_timeout` and `ready_deadline`: no operation became ready in time.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct ReadyTimeoutError;

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

    /// Returns `true` if there was no room.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Returns `true` if the channel is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }
}

impl<T> SendTimeoutError<T> {
    /// Returns the error of a wait with a time limit whose last attempt returned `error`.
    pub(super) fn after(error: TrySendError<T>) -> Self {
        match error {
            TrySendError::Full(value) => Self::Timeout(value),
            TrySendError::Closed(value) => Self::Closed(value),
        }
    }
}

impl TryRecvError {
    /// Returns `true` if the channel was empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::Empty
    }

    /// Returns `true` if the channel is empty and closed.
    pub fn is_closed(&self) -> bool {
        *self == Self::Closed
    }
}

impl RecvTimeoutError {
    /// Returns the error of a wait with a time limit whose last attempt returned `error`.
    pub(super) fn after(error: TryRecvError) -> Self {
        match error {
            TryRecvError::Empty => Self::Timeout,
            TryRecvError::Closed => Self::Closed,
        }
    }
}

error_text! {
    Debug for SendError<T> {
        _ => format_args!("SendError(..)"),
    }
    Display for SendError<T> {
        _ => "sending into a closed channel",
    }
    Debug for TrySendError<T> {
        Self::Full(_) => format_args!("Full(..)"),
        Self::Closed(_) => format_args!("Closed(..)"),
    }
    Display for TrySendError<T> {
        Self::Full(_) => "sending into a full channel",
        Self::Closed(_) => "sending into a closed channel",
    }
    Display for RecvError {
        _ => "receiving from an empty and closed channel",
    }
    Display for TryRecvError {
        Self::Empty => "receiving from an empty channel",
        Self::Closed => "receiving from an empty and closed channel",
    }
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
