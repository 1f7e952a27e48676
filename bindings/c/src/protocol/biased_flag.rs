//! A flag that says that a thing is in use, and costs its usual thread no read-modify-write.
//!
//! A call *enters*, which fails while another call is inside, and *leaves*. Nothing waits. One thread
//! enters millions of times. Another thread comes when the thing moves to it, or by a mistake of the
//! program. Each receiver of a channel has such a flag.
//!
//! # Protocol
//!
//! The first thread that enters is the *owner*, for ever. The owner sets `owner_inside` and then reads
//! `mode`. If that is `BIASED`, the owner is inside. Otherwise it clears `owner_inside` again, and enters
//! as other threads do.
//!
//! Another thread *revokes* first, unless `mode` is `SHARED`:
//!
//! 1. It sets `mode` to `REVOKING`.
//! 2. It passes the heavy fence.
//! 3. If `owner_inside` is set, it fails. Otherwise it sets `mode` to `SHARED`.
//!
//! Then it enters by an exchange of `inside`.
//!
//! **Two calls are never inside.** Two that entered by the exchange are not. Two of the owner's, of
//! which one found `BIASED`, are not: the second finds `owner_inside` set by its own thread. Let the
//! owner's call have found `BIASED`, and let R have entered by the exchange. A fence of step 2 comes
//! before R's exchange: its own, or that of the thread whose `SHARED` it read. After that fence, the
//! fencing thread sees `owner_inside` set, and fails, or the owner's read of `mode` sees `REVOKING`.
//!
//! **The next call sees the work of the last one.** To leave is a store with release ordering. The
//! exchange, and the read of `owner_inside` in step 3, have acquire ordering; `SHARED` is passed on with
//! release and acquire ordering.

use blitz_io_futex::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use blitz_io_core::ThreadId;
use blitz_io_core::fences;

/// Modes.
const BIASED: u8 = 0;
const REVOKING: u8 = 1;
const SHARED: u8 = 2;

const NO: u8 = 0;
const YES: u8 = 1;

/// A flag that says that a thing is in use, biased towards one thread; see the module documentation.
pub struct BiasedFlag {
    /// The number of the owner's thread, or 0 before the first call.
    owner: AtomicUsize,
    mode: AtomicU8,
    owner_inside: AtomicU8,
    inside: AtomicBool,
}

/// How a call has entered.
#[derive(Clone, Copy, Debug)]
pub enum Inside {
    /// The owner entered, without an exchange.
    Owner,
    /// The call entered by the exchange of `inside`.
    Shared,
}

impl BiasedFlag {
    /// Creates a flag that no call has entered.
    #[allow(clippy::new_without_default, reason = "as `BiasedLock`")]
    pub fn new() -> Self {
        Self {
            owner: AtomicUsize::new(0),
            mode: AtomicU8::new(BIASED),
            owner_inside: AtomicU8::new(NO),
            inside: AtomicBool::new(false),
        }
    }

    /// Enters, or returns `None` while another call is inside.
    #[inline]
    pub fn enter(&self) -> Option<Inside> {
        if !self.is_owner() {
            return self.enter_remote();
        }
        if self.owner_inside.load(Ordering::Relaxed) == YES {
            return None;
        }
        if fences::publish(&self.owner_inside, YES, &self.mode) == BIASED {
            return Some(Inside::Owner);
        }
        self.owner_inside.store(NO, Ordering::Release);
        self.exchange()
    }

    /// Leaves.
    #[inline]
    pub fn leave(&self, inside: Inside) {
        match inside {
            Inside::Owner => self.owner_inside.store(NO, Ordering::Release),
            Inside::Shared => self.inside.store(false, Ordering::Release),
        }
    }

    /// Returns `true` if the calling thread is the owner; the first one becomes it.
    #[inline]
    fn is_owner(&self) -> bool {
        let this = ThreadId::current().get().get();
        match self.owner.load(Ordering::Relaxed) {
            0 => self.become_owner(this),
            owner => owner == this,
        }
    }

    #[cold]
    fn become_owner(&self, this: usize) -> bool {
        self.owner
            .compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    #[inline(never)]
    fn enter_remote(&self) -> Option<Inside> {
        if self.mode.load(Ordering::Acquire) != SHARED && !self.revoke() {
            return None;
        }
        self.exchange()
    }

    /// Ends the owner's privilege. Returns whether the owner is not inside by it.
    #[cold]
    fn revoke(&self) -> bool {
        self.mode.store(REVOKING, Ordering::SeqCst);
        fences::heavy();
        let is_free = self.owner_inside.load(Ordering::Acquire) == NO;
        if is_free {
            self.mode.store(SHARED, Ordering::Release);
        }
        is_free
    }

    #[inline]
    fn exchange(&self) -> Option<Inside> {
        (!self.inside.swap(true, Ordering::Acquire)).then_some(Inside::Shared)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_second_call_is_refused_until_the_first_leaves() {
        let flag = BiasedFlag::new();
        let enter_remote =
            || std::thread::scope(|scope| scope.spawn(|| flag.enter()).join().unwrap());
        let inside = flag.enter().unwrap();
        assert!(matches!(inside, Inside::Owner));
        assert!(flag.enter().is_none());
        assert!(enter_remote().is_none());
        // The privilege has ended, and the owner is inside still.
        assert!(flag.enter().is_none());
        flag.leave(inside);
        let inside = enter_remote().unwrap();
        assert!(flag.enter().is_none());
        flag.leave(inside);
        let inside = flag.enter().unwrap();
        assert!(matches!(inside, Inside::Shared));
        assert!(enter_remote().is_none());
        flag.leave(inside);
        assert!(enter_remote().is_some());
    }
}
