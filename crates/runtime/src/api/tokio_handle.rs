//! A Tokio runtime that is entered wherever code of this runtime runs, so that libraries
//! that call Tokio by name find it.
//!
//! Tokio keeps its current runtime in a thread-local variable, as this crate does, and
//! neither changes the other's. The threads of the pool, which also run the workers, enter
//! Tokio's runtime once; `block_on` enters it on the caller's thread until it returns.

use crate::api::common::Common;

/// Leaves Tokio's runtime when it is dropped.
#[cfg(feature = "tokio")]
pub(crate) type Entered<'a> = Option<tokio::runtime::EnterGuard<'a>>;
#[cfg(not(feature = "tokio"))]
pub(crate) type Entered<'a> = std::marker::PhantomData<&'a ()>;

/// Enters the Tokio runtime that the builder was given, if any, on this thread.
#[cfg(feature = "tokio")]
pub(crate) fn enter(common: &Common) -> Entered<'_> {
    let handle = common.config.tokio.as_ref()?;
    Some(handle.enter())
}

#[cfg(not(feature = "tokio"))]
pub(crate) fn enter(_: &Common) -> Entered<'_> {
    std::marker::PhantomData
}
