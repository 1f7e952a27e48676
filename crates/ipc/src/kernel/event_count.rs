//! Sleeping until another participant has changed something, without a count of sleepers.
//!
//! A count would be wrong for ever once a counted sleeper is killed. So the word has flags,
//! which any number of sleepers set and a notifier clears, and an epoch:
//!
//! ```text
//! bits 31..2   epoch: goes up with each notification that found a flag
//! bit 1        DOORBELL: a participant awaits a datagram
//! bit 0        SLEEPER:  a thread sleeps on this word, or is about to
//! ```
//!
//! * A waiter *prepares* (sets its flag and remembers the word as its key), *looks again*
//!   at the condition for which it waits, and sleeps while the word equals its key.
//! * A notifier makes its change, then looks at the word. Without flags it is done.
//!   Otherwise it adds one to the epoch, clears the flags, and wakes all sleepers if it has
//!   cleared `SLEEPER`, in this order. So it makes a system call only if a thread may
//!   sleep, and none for tasks.
//!
//! **No wake-up is lost.** The waiter sets the flag before its second look, and the
//! notifier makes the change before it looks at the flag. All four accesses are
//! sequentially consistent, or have a fence between them. So the waiter sees the change, or
//! the notifier sees the flag. If the notifier sees the flag:
//!
//! 1. The notifier changes the epoch after the waiter took its key. So the waiter does not
//!    fall asleep, or does so before the wake.
//! 2. A waiter that prepares between the notifier's two steps has the new epoch and its
//!    flag in the key. Clearing the flag changes the word, so this waiter does not fall
//!    asleep either, or does so before the wake.
//! 3. A notifier that has cleared only `DOORBELL` need not wake: another notifier cleared
//!    the `SLEEPER` of each thread that sleeps by then, and wakes it. The cleared flags
//!    count, not those that were set at the first look.
//!
//! **A notifier that is killed** after its change, or between its steps, does not wake the
//! sleepers. They recover as from any other death: no participant sleeps longer than the
//! interval between two looks (see `wait_policy.rs`) without checking everything
//! again. A sleeper that is killed leaves a flag behind, which costs one needless wake.

use std::time::Instant;

use blitz_io_core::fences;
use blitz_io_futex::{Scope, WaitResult};
use blitz_io_observe as observe;

use crate::kernel::memory::SleepWord;

/// A thread sleeps, or is about to.
pub const SLEEPER: u32 = 1;
/// A participant has armed its doorbell.
pub const DOORBELL: u32 = 2;
const FLAGS: u32 = SLEEPER | DOORBELL;
const EPOCH: u32 = 4;

/// The model checker's participants are threads.
const SCOPE: Scope = if cfg!(loom) {
    Scope::Private
} else {
    Scope::Shared
};

/// The word that participants sleep on. The top of this file has the protocol.
#[derive(Clone, Copy)]
pub struct EventCount<'a>(pub SleepWord<'a>);

impl EventCount<'_> {
    /// Announces a waiter, which looks again afterwards. Returns its key.
    pub fn prepare(self, flag: u32) -> u32 {
        let key = self.0.or(flag) | flag;
        fences::after_rmw();
        key
    }

    /// Sleeps while the word is `key`, until `deadline`.
    pub fn sleep(self, key: u32, deadline: Option<Instant>) {
        let _record = observe::sleeping(self.0.get());
        let result = SCOPE.wait_deadline(self.0.get(), key, deadline);
        // Checked when the segment was opened.
        debug_assert!(result.is_ok());
        _ = result.unwrap_or(WaitResult::Woken);
    }

    /// Wakes the waiters after a change, which was a sequentially consistent
    /// read-modify-write. Returns `true` if doorbells are to be rung, too.
    #[inline]
    pub fn notify(self) -> bool {
        self.has_waiters() && self.notify_waiters()
    }

    /// Returns `true` if there are waiters, after such a change.
    #[inline]
    pub fn has_waiters(self) -> bool {
        fences::after_rmw();
        self.0.load() & FLAGS != 0
    }

    /// Wakes the waiters.
    #[cold]
    pub fn notify_waiters(self) -> bool {
        self.0.add(EPOCH);
        let flags = self.0.and(!FLAGS);
        if flags & SLEEPER != 0 {
            let woken = SCOPE.wake_all(self.0.get());
            debug_assert!(woken.is_ok());
        }
        flags & DOORBELL != 0
    }
}
