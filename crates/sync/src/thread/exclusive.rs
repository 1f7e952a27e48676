//! Exclusive ownership in four bytes: the core of `Mutex` and `RwLock`.
//!
//! # States
//!
//! The word is split into bytes (see [`SplitWord`]); two are used.
//!
//! `hold` says who has the lock:
//!
//! * [`FREE`]: nobody. Any thread may take it.
//! * [`OFFERED`]: nobody, but it is meant for a thread that has slept for it.
//! * anything above: an owner. A mutex only knows [`HELD`]; a reader-writer
//!   lock gives its owners two weaker forms, which let readers in.
//!
//! `queue` says what a release has to do:
//!
//! * bit [`OWED`]: some thread sleeps, or is about to, and nobody has been woken
//!   on its behalf yet.
//! * bit [`READERS`]: the same for the readers of a reader-writer lock, which
//!   are all woken at once.
//! * the rest, in units of [`STARVING`]: how many threads have waited for longer
//!   than [`FAIR_AFTER`].
//!
//! # Moves
//!
//! Taking is one exchange of `FREE` for the wanted state. Releasing is a plain
//! store of `FREE` and a look at `queue`; when it is zero, that was all. This is
//! half of what a release by read-modify-write costs, and the reason for keeping
//! the two bytes apart: the store can not wipe out an announcement.
//!
//! A thread that finds the lock taken tries for a while (`spin.rs`), then
//! *announces* by setting `OWED`, passes the heavy fence if it was the one who
//! set it, *looks* at `hold` again, and sleeps as long as both bytes are what it
//! saw.
//!
//! A release that sees `OWED` clears it and wakes one thread (`pay`). The
//! woken one is now in charge: when it gets the lock it sets `OWED` again, since
//! others may sleep, and its own release will look; when it does not get the
//! lock it announces again; when it gives up it passes the debt on. In between
//! releases are as cheap as if nobody waited, however many do.
//!
//! # No wake-up is lost
//!
//! Let S sleep. It set `OWED` or found it set, and `hold` was taken when it
//! looked and still when the system compared the bytes.
//!
//! *S set `OWED`.* Its heavy fence splits all releases: those whose store of
//! `FREE` was visible to S's look, and those whose look at `queue` sees `OWED`.
//! S saw the lock taken, so the current owner's release is of the second kind.
//! It clears the bit and wakes; if that happens before S is asleep, the bytes
//! are not what S saw and S does not sleep.
//!
//! *S found it set* by another waiter W, which has not been through its fence
//! yet. The owner's release may be just between its store and its look, and have
//! missed the bit. Then W's look, after W's fence, finds the lock free: W takes
//! it, and W's own release sees the bit; or another thread got it first, whose
//! release is of the second kind; or W gives up, and looks again as a release
//! does ([`Exclusive::give_up`]).
//!
//! *S found it set by an owner* that had slept. That owner's release sees its
//! own store.
//!
//! A release that sees `OWED` but finds the lock taken again leaves the bit
//! alone: the new owner got the lock after the bit was set, or within the fence
//! of the one who sets it, so its release will see it.
//!
//! # Fairness
//!
//! Any thread may take a free lock, also past those who sleep; that is several
//! times faster than handing over, because the processor that has the lock in
//! its cache goes on with it. Against starvation, a thread that has waited for
//! [`FAIR_AFTER`] wakes up by itself and counts itself as starving. While
//! somebody starves, a release turns `FREE` into `OFFERED` and wakes the thread
//! that sleeps longest. Only a thread that has slept may take an offer, and new
//! ones go to sleep behind the others without trying. So every waiter gets the
//! lock after `FAIR_AFTER`, plus one hand-over and one turn of each thread that
//! was queued before it.
//!
//! No offer is left lying: while the count is above zero, the thread that counts
//! itself is asleep (and may be the one that is woken) or on its way to a look
//! at `hold`, and takes the offer there; when it gives up instead, it withdraws
//! it. When the count is zero anybody may take an offer. Whoever sleeps beside an
//! offer wakes up by himself after `FAIR_AFTER`, and may take it then.
//!
//! # Sources
//!
//! The three-state futex mutex of Ulrich Drepper's "Futexes are tricky"; the
//! designated waker of `nsync`; starvation mode as in Go's `sync.Mutex`; the
//! asymmetric fence as in `membarrier(2)` and Folly's `asymmetricThreadFence`.

use std::time::{Duration, Instant};

use blitz_futex::atomic::{AtomicU8, Ordering};
use blitz_futex::{SplitWord, WaitResult};

use crate::deadline;
use crate::fences;
use crate::macros::const_unless_loom;
use crate::mutant::{Mutant, active};
use crate::spin::Spin;

/// Nobody has it.
pub const FREE: u8 = 0;
/// Nobody has it; it is meant for a thread that has slept for it.
pub const OFFERED: u8 = 1;
/// The right to become the writer is taken, and readers may enter.
pub const UPGRADABLE: u8 = 2;
/// A writer waits for the last readers to leave.
pub const DRAINING: u8 = 3;
/// It is owned by one thread alone.
pub const HELD: u8 = 4;

