//! Exclusive ownership in four bytes: the core of `Mutex` and `RwLock`.
//!
//! # States
//!
//! The word is split into bytes (see [`SplitWord`]): `hold` says which
//! thread has the lock, `queue` holds the duties of a release, `starving` counts the threads that
//! have waited for longer than [`FAIR_AFTER`], and `quiet` the releases since a thread last slept.
//! `state.rs` has the table of all changes; H1, Q1, S1 and C1 here are its rows.
//!
//! A mutex knows only the owner's state [`HELD`]. A reader-writer lock gives its owners two weaker
//! forms, which let readers in.
//!
//! # Moves
//!
//! Taking (H1) is one exchange of `FREE` for the wanted state. Releasing (H3) is a plain store of
//! `FREE` and a look at `queue`; when it is zero, the release is complete. This costs half as much as
//! a release by read-modify-write. It is the reason for keeping the two bytes apart: the store
//! cannot wipe out an announcement.
//!
//! A thread that finds the lock taken spins for a while (`spin/`), then *announces* itself:
//!
//! 1. It sets `CONTENDED` and `REGISTERING` (Q1). If `CONTENDED` was clear, it passes the heavy fence.
//! 2. It sets `WAKE_NEEDED` (Q2) and *looks* at `hold` again.
//! 3. It sleeps while all bytes equal those that it saw.
//!
//! So the heavy fence is paid once for a period in contended mode, and not once for a sleep. In
//! that mode, releases fence for themselves (`wake_as_needed`). A release that finds no thread
//! asleep counts as quiet (C2), and enough of them in a row end contended mode (Q6). `REGISTERING`
//! keeps a busy owner from ending it faster than a thread can come to step 2.
//!
//! A release that sees `WAKE_NEEDED` clears it (Q4) and wakes one thread. From then on the woken
//! thread is responsible for the flag. When it gets the lock it sets `WAKE_NEEDED` again (Q3), since
//! others may sleep, and its own release will look. When it does not get the lock it announces
//! again. When it gives up it sets the flag again (Q2). In between, no thread is woken, however many
//! sleep. Readers have a flag of their own, and are woken all at once (Q5).
//!
//! # No wake-up is lost
//!
//! Let S sleep. It set `WAKE_NEEDED` or found it set while `CONTENDED` was set (Q2), and `hold`
//! was taken when it looked and still when the system compared the bytes.
//!
//! *`CONTENDED` had been set for long.* Then the owner's release (H3) sees it, fences, and looks at
//! `queue` again. S fenced between its `WAKE_NEEDED` and its look (Q2). So S saw the release, or the
//! release sees `WAKE_NEEDED`, clears it (Q4), and wakes. If that happens before S is asleep, the
//! bytes differ from those that S saw, and S does not sleep.
//!
//! *S set `CONTENDED` (Q1).* Its heavy fence splits all releases: those whose store of
//! `FREE` was visible to S's look, and those whose look at `queue` sees `CONTENDED`.
//! S saw the lock taken, so the owner's release is of the second kind.
//!
//! *S found `CONTENDED` set* by a waiter W, which has not been through its heavy fence yet. A
//! release (H3), or a step down to a state that lets readers in (H8), may be just between its store and its
//! look, and have missed all bits. After its fence, W sees that store and performs the missed
//! wake.
//!
//! *Contended mode is ended* by an exchange of exactly `CONTENDED` for zero (Q6). That fails
//! once `WAKE_NEEDED` is set; and a thread that sets `WAKE_NEEDED` and finds that `CONTENDED` has gone in the
//! meantime begins again (Q2 fails).
//!
//! *S found `WAKE_NEEDED` set by an owner* that had slept (Q3). That owner's release sees its
//! own store.
//!
//! A release that sees `WAKE_NEEDED` but finds the lock taken again leaves the bit
//! alone: the new owner's release will see it, by the same argument.
//!
//! *A thread that gives up* sets `WAKE_NEEDED` again and does the work of a release. Most futexes
//! make that needless: Linux's, the portable table and the model's report a time-out only to a
//! thread that they did not wake. Then the wake-up that cleared the flag went to a thread that is
//! on its way. On other systems a wake-up may be spent on a thread whose wait then ends as timed
//! out, and nothing else would replace that wake-up. So leaving the step out fails no model;
//! keeping it costs a thread that times out one needless look.
//!
//! *A wake-up for an owner goes to an owner.* A thread that clears `READERS` (Q5) may not have woken
//! the readers yet when another clears `WAKE_NEEDED` (Q4). If that one woke the thread that sleeps
//! longest, it could be one of those readers, which does nothing for the owners. So where readers
//! sleep (`SHARED`), owners are woken as a group. A system that cannot tell the groups apart
//! wakes all.
//!
//! The four bytes are compared one by one where the system has no such thing.
//! That is enough: `hold` goes through `FREE` without a wake only while `WAKE_NEEDED` is
//! clear, `WAKE_NEEDED` is cleared only by the thread that wakes, and a stale count in the other
//! two bytes decides nothing.
//!
//! # Fairness
//!
//! Any thread may take a free lock, also past threads that sleep. That is several times faster
//! than handing over, because the processor that has the lock in its cache continues with it.
//! A spinning thread is polite. A lock that looks free may be idle, or its last owner is about to
//! take it again, as it did a thousand times before. Taking it then moves the lock and its data to
//! another processor, and each such move makes both threads wait. So a spinning thread takes the
//! lock only after it has looked free [`FREE_LOOKS`] times in a row, a pause apart. It takes an
//! idle lock a tenth of a microsecond later than it could, and a busy one mostly when the owner has
//! to wait for something else.
//!
//! Against starvation, a thread that has waited for [`FAIR_AFTER`] ends its sleep and counts
//! itself as starving (S1). While a thread starves, a release hands the lock off (H4, H6) and wakes
//! the thread that sleeps longest. Only a thread that has slept may take a lock that is handed
//! off (H2), and new ones go to sleep behind the others without trying. So every waiter gets the lock
//! after `FAIR_AFTER`, plus one hand-over and one turn of each thread that was queued before it.
//!
//! A starving thread is counted as awake or as asleep (S2). While one is awake, it spins and sees a
//! hand-off within a few pauses, so the release need not wake a thread.
//!
//! No hand-off is lost. It is made because of a starving thread (H4, H6), or, in a fair release, to one
//! that the system has said it woke (H5). Either is in `lock_slow` and looks at `hold` again before it
//! sleeps, and takes the lock there; when it gives up instead, it withdraws the hand-off (H7). A
//! thread that hands off to the starving looks again whether there still are any. On systems that
//! report whether they woke a thread, a fair release withdraws its hand-off, and is only a
//! release.
//!
//! # Sources
//!
//! The three-state futex mutex of Ulrich Drepper's "Futexes are tricky"; the
//! designated waker of `nsync`; starvation mode as in Go's `sync.Mutex`; the
//! asymmetric fence as in `membarrier(2)` and Folly's `asymmetricThreadFence`.

