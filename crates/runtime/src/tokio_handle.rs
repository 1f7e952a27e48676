//! A runtime of Tokio's that is entered wherever code of this one runs, so that libraries that
//! call Tokio by name find theirs.
//!
//! Tokio keeps its current runtime in a thread local, as this crate does, and each leaves the
//! other's alone. The threads of the pool, which are also those of the workers, enter it once and
//! for all that they do; `block_on` enters it on the caller's thread while it lasts.

use crate::common::Common;

/// Takes the entering back when dropped.
#[cfg(feature = "tokio")]
pub(crate) type Entered<'a> = Option<tokio::runtime::EnterGuard<'a>>;
#[cfg(not(feature = "tokio"))]
pub(crate) type Entered<'a> = std::marker::PhantomData<&'a ()>;

/// Makes the builder's runtime of Tokio's, if there is one, Tokio's current one on this thread.
#[cfg(feature = "tokio")]
pub(crate) fn enter(common: &Common) -> Entered<'_> {
    let handle = common.config.tokio.as_ref()?;
    Some(handle.enter())
}

#[cfg(not(feature = "tokio"))]
pub(crate) fn enter(_: &Common) -> Entered<'_> {
    std::marker::PhantomData
}
