//! The trait of results that may end a loop early.

use std::ops::ControlFlow;

/// A result that lets [`try_for_each`](crate::try_for_each()) continue or ends it: `Result<(), E>`,
/// `Option<()>` or `ControlFlow<B>`. No other type has this trait.
#[diagnostic::on_unimplemented(
    message = "a loop ends with `Result<(), E>`, `Option<()>` or `ControlFlow<B>`, and not with `{Self}`",
    label = "`{Self}` does not say only whether the loop goes on",
    note = "if the items have values, drop them: `.map(drop)`, or `?` and `Ok(())` at the closure's end",
    note = "to keep the values, use `map_reduce_ordered`"
)]
pub trait Try: sealed::Sealed {
    /// Returns the result of a loop in which no call has ended it.
    #[doc(hidden)]
    fn from_output() -> Self;

    /// Returns `true` if this ends the loop.
    #[doc(hidden)]
    fn is_break(&self) -> bool;
}

mod sealed {
    pub trait Sealed {}
}

impl<E> sealed::Sealed for Result<(), E> {}

impl<E> Try for Result<(), E> {
    fn from_output() -> Self {
        Ok(())
    }

    fn is_break(&self) -> bool {
        self.is_err()
    }
}

impl sealed::Sealed for Option<()> {}

impl Try for Option<()> {
    fn from_output() -> Self {
        Some(())
    }

    fn is_break(&self) -> bool {
        self.is_none()
    }
}

impl<B> sealed::Sealed for ControlFlow<B> {}

impl<B> Try for ControlFlow<B> {
    fn from_output() -> Self {
        Self::Continue(())
    }

    fn is_break(&self) -> bool {
        self.is_break()
    }
}