use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{Ordering, fence};
use blitz_io_futex::{Group, SplitWord, WaitResult};
use blitz_io_observe as observe;

use crate::const_unless_loom;
use crate::deadline;
use crate::fences;
use crate::pause::pause;
use crate::spin::Spin;

mod state;

use state::{CONTENDED, Counted, READERS, Seen, WAKE_NEEDED, Word};
pub use state::{DRAINING, FREE, HANDED_OFF, HELD, UPGRADABLE};

/// Threads that sleep for ownership, as the futex knows them.
const OWNERS: Group = Group::First;
/// Threads that sleep as readers.
const SHARERS: Group = Group::Second;

/// Number of times in a row that the lock must look free before a spinning thread takes it.
const FREE_LOOKS: u32 = if cfg!(loom) { 1 } else { 3 };

/// The time that a thread waits before it counts as starving, and the lock is handed off.
pub const FAIR_AFTER: Duration = Duration::from_millis(2);

/// A lock with one owner; see the module documentation. With `SHARED`, readers sleep here, too.
pub struct Exclusive<const SHARED: bool = false> {
    word: Word,
}

/// The state of one waiting thread.
struct Waiter {
    /// The time from which the thread starves.
    fair_at: Instant,
    threshold: Duration,
    /// It may have taken the wake-up of another thread, and may take a lock that is handed off.
    slept: bool,
    starving: Counted,
}

