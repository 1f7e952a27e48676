//! The fence between a change and a look, and which side pays for it.
//!
//! Every sleep in the crates above rests on the same pattern (Dekker's). One side *announces* that it
//! wants to sleep, and then *looks* whether it still has to. The other side *publishes* a change,
//! and then *looks* for announcements. If neither side's look may be overtaken by its own store,
//! at least one side sees the other, and no wake-up is lost. Release and acquire do not give
//! that: a processor may keep the store in its buffer while the later load already runs. This
//! module forbids it in three ways:
//!
//! * [`after_rmw`], where the store is an atomic read-modify-write anyway. When
//!   it and the look are sequentially consistent, that is enough, and on x86 it
//!   costs nothing that the read-modify-write does not cost already.
//! * [`publish`] and [`heavy`], where one side is a thousand times more frequent than the other.
//!   The frequent side makes a plain store and a plain load. The rare side makes the *system* run
//!   a fence on every processor that runs a thread of this process (`membarrier`). Afterwards
//!   each `publish` is in one of two states: its store is visible to the caller of `heavy`, or
//!   its later loads see everything that the caller did before. `switch.rs` says what happens
//!   where the kernel lacks the call, refuses it or answers it late. Four protocols use the
//!   pair. Two are the release of a lock (`exclusive.rs`) and the room of a `mpsc` channel. Bias towards
//!   one thread has two forms: `biased_lock.rs` waits, and `biased_flag.rs` of the C interface refuses. With
//!   the feature `inspect`, the fourth is the end of a record (`records/kernel/slot.rs`).
//! * a sequentially consistent store (`strong.rs`), on processors where that is
//!   no more than a store (AArch64), and on systems without `membarrier`.
//!
//! The announcement before a [`heavy`] must be [`SeqCst`](Ordering::SeqCst),
//! which the last way needs and which costs nothing in the others.
//!
//! # Proof
//!
//! loom knows no `membarrier`, so `loom.rs` models what its manual page promises: a look may
//! overtake the store before it unless a heavy fence comes between the two. Models run the
//! protocols under that promise, and with a real fence, as on the systems of `strong.rs`. Not
//! proved:
//!
//! 1. The kernel makes every running thread of the process pass a full barrier during the call.
//!    (A thread that does not run has passed the scheduler's.)
//! 2. The replacement in `page.rs`, where a sandbox forbids the call, is such a barrier.
//! 3. The compiler keeps the light side's two instructions in order, as its fence demands.

use crate::atomic::{Ordering, fence};

#[cfg(loom)]
pub mod model;
#[cfg(all(
    not(loom),
    any(target_os = "linux", target_os = "android"),
    any(target_arch = "x86_64", target_arch = "x86")
))]
mod page;
#[cfg(any(
    loom,
    all(
        any(target_os = "linux", target_os = "android"),
        any(target_arch = "x86_64", target_arch = "x86")
    )
))]
mod switch;
#[cfg(loom)]
#[path = "loom.rs"]
mod system;
#[cfg(all(
    not(loom),
    any(target_os = "linux", target_os = "android"),
    any(target_arch = "x86_64", target_arch = "x86")
))]
#[path = "membarrier.rs"]
mod system;
#[cfg(all(
    not(loom),
    not(all(
        any(target_os = "linux", target_os = "android"),
        any(target_arch = "x86_64", target_arch = "x86")
    ))
))]
#[path = "strong.rs"]
mod system;

pub use system::{heavy, light, mechanism, publish};

/// Keeps the order of a read-modify-write and a load, both
/// [`SeqCst`](Ordering::SeqCst). They have that order anyway, but the
/// model checker does not know of it.
#[inline(always)]
pub fn after_rmw() {
    if cfg!(loom) {
        fence(Ordering::SeqCst);
    }
}
