//! The fence between a change and a look, and which side pays for it.
//!
//! Every sleep in this crate rests on the same pattern (Dekker's): one side *announces* that it
//! wants to sleep and then *looks* whether it still has to; the other side *publishes* a change
//! and then *looks* for announcements. If neither side's look may be overtaken by its own store,
//! at least one of them sees the other, and no wake-up is lost. Release and acquire do not give
//! that: a processor may keep the store in its buffer while the later load already runs. Three
//! ways to forbid it are used here:
//!
//! * [`after_rmw`], where the store is an atomic read-modify-write anyway. When
//!   it and the look are sequentially consistent, that is enough, and on x86 it
//!   costs nothing that the read-modify-write does not cost already.
//! * [`publish`] and [`heavy`], where one side is a thousand times more frequent
//!   than the other. The frequent side makes a plain store and a plain load; the
//!   rare side makes the *system* run a fence on every processor that runs a
//!   thread of this process (`membarrier`). After [`heavy`] has returned, any
//!   `publish` of any thread is in one of two states: its store is visible to
//!   the caller of `heavy`, or its later loads will see all that the caller did
//!   before. See `membarrier.rs` for what happens where the kernel lacks it.
//! * a sequentially consistent store (`strong.rs`), on processors where that is
//!   no more than a store (AArch64), and on systems without `membarrier`.
//!
//! The announcement before a [`heavy`] must be [`SeqCst`](Ordering::SeqCst),
//! which the last way needs and which costs nothing in the others.
//!
//! # What the model checker proves, and what not
//!
//! loom knows no `membarrier`. `loom.rs` therefore models what its manual page
//! promises: a look may overtake the store before it, as long as no heavy fence
//! comes between the two. The protocols are proved under that promise, and
//! without it, with a real fence, for the systems of `strong.rs`. What stays
//! unproved is the promise itself: that the kernel makes every running thread of
//! the process pass a full barrier between the start and the end of the call, a
//! thread that does not run having passed the scheduler's; that what `refused.rs` does
//! instead, where a sandbox takes the call away from a process that has used it, is such a
//! barrier; and that the compiler keeps the light side's two instructions in order, for
//! which the compiler fence is there.

use blitz_futex::atomic::{Ordering, fence};

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

/// Between a read-modify-write and a load, both
/// [`SeqCst`](Ordering::SeqCst): the order they have by that anyway, which the
/// model checker does not know of.
#[inline(always)]
pub fn after_rmw() {
    if cfg!(loom) {
        fence(Ordering::SeqCst);
    }
}
