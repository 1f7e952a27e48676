//! A lock that costs its owner no read-modify-write.
//!
//! One thread, the owner, goes in and out millions of times a second; another one, a
//! *robber*, comes a few times a day, when the owner stands still (`watch.rs`). What the
//! bolt guards is the place before the ring (`slot.rs`) and the tasks in hand
//! (`tray.rs`), which are the owner's as long as it works, but would wait as long as its
//! thread is blocked if nobody else could take them.
//!
//! # The protocol
//!
//! The owner says that it is *busy*, looks whether a robber is there, does what it wants
//! and is not busy any more. The robber says that it is there, makes every thread pass a
//! fence (`heavy`), and looks whether the owner is busy. If it is, the robber goes away;
//! if not, it does what it wants and goes.
//!
//! An owner that sees the robber is not busy any more, and waits until the robber has
//! gone: a few microseconds.
//!
//! **The two are never inside together.** After its fence the robber sees that the owner
//! is busy, or the owner will see that the robber is there: that is what `blitz_sync`'s
//! asymmetric fences promise. In the second case the owner stays outside until the robber
//! has gone, and then sees what the robber did (release and acquire of `robbed`). The
//! robber sees what the owner did likewise (`busy`). Of two robbers one goes away.

use blitz_futex::atomic::{AtomicU8, Ordering};
use blitz_sync::internals::fences;

use super::mutant::{Mutant, active};

const NO: u8 = 0;
const YES: u8 = 1;

/// See the head of this file.
pub(super) struct Bolt {
    /// The owner is inside, or about to be.
    busy: AtomicU8,
    /// A robber is.
    robbed: AtomicU8,
}

impl Bolt {
    pub(super) fn new() -> Self {
        Self {
            busy: AtomicU8::new(NO),
            robbed: AtomicU8::new(NO),
        }
    }

    /// The owner goes inside. `work` does not panic.
    ///
    /// # Safety
    ///
    /// The caller is the owner, which is one thread at a time.
    #[inline(always)]
    pub(super) unsafe fn own<R>(&self, work: impl FnOnce() -> R) -> R {
        while !active(Mutant::OwnsUnbolted) && fences::publish(&self.busy, YES, &self.robbed) != NO
        {
            self.let_robber_go();
        }
        let result = work();
        self.busy.store(NO, Ordering::Release);
        result
    }

    #[cold]
    fn let_robber_go(&self) {
        self.busy.store(NO, Ordering::Release);
        while self.robbed.load(Ordering::Acquire) != NO {
            rest();
        }
    }

    /// A robber goes inside, unless the owner or another robber is. `work` does not panic.
    #[cold]
    pub(super) fn rob<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        self.robbed
            .compare_exchange(NO, YES, Ordering::SeqCst, Ordering::Relaxed)
            .ok()?;
        if !active(Mutant::RobsWithoutFence) {
            fences::heavy();
        }
        let free = self.busy.load(Ordering::Acquire) == NO || active(Mutant::RobsTheBusy);
        let result = free.then(work);
        self.robbed.store(NO, Ordering::Release);
        result
    }
}

#[cfg(not(loom))]
fn rest() {
    std::thread::yield_now();
}

#[cfg(loom)]
fn rest() {
    loom::thread::yield_now();
}
