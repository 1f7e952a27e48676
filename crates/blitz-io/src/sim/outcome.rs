//! `Outcome`: what the future of a test may return.

use std::fmt::Debug;

/// The result of a test: nothing, or a `Result`.
pub trait Outcome: 'static {
    /// Returns the error, if the test has failed.
    #[doc(hidden)]
    fn error(self) -> Option<String>;
}

impl Outcome for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl<E: Debug + 'static> Outcome for Result<(), E> {
    fn error(self) -> Option<String> {
        self.err().map(|error| format!("{error:?}"))
    }
}

/// A function's result, by which `!` gets a name that can be used here.
pub trait Returns {
    /// The type that the function returns.
    #[doc(hidden)]
    type Output;
}

impl<T> Returns for fn() -> T {
    type Output = T;
}

/// The output of a future that never ends, such as a loop that accepts connections.
pub(super) type Never = <fn() -> ! as Returns>::Output;

impl Outcome for Never {
    fn error(self) -> Option<String> {
        self
    }
}