impl<const SHARED: bool> Exclusive<SHARED> {
    const_unless_loom! {
        /// Creates a free lock without waiters.
        pub const fn new() -> Self {
            Self { word: Word::new() }
        }
    }

    /// Returns the byte that says which thread has the lock, if any.
    #[inline]
    pub fn hold(&self, order: Ordering) -> u8 {
        self.word.hold(order)
    }

    /// Returns `true` if it is owned or handed off.
    pub fn is_held(&self) -> bool {
        self.word.hold(Ordering::Relaxed) != FREE
    }

    /// Returns `true` if a release would have to wake a thread.
    pub fn is_awaited(&self) -> bool {
        let queue = self.word.queue(Ordering::Relaxed);
        queue.wakes_owner() || queue.wakes_readers()
    }

    /// Takes it if it is free, as `state`.
    #[inline]
    pub fn try_lock(&self, state: u8) -> bool {
        self.word.take(FREE, state)
    }

    /// Takes it as `state`; waits until then.
    #[inline]
    pub fn lock(&self, state: u8) {
        self.lock_until(state, None);
    }

    /// Takes it as `state`, or gives up at `deadline`.
    #[inline]
    pub fn lock_until(&self, state: u8, deadline: Option<Instant>) -> bool {
        self.word.take(FREE, state) || self.lock_slow(state, deadline)
    }

    /// Releases it.
    #[inline]
    pub fn unlock(&self) {
        if !self.word.queue(Ordering::Relaxed).is_empty() {
            return self.unlock_contended();
        }
        if !self.word.release().is_empty() {
            self.wake_as_needed();
        }
    }

    /// Does all it can before the release. A lock that is free during a system call goes to a
    /// thread that spins, and the data with it, before this thread can take the lock again.
    #[cold]
    fn unlock_contended(&self) {
        let starving = self.word.starving(Ordering::SeqCst);
        let wake_needed = self.word.queue(Ordering::SeqCst).wakes_owner();
        if starving.is_awake() || !starving.is_none() && wake_needed {
            self.word.hand_off();
            return self.after_hand_off();
        }
        if wake_needed {
            self.wake_one();
        }
        if !self.word.release().is_empty() {
            self.wake_as_needed();
        }
    }

    /// Wakes a thread that can take the lock that has just been handed off. Looks again whether
    /// any thread starves: the starving thread may have fallen asleep, or given up, before it
    /// could see the hand-off.
    fn after_hand_off(&self) {
        fences::after_rmw();
        self.wake_readers_if_any();
        let starving = self.word.starving(Ordering::SeqCst);
        if starving.is_none() {
            self.withdraw_hand_off();
        } else if !starving.is_awake() {
            self.wake_one();
        }
    }

    /// Releases it to the thread that sleeps longest, if one does.
    pub fn unlock_fair(&self) {
        if !self.word.queue(Ordering::SeqCst).wakes_owner() {
            return self.unlock();
        }
        self.word.hand_off_fairly();
        self.wake_readers_if_any();
        if !self.wake_one() {
            self.withdraw_hand_off();
        }
    }

    /// Lets in readers only, by going to `state`.
    pub fn weaken(&self, state: u8) {
        if !self.word.weaken(state).is_empty() {
            self.wake_readers_if_any();
        }
    }

