//! The functions of `inspected.rs` without the feature `inspect`: a task has no record.

use blitz_io_observe::About;

use crate::api::runtime_id;
use crate::api::trace::SpawnMeta;
use crate::kernel::task::Id;

/// Returns the future.
#[inline(always)]
pub(crate) fn inspected<F>(
    future: F,
    _id: Id,
    _meta: SpawnMeta<'_>,
    _runtime: runtime_id::Id,
    _is_pinned: bool,
) -> F {
    future
}

/// Returns the future.
#[inline(always)]
pub(crate) fn job<F>(
    future: F,
    _id: Id,
    _meta: SpawnMeta<'_>,
    _runtime: runtime_id::Id,
    _about: About,
) -> F {
    future
}
