//! A lock that costs its owner no read-modify-write.
//!
//! One thread, the owner, goes in and out millions of times a second; another one, a
//! *guest*, comes a few times a day: when the owner's thread is blocked and others have to
//! take what is the owner's, or when the runtime ends. What is behind bolts are the place
//! before a worker's queue (`slot.rs`) and its list of tasks (`task/own.rs`).
//!
//! # The protocol
//!
//! The owner says that it is *busy*, looks whether a guest has come, does what it wants
//! and is not busy any more. The guest says that it has come, makes every thread pass a
//! fence (`heavy`), and looks whether the owner is busy. If it is, the guest goes away
//! ([`rob`](Bolt::rob)) or waits ([`visit`](Bolt::visit)); if not, it does what it wants
//! and goes.
//!
//! An owner that sees a guest is not busy any more, and waits until the guest has gone: a
//! few microseconds. Nor does a guest wait for long, since what is done inside is to change
//! a few links.
//!
//! **The two are never inside together.** After its fence the guest sees that the owner
//! is busy, or the owner will see that there is a guest: that is what `blitz_sync`'s
//! asymmetric fences promise. In the second case the owner stays outside until the guest
//! has gone, and then sees what the guest did (release and acquire of `guest`). The guest
//! sees what the owner did likewise (`busy`).
//!
//! This is how the reservations of biased locks are taken away (Kawachiya, Koseki and
//! Onodera, "Lock Reservation", 2002).

#[cfg(not(loom))]
mod mutant;
#[cfg(loom)]
pub mod mutant;

use blitz_futex::atomic::{AtomicU8, Ordering};
use blitz_sync::internals::{fences, yield_now};

use mutant::{Mutant, active};

const NO: u8 = 0;
const YES: u8 = 1;

/// See the head of this file.
pub(crate) struct Bolt {
    /// The owner is inside, or about to be.
    busy: AtomicU8,
    /// A guest is.
    guest: AtomicU8,
}

impl Bolt {
    pub(crate) fn new() -> Self {
        Self {
            busy: AtomicU8::new(NO),
            guest: AtomicU8::new(NO),
        }
    }

    /// The owner goes inside. `work` does not panic.
    ///
    /// # Safety
    ///
    /// The caller is the owner, which is one thread at a time; who was it before is ordered
    /// before this.
    #[inline(always)]
    pub(crate) unsafe fn own<R>(&self, work: impl FnOnce() -> R) -> R {
        while !active(Mutant::OwnsUnbolted) && fences::publish(&self.busy, YES, &self.guest) != NO {
            self.let_guest_go();
        }
        let result = work();
        self.busy.store(NO, Ordering::Release);
        result
    }

    #[cold]
    fn let_guest_go(&self) {
        self.busy.store(NO, Ordering::Release);
        while self.guest.load(Ordering::Acquire) != NO {
            yield_now();
        }
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire) != NO && !active(Mutant::DisturbsTheBusy)
    }

    fn go(&self) {
        self.guest.store(NO, Ordering::Release);
    }

    /// A guest goes inside, unless the owner or another guest is there. `work` does not
    /// panic.
    #[cold]
    pub(crate) fn rob<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        self.guest
            .compare_exchange(NO, YES, Ordering::SeqCst, Ordering::Relaxed)
            .ok()?;
        fence();
        let result = (!self.is_busy()).then(work);
        self.go();
        result
    }

    /// A guest goes inside each of these, with one fence for all. `work` gets what they are
    /// given with, and does not panic.
    ///
    /// # Safety
    ///
    /// There is no other guest, and the caller is inside none of them as the owner.
    #[cold]
    pub(crate) unsafe fn visit<'a, T>(
        bolts: impl Iterator<Item = (&'a Self, T)> + Clone,
        mut work: impl FnMut(T),
    ) {
        for (bolt, _) in bolts.clone() {
            bolt.guest.store(YES, Ordering::SeqCst);
        }
        fence();
        for (bolt, what) in bolts {
            while bolt.is_busy() {
                yield_now();
            }
            work(what);
            bolt.go();
        }
    }
}

fn fence() {
    if !active(Mutant::ComesWithoutFence) {
        fences::heavy();
    }
}