    /// Keeps readers out again, by going to `HELD`.
    pub fn strengthen(&self) {
        self.word.strengthen();
    }

    #[cold]
    fn lock_slow(&self, state: u8, deadline: Option<Instant>) -> bool {
        if deadline::is_past(deadline) {
            return false;
        }
        let mut waiter = Waiter::new();
        loop {
            if self.spin(state, &waiter) {
                return self.acquired(&waiter);
            }
            self.starve_asleep(&mut waiter);
            let seen = self.announce(WAKE_NEEDED);
            let hold = seen.hold();
            if waiter.may_take(hold) {
                if self.word.take(hold, state) {
                    return self.acquired(&waiter);
                }
            } else if !self.sleep(seen, &mut waiter, deadline) {
                return self.give_up(&waiter);
            }
        }
    }

    /// Tries for a while, unless others have tried for too long.
    fn spin(&self, state: u8, waiter: &Waiter) -> bool {
        // Beside readers, an owner may wait for one of them. And the system likes to run a woken
        // thread where its waker ran, which may be the owner's processor.
        let mut spin = if SHARED || waiter.slept {
            Spin::LOCK.yielding()
        } else {
            Spin::LOCK
        };
        let mut free_looks = 0;
        loop {
            if free_looks != 0 {
                pause(1);
            } else if !spin.turn() {
                return false;
            }
            let hold = self.word.hold(Ordering::Relaxed);
            if !waiter.may_take(hold) {
                if !waiter.slept && !self.word.starving(Ordering::Relaxed).is_none() {
                    return false;
                }
                free_looks = 0;
                continue;
            }
            free_looks += 1;
            if hold == HANDED_OFF || free_looks == FREE_LOOKS {
                if self.word.take(hold, state) {
                    return true;
                }
                free_looks = 0;
            }
        }
    }

    /// Registers in `queue`, in contended mode, so that releases look for the thread. Returns the
    /// bytes as they are then.
    fn announce(&self, who: u8) -> Seen {
        loop {
            if self.word.begin_to_register() {
                fences::heavy();
                // Others may have found the bit set and gone to sleep before the
                // fence, on an old value of `hold`. Perform the wakes that the release missed.
                self.wake_readers_if_any();
                self.wake_as_needed();
            }
            if let Some(seen) = self.word.register(who) {
                return seen;
            }
        }
    }

    /// Sleeps as long as the bytes are these. Returns `false` when the deadline passed.
    fn sleep(&self, seen: Seen, waiter: &mut Waiter, deadline: Option<Instant>) -> bool {
        let until = waiter.until(deadline);
        let result = self.sleep_in_group(OWNERS, seen, until);
        if result == WaitResult::TimedOut && until == deadline {
            return false;
        }
        waiter.slept = true;
        if waiter.starving == Counted::No && (result == WaitResult::TimedOut || waiter.is_late()) {
            self.starve_awake(waiter);
        }
        true
    }

    /// Counts the waiter as starving, so that the next release hands it the lock while it is
    /// awake. If the count has no room, enough others starve that releases hand the lock off
    /// anyway. Then the waiter tries again later, and later each time, so that many waiters do
    /// not keep the processors busy with waking up.
    fn starve_awake(&self, waiter: &mut Waiter) {
        let counted = self.word.starve();
        waiter.threshold *= 2;
        waiter.fair_at = deadline::now() + waiter.threshold;
        if counted {
            waiter.starving = Counted::Awake;
            self.announce(CONTENDED);
        }
    }

    /// Counts a starving waiter that is about to sleep: from now on, a thread that hands the lock off
    /// has to wake one.
    fn starve_asleep(&self, waiter: &mut Waiter) {
        if waiter.starving == Counted::Awake {
            self.word.fall_asleep();
            waiter.starving = Counted::Asleep;
        }
    }