/// A thread sleeps for ownership, and nobody has been woken on its behalf.
const OWED: u8 = 1;
/// Readers sleep.
const READERS: u8 = 2;
/// One thread that has waited too long.
const STARVING: u8 = 4;
/// As many as can be counted.
const ALL_STARVING: u8 = 63 * STARVING;

/// How long a thread waits before the lock is handed to it in turn.
pub const FAIR_AFTER: Duration = Duration::from_millis(1);

/// See the head of this file.
pub struct Exclusive {
    word: SplitWord,
}

/// What one waiting thread remembers.
struct Waiter {
    /// When it stops being patient.
    fair_at: Instant,
    /// It may have been woken in place of others, and may take offers.
    slept: bool,
    /// It is counted in `queue`.
    starving: bool,
}

impl Exclusive {
    const_unless_loom! {
        /// Free, with nobody waiting.
        pub const fn new() -> Self {
            Self { word: SplitWord::new([FREE, 0, 0, 0]) }
        }
    }

    /// Who has it.
    #[inline]
    pub fn hold(&self) -> &AtomicU8 {
        self.word.byte(0)
    }

    #[inline]
    fn queue(&self) -> &AtomicU8 {
        self.word.byte(1)
    }

    /// Whether it is owned or on offer.
    pub fn is_held(&self) -> bool {
        self.hold().load(Ordering::Relaxed) != FREE
    }

    /// Whether a release would have to wake somebody.
    pub fn is_awaited(&self) -> bool {
        self.queue().load(Ordering::Relaxed) != 0
    }

    /// Takes it if it is free, as `state`.
    #[inline]
    pub fn try_lock(&self, state: u8) -> bool {
        self.take(FREE, state) || self.try_lock_offered(state)
    }

    /// Takes it as `state`; waits until then.
    #[inline]
    pub fn lock(&self, state: u8) {
        if !self.take(FREE, state) {
            self.lock_slow(state, None);
        }
    }

    /// Takes it as `state`, or gives up at `deadline`.
    #[inline]
    pub fn lock_until(&self, state: u8, deadline: Option<Instant>) -> bool {
        self.take(FREE, state) || self.lock_slow(state, deadline)
    }

    /// Releases it.
    #[inline]
    pub fn unlock(&self) {
        fences::publish(self.hold(), FREE);
        if self.queue().load(Ordering::SeqCst) != 0 {
            self.pay();
        }
    }

    /// Releases it to the thread that sleeps longest, if one does.
    pub fn unlock_fair(&self) {
        if self.queue().load(Ordering::SeqCst) & OWED == 0 {
            return self.unlock();
        }
        fences::publish(self.hold(), OFFERED);
        if self.queue().load(Ordering::SeqCst) & READERS != 0 {
            self.wake_readers();
        }
        if !self.wake_one() {
            self.withdraw_offer();
        }
    }

    /// Lets readers in, but nobody else, by going from `HELD` to `state`.
    pub fn weaken(&self, state: u8) {
        fences::publish(self.hold(), state);
        if self.queue().load(Ordering::SeqCst) & READERS != 0 {
            self.wake_readers();
        }
    }

