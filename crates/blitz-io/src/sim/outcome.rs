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
