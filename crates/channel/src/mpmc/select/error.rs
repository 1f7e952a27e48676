//! What can go wrong with a selection.

use std::error::Error;
use std::fmt;

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

macro_rules! says {
    ($($error:ident: $text:literal,)*) => {
        $(
            impl fmt::Display for $error {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str($text)
                }
            }

            impl Error for $error {}
        )*
    };
}

says! {
    TrySelectError: "all operations in select would block",
    SelectTimeoutError: "timed out waiting on select",
    TryReadyError: "no operation in select is ready",
    ReadyTimeoutError: "timed out waiting for an operation in select to be ready",
}