    #[inline]
    fn take(&self, from: u8, state: u8) -> bool {
        self.hold()
            .compare_exchange(from, state, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    fn try_lock_offered(&self, state: u8) -> bool {
        let nobody_starves = self.queue().load(Ordering::SeqCst) < STARVING;
        nobody_starves && self.take(OFFERED, state)
    }

    #[cold]
    fn lock_slow(&self, state: u8, deadline: Option<Instant>) -> bool {
        if deadline::is_past(deadline) {
            return self.try_lock_offered(state);
        }
        let mut waiter = Waiter::new();
        loop {
            if self.spin(state, &waiter) {
                return self.acquired(&waiter);
            }
            let (hold, queue) = self.announce();
            if waiter.may_take(hold, queue) {
                if self.take(hold, state) {
                    return self.acquired(&waiter);
                }
            } else if !self.sleep(hold, queue, &mut waiter, deadline) {
                return self.give_up(&waiter);
            }
        }
    }

    /// Tries for a while, unless others have tried for too long.
    fn spin(&self, state: u8, waiter: &Waiter) -> bool {
        let mut spin = Spin::new();
        while spin.turn() {
            let hold = self.hold().load(Ordering::Relaxed);
            let queue = self.queue().load(Ordering::Relaxed);
            if waiter.may_take(hold, queue) {
                if self.take(hold, state) {
                    return true;
                }
            } else if queue >= STARVING && !waiter.slept {
                return false;
            }
        }
        false
    }

    /// Makes the next release wake somebody. The two bytes as they are then.
    fn announce(&self) -> (u8, u8) {
        let queue = self.queue().fetch_or(OWED, Ordering::SeqCst);
        if queue & OWED == 0 {
            fences::heavy();
        }
        (self.hold().load(Ordering::SeqCst), queue | OWED)
    }

    /// Sleeps as long as the bytes are these. `false` when the deadline passed.
    fn sleep(&self, hold: u8, queue: u8, waiter: &mut Waiter, deadline: Option<Instant>) -> bool {
        let until = waiter.until(deadline);
        let result = self.word.wait_until([hold, queue, 0, 0], until);
        if result == WaitResult::TimedOut && until == deadline {
            return false;
        }
        waiter.slept = true;
        if !waiter.starving && (result == WaitResult::TimedOut || waiter.is_late()) {
            self.count_starving(waiter);
        }
        true
    }

    /// Counts the waiter as starving. If the count has no room, so many others
    /// starve that offers are being made anyway; it tries again later.
    fn count_starving(&self, waiter: &mut Waiter) {
        let one_more = |queue: u8| (queue < ALL_STARVING).then(|| queue + STARVING);
        waiter.starving = self
            .queue()
            .fetch_update(Ordering::SeqCst, Ordering::Relaxed, one_more)
            .is_ok();
        waiter.fair_at = deadline::now() + FAIR_AFTER;
    }

    /// The lock is ours after a wait. Others may sleep whom nobody will wake.
    fn acquired(&self, waiter: &Waiter) -> bool {
        if waiter.slept && !active(Mutant::ExclusiveForgetsOthers) {
            self.queue().fetch_or(OWED, Ordering::SeqCst);
        }
        if waiter.starving {
            self.queue().fetch_sub(STARVING, Ordering::SeqCst);
        }
        true
    }

    /// Leaves without the lock. An offer may have been made because of us, and
    /// on some systems a thread whose time is up may have been woken all the
    /// same, in place of another. So announce, and do what a release does.
    fn give_up(&self, waiter: &Waiter) -> bool {
        if waiter.starving {
            self.queue().fetch_sub(STARVING, Ordering::SeqCst);
        }
        self.announce();
        self.withdraw_offer();
        false
    }

    /// Makes an offer that may have nobody to take it a free lock.
    fn withdraw_offer(&self) {
        self.take(OFFERED, FREE);
        fences::after_rmw();
        if self.queue().load(Ordering::SeqCst) != 0 {
            self.pay();
        }
    }

    /// Does what the queue asks of a release. The lock has been released; if
    /// somebody has taken it since, he will do it, except that he may be one who
    /// lets readers in.
    #[cold]
    fn pay(&self) {
        let hold = self.hold().load(Ordering::SeqCst);
        let queue = self.queue().load(Ordering::SeqCst);
        if hold <= UPGRADABLE && queue & READERS != 0 {
            self.wake_readers();
        }
        if hold != FREE || queue >= STARVING && !self.offer() {
            return;
        }
        self.wake_one();
    }

    /// Keeps a free lock for those who have slept. `false` if it is taken.
    fn offer(&self) -> bool {
        if !self.take(FREE, OFFERED) {
            return false;
        }
        // The last of the starving may have given up before he saw the offer.
        fences::after_rmw();
        if self.queue().load(Ordering::SeqCst) < STARVING {
            self.take(OFFERED, FREE);
        }
        true
    }

    /// Wakes one thread if that is owed. `false` when there was none to wake.
    fn wake_one(&self) -> bool {
        let queue = self.queue().fetch_and(!OWED, Ordering::SeqCst);
        queue & OWED != 0 && SplitWord::wake_one(&self.word) != 0
    }

    /// Sleeps as a reader as long as `hold` is `state`.
    pub fn sleep_as_reader(&self, state: u8, deadline: Option<Instant>) -> WaitResult {
        let queue = self.queue().fetch_or(READERS, Ordering::SeqCst);
        if queue & READERS == 0 {
            fences::heavy();
            if self.hold().load(Ordering::SeqCst) != state {
                // Other readers may have found the bit set and gone to sleep
                // before our fence, and the release missed it.
                self.wake_readers();
                return WaitResult::ValueChanged;
            }
        }
        let expected = [state, queue | READERS, 0, 0];
        self.word.wait_until(expected, deadline)
    }

    /// Wakes all readers, and with them the threads that sleep beside them.
    #[cold]
    pub fn wake_readers(&self) {
        self.queue().fetch_and(!READERS, Ordering::SeqCst);
        SplitWord::wake_all(&self.word);
    }
}

impl Waiter {
    fn new() -> Self {
        Self {
            fair_at: deadline::now() + FAIR_AFTER,
            slept: false,
            starving: false,
        }
    }

    fn may_take(&self, hold: u8, queue: u8) -> bool {
        hold == FREE || hold == OFFERED && (self.slept || queue < STARVING)
    }

    /// When to wake up without being woken.
    fn until(&self, deadline: Option<Instant>) -> Option<Instant> {
        match deadline {
            _ if self.starving => deadline,
            Some(deadline) => Some(deadline.min(self.fair_at)),
            None => Some(self.fair_at),
        }
    }

    fn is_late(&self) -> bool {
        deadline::now() >= self.fair_at
    }
}