    /// Ends the wait of this thread, which has the lock. Others may sleep without a wake-up on its way.
    fn acquired(&self, waiter: &Waiter) -> bool {
        if waiter.slept {
            self.word.others_may_sleep();
        }
        self.word.stop_starving(waiter.starving);
        true
    }

    /// Leaves without the lock. The lock may have been handed off because of this thread. On some
    /// systems the thread may also have used up another thread's wake-up, although it timed out.
    /// So it announces, and does the work of a release.
    fn give_up(&self, waiter: &Waiter) -> bool {
        self.word.stop_starving(waiter.starving);
        self.announce(WAKE_NEEDED);
        self.withdraw_hand_off();
        false
    }

    /// Frees a lock that may have been handed off without a thread to take it.
    fn withdraw_hand_off(&self) {
        self.word.withdraw();
        self.wake_as_needed();
    }

    /// Wakes the threads that `queue` asks for. The lock has been released. If another thread has
    /// taken it since, that thread's release will wake them, unless it lets readers in.
    #[cold]
    fn wake_as_needed(&self) {
        fence(Ordering::SeqCst);
        let queue = self.word.queue(Ordering::SeqCst);
        let starving = self.word.starving(Ordering::SeqCst);
        if !queue.wakes_owner() && !queue.wakes_readers() && !starving.is_awake() {
            return self.word.note_quiet(queue);
        }
        let hold = self.word.hold(Ordering::SeqCst);
        if queue.wakes_readers() && hold <= UPGRADABLE {
            self.wake_readers();
        }
        if hold != FREE {
            return;
        }
        if starving.is_none() {
            self.wake_one();
        } else if self.word.hand_off_free() {
            self.after_hand_off();
        }
    }

    /// Wakes one thread if that is needed. Returns `false` when there was none to wake.
    fn wake_one(&self) -> bool {
        self.word.note_sleeper();
        let queue = self.word.take_wake_up();
        if !queue.wakes_owner() {
            return false;
        }
        if SHARED {
            SplitWord::wake_group(self.word.split(), OWNERS, 1) != 0
        } else {
            SplitWord::wake_one(self.word.split()) != 0
        }
    }

    /// Sleeps as a reader as long as `hold` is `state`.
    pub fn sleep_as_reader(&self, state: u8, deadline: Option<Instant>) -> WaitResult {
        let seen = self.announce(READERS);
        if seen.hold() == state {
            self.sleep_in_group(SHARERS, seen, deadline)
        } else {
            WaitResult::ValueChanged
        }
    }

    fn sleep_in_group(&self, group: Group, seen: Seen, until: Option<Instant>) -> WaitResult {
        let word = self.word.split();
        let _record = observe::sleeping(word);
        word.wait_in_group(group, seen.0, until)
    }

    /// Wakes all readers.
    fn wake_readers(&self) {
        self.word.note_sleeper();
        self.word.take_readers();
        SplitWord::wake_group(self.word.split(), SHARERS, usize::MAX);
    }

    #[cold]
    fn wake_readers_if_any(&self) {
        fence(Ordering::SeqCst);
        if self.word.queue(Ordering::SeqCst).wakes_readers() {
            self.wake_readers();
        }
    }
}

impl<const SHARED: bool> Default for Exclusive<SHARED> {
    fn default() -> Self {
        Self::new()
    }
}

impl Waiter {
    fn new() -> Self {
        Self {
            fair_at: deadline::now() + FAIR_AFTER,
            threshold: FAIR_AFTER,
            slept: false,
            starving: Counted::No,
        }
    }

    fn may_take(&self, hold: u8) -> bool {
        hold == FREE || hold == HANDED_OFF && self.slept
    }

    /// Returns the time at which the thread wakes up if no release wakes it.
    fn until(&self, deadline: Option<Instant>) -> Option<Instant> {
        deadline::earlier(
            deadline,
            (self.starving == Counted::No).then_some(self.fair_at),
        )
    }

    fn is_late(&self) -> bool {
        deadline::now() >= self.fair_at
    }
}
