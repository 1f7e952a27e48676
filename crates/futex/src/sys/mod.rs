//! The back ends: how each system puts a thread to sleep on a word.
//!
//! A back end is one file with:
//!
//! * `wait(word, expected, deadline, scope) -> WaitResult`,
//! * `wake(address, n, scope) -> usize`, which takes any `n`, 0 included,
//! * `wait_in_group(word, expected, deadline, group)` and `wake_group(address, n, group)`,
//!   from `groupless.rs` where the system cannot tell groups of sleepers apart,
//! * `wait_any(words, deadline, scope) -> WaitAny`, called with 1 to 128 words,
//! * `name()`, `supports_shared()`, `has_wait_any()` and `COUNTS_WAKES`, which
//!   [`crate::system`] explains.
//!
//! They are called with [`Scope::Shared`](crate::Scope) only if `supports_shared()` is
//! true. The parts they share are in `any.rs` (many words on a system that can wait on
//! one), `monotonic.rs` (absolute deadlines) and `relative.rs` (timeouts).

#[cfg(not(any(loom, feature = "portable")))]
#[cfg_attr(any(target_os = "linux", target_os = "android"), path = "linux.rs")]
#[cfg_attr(target_vendor = "apple", path = "apple.rs")]
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(target_os = "freebsd", path = "freebsd.rs")]
#[cfg_attr(target_os = "openbsd", path = "openbsd.rs")]
#[cfg_attr(
    not(any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        windows,
        target_os = "freebsd",
        target_os = "openbsd"
    )),
    path = "portable.rs"
)]
mod backend;

#[cfg(any(loom, feature = "portable"))]
#[path = "portable.rs"]
mod backend;

#[allow(
    dead_code,
    reason = "systems with a futex use only what is for many words"
)]
mod table;

#[cfg_attr(loom, path = "prim_model.rs")]
mod prim;

// For the queues of `parking`, which are above the back ends.
pub(crate) use prim::{Mutex, MutexGuard, lock};
pub(crate) use table::bucket_of;

pub(crate) use backend::{
    COUNTS_WAKES, has_wait_any, name, supports_shared, wait, wait_any, wait_in_group, wake,
    wake_group,
};

#[cfg(loom)]
pub(crate) fn expire() {
    prim::table().expire();
}
