//! A lock that costs its owner no read-modify-write.
//!
//! One thread, the *owner*, enters and leaves millions of times a second. Others, the
//! *remote* side, enter a few thousand times a second at most: thieves, or a thread that
//! ends what the owner runs.
//!
//! # The protocol
//!
//! Two bytes of one futex word:
//!
//! | byte | values |
//! |---|---|
//! | `OWNER` | 0, or 1 while the owner is inside or about to be |
//! | `REMOTE` | 0, 1 while a remote thread is inside or about to be, 2 if the owner sleeps until it has left |
//!
//! The owner stores 1 to `OWNER` and then reads `REMOTE`. A remote thread changes `REMOTE`
//! from 0 to 1, makes every thread pass a fence (`fences::heavy`) and then reads `OWNER`.
//! If the owner is inside, the remote thread gives up. If the owner sees a remote thread, it
//! clears `OWNER`, and sleeps until `REMOTE` is 0 again.
//!
//! **The two are never inside together.** After its fence the remote thread sees that the
//! owner is inside, or the owner will see the remote thread: that is what the asymmetric
//! fences promise (`fences/mod.rs`).
//!
//! **The owner's wake-up is not lost.** It announces its sleep by changing `REMOTE` from 1
//! to 2, and sleeps while the word holds that 2. The remote thread leaves with a swap to 0:
//! either the swap returns the 2, and it wakes the owner, or the owner's change fails.
//!
//! This is how the reservations of biased locks are revoked (Kawachiya, Koseki and Onodera,
//! "Lock Reservation", 2002).

#[cfg(not(loom))]
mod mutant;
#[cfg(loom)]
pub mod mutant;

use blitz_futex::SplitWord;
use blitz_futex::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::fences;
use mutant::{Mutant, active};

const OWNER: usize = 0;
const REMOTE: usize = 1;

const FREE: u8 = 0;
const HELD: u8 = 1;
const OWNER_SLEEPS: u8 = 2;

/// See the head of this file.
#[derive(Debug)]
pub struct BiasedLock {
    word: SplitWord,
}

impl Default for BiasedLock {
    fn default() -> Self {
        Self::new()
    }
}

impl BiasedLock {
    /// A lock that nobody holds.
    pub fn new() -> Self {
        Self {
            word: SplitWord::new([FREE; 4]),
        }
    }

    /// Runs `work` inside the lock, as the owner. `work` does not panic.
    ///
    /// # Safety
    ///
    /// The caller is the owner, which is one thread at a time, and not inside already.
    #[inline(always)]
    pub unsafe fn own<R>(&self, work: impl FnOnce() -> R) -> R {
        while !active(Mutant::OwnerDoesNotAnnounce)
            && fences::publish(self.word.byte(OWNER), HELD, self.word.byte(REMOTE)) != FREE
        {
            self.wait_for_remote();
        }
        let result = work();
        self.word.byte(OWNER).store(FREE, Release);
        result
    }

    #[cold]
    #[inline(never)]
    fn wait_for_remote(&self) {
        let remote = self.word.byte(REMOTE);
        self.word.byte(OWNER).store(FREE, Release);
        loop {
            match remote.load(Acquire) {
                FREE => return,
                HELD if !active(Mutant::OwnerSleepsUnannounced) => {
                    let _ = remote.compare_exchange(HELD, OWNER_SLEEPS, Relaxed, Relaxed);
                }
                seen => {
                    self.word.wait_until([FREE, seen, FREE, FREE], None);
                }
            }
        }
    }

    /// Runs `work` inside the lock, as a remote thread, unless the owner or another remote
    /// thread is inside. `work` does not panic.
    #[cold]
    pub fn try_lock_remote<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        self.word
            .byte(REMOTE)
            .compare_exchange(FREE, HELD, SeqCst, Relaxed)
            .ok()?;
        if !active(Mutant::RemoteDoesNotFence) {
            fences::heavy();
        }
        let inside = self.word.byte(OWNER).load(Acquire) != FREE;
        let result = (!inside || active(Mutant::RemoteIgnoresOwner)).then(work);
        if self.word.byte(REMOTE).swap(FREE, AcqRel) == OWNER_SLEEPS {
            SplitWord::wake_all(&self.word);
        }
        result
    }
}
