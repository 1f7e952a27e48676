//! The word of an [`Exclusive`](super::Exclusive) as a table: state × event → state.
//!
//! Each row is a method of [`Word`], and there is no other change. The proof in `exclusive.rs` names
//! the rows. In the tables, `·` is a state in which the event does not occur, and an empty cell
//! stays as it is.
//!
//! # `hold`: which thread has the lock
//!
//! | row | event | `FREE` | `HANDED_OFF` | `UPGRADABLE` | `DRAINING` | `HELD` |
//! |---|---|---|---|---|---|---|
//! | H1 | [`take`](Word::take) from `FREE` | as wanted | | | | |
//! | H2 | `take` from `HANDED_OFF`, by a thread that has slept | | as wanted | | | |
//! | H3 | [`release`](Word::release), by the owner | · | · | `FREE` | `FREE` | `FREE` |
//! | H4 | [`hand_off`](Word::hand_off), by the owner, to a thread that starves | · | · | `HANDED_OFF` | `HANDED_OFF` | `HANDED_OFF` |
//! | H5 | [`hand_off_fairly`](Word::hand_off_fairly), by the owner, to the thread that sleeps longest | · | · | `HANDED_OFF` | `HANDED_OFF` | `HANDED_OFF` |
//! | H6 | [`hand_off_free`](Word::hand_off_free), by a thread after its release | `HANDED_OFF` | | | | |
//! | H7 | [`withdraw`](Word::withdraw), of a hand-off | | `FREE` | | | |
//! | H8 | [`weaken`](Word::weaken), by the owner, to let readers in | · | · | · | `UPGRADABLE` | `UPGRADABLE`, `DRAINING` |
//! | H9 | [`strengthen`](Word::strengthen), by the owner, to keep readers out | · | · | `HELD` | `HELD` | · |
//!
//! H3, H5 and H8 publish: they store, make the light fence, and return what they then see in
//! `queue`. The others are sequentially consistent.
//!
//! # `queue`: the duties of a release
//!
//! | row | event | `CONTENDED` | `WAKE_NEEDED` | `READERS` | `REGISTERING` |
//! |---|---|---|---|---|---|
//! | Q1 | [`begin_to_register`](Word::begin_to_register) | set | | | set |
//! | Q2 | [`register`](Word::register), a failure if `CONTENDED` is clear | | set, for an owner | set, for a reader | |
//! | Q3 | [`others_may_sleep`](Word::others_may_sleep), by an owner that has slept | | set | | |
//! | Q4 | [`take_wake_up`](Word::take_wake_up), before a thread is woken | | clear | | clear |
//! | Q5 | [`take_readers`](Word::take_readers), before the readers are woken | | | clear | clear |
//! | Q6 | [`leave_contended_mode`](Word::leave_contended_mode), if no other bit is set | clear | | | |
//!
//! # `starving`: how many threads have waited for too long, awake and asleep
//!
//! | row | event | awake | asleep |
//! |---|---|---|---|
//! | S1 | [`starve`](Word::starve), if fewer than 15 are counted | + 1 | |
//! | S2 | [`fall_asleep`](Word::fall_asleep) | − 1 | + 1 |
//! | S3 | [`stop_starving`](Word::stop_starving), as it was counted | − 1 | or − 1 |
//!
//! # `quiet`: releases since a thread last slept
//!
//! | row | event | count |
//! |---|---|---|
//! | C1 | [`note_sleeper`](Word::note_sleeper) | 0 |
//! | C2 | [`note_quiet`](Word::note_quiet) | + 1; the last one of [`QUIET_RELEASES`] makes it 0 |

use blitz_io_futex::SplitWord;
use blitz_io_futex::atomic::{AtomicU8, Ordering};

use crate::const_unless_loom;
use crate::fences;

/// No thread has the lock. Any thread may take it.
pub const FREE: u8 = 0;
/// No thread has the lock, and only a thread that has slept for it may take it.
pub const HANDED_OFF: u8 = 1;
/// The right to become the writer is taken, and readers may enter.
pub const UPGRADABLE: u8 = 2;
/// A writer waits for the last readers to leave.
pub const DRAINING: u8 = 3;
/// One thread alone owns the lock.
pub const HELD: u8 = 4;

/// The lock is in contended mode: releases look carefully.
pub(super) const CONTENDED: u8 = 1;
/// A thread sleeps for ownership, or is about to, and none has been woken on its behalf.
pub(super) const WAKE_NEEDED: u8 = 2;
/// Readers sleep, or are about to.
pub(super) const READERS: u8 = 4;
/// A thread is about to set one of these two; contended mode must not end before.
const REGISTERING: u8 = 8;

/// One thread that starves, and sleeps.
const ASLEEP: u8 = 1;
/// One thread that starves, and is awake.
const AWAKE: u8 = 16;

/// Releases without a sleeper before contended mode ends. It costs each of them a
/// fence; ending it too early costs a heavy fence: about a hundred times as much, on
/// both sides.
const QUIET_RELEASES: u8 = 128;

/// The four bytes; see the module documentation.
pub(super) struct Word(SplitWord);

/// The four bytes as a thread saw them after it registered.
#[derive(Clone, Copy)]
pub(super) struct Seen(pub(super) [u8; 4]);

/// A value of `queue`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Queue(u8);

/// A value of `starving`.
#[derive(Clone, Copy)]
pub(super) struct Starving(u8);

/// How one thread is counted in `starving`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counted {
    /// It is not.
    No,
    Awake,
    Asleep,
}

impl Seen {
    pub(super) fn hold(self) -> u8 {
        self.0[0]
    }
}

impl Queue {
    /// A release has no duty.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn wakes_owner(self) -> bool {
        self.0 & WAKE_NEEDED != 0
    }

    pub(super) fn wakes_readers(self) -> bool {
        self.0 & READERS != 0
    }

    /// The lock is in contended mode, and no thread sleeps or registers.
    fn is_quiet(self) -> bool {
        self.0 == CONTENDED
    }
}

impl Starving {
    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// One of them is awake, and sees a hand-off without being woken.
    pub(super) fn is_awake(self) -> bool {
        self.0 >= AWAKE
    }
}

impl Word {
    const_unless_loom! {
        /// Creates the word of a free lock without waiters.
        pub(super) const fn new() -> Self {
            Self(SplitWord::new([FREE, 0, 0, 0]))
        }
    }

    /// Returns the word in which threads sleep.
    pub(super) fn split(&self) -> &SplitWord {
        &self.0
    }

    #[inline]
    fn hold_byte(&self) -> &AtomicU8 {
        self.0.byte(0)
    }

    #[inline]
    fn queue_byte(&self) -> &AtomicU8 {
        self.0.byte(1)
    }

    fn starving_byte(&self) -> &AtomicU8 {
        self.0.byte(2)
    }

    fn quiet_byte(&self) -> &AtomicU8 {
        self.0.byte(3)
    }

    #[inline]
    pub(super) fn hold(&self, order: Ordering) -> u8 {
        self.hold_byte().load(order)
    }

    #[inline]
    pub(super) fn queue(&self, order: Ordering) -> Queue {
        Queue(self.queue_byte().load(order))
    }

    pub(super) fn starving(&self, order: Ordering) -> Starving {
        Starving(self.starving_byte().load(order))
    }

    /// Rows H1 and H2. Returns `true` if the lock was in state `from`.
    #[inline]
    pub(super) fn take(&self, from: u8, to: u8) -> bool {
        self.hold_byte()
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    #[inline]
    fn publish(&self, hold: u8) -> Queue {
        Queue(fences::publish(self.hold_byte(), hold, self.queue_byte()))
    }

    /// Row H3.
    #[inline]
    pub(super) fn release(&self) -> Queue {
        self.publish(FREE)
    }

    /// Row H4.
    pub(super) fn hand_off(&self) {
        self.hold_byte().swap(HANDED_OFF, Ordering::SeqCst);
    }

    /// Row H5.
    pub(super) fn hand_off_fairly(&self) {
        self.publish(HANDED_OFF);
    }

    /// Row H6. Returns `true` if the lock was free.
    pub(super) fn hand_off_free(&self) -> bool {
        self.take(FREE, HANDED_OFF)
    }

    /// Row H7.
    pub(super) fn withdraw(&self) {
        self.take(HANDED_OFF, FREE);
    }

    /// Row H8.
    pub(super) fn weaken(&self, to: u8) -> Queue {
        self.publish(to)
    }

    /// Row H9.
    pub(super) fn strengthen(&self) {
        self.hold_byte().swap(HELD, Ordering::SeqCst);
    }

    /// Row Q1. Returns `true` if this begins contended mode.
    pub(super) fn begin_to_register(&self) -> bool {
        let bits = CONTENDED | REGISTERING;
        self.queue_byte().fetch_or(bits, Ordering::SeqCst) & CONTENDED == 0
    }

    /// Row Q2, for `WAKE_NEEDED`, `READERS`, or `CONTENDED`, which registers no sleeper. Returns the
    /// bytes after that. `None` if contended mode has ended in the meantime.
    pub(super) fn register(&self, who: u8) -> Option<Seen> {
        let queue = self.queue_byte().fetch_or(who, Ordering::SeqCst);
        if queue & CONTENDED == 0 {
            return None;
        }
        fences::after_rmw();
        Some(Seen([
            self.hold(Ordering::SeqCst),
            queue | who,
            self.starving_byte().load(Ordering::SeqCst),
            self.quiet_byte().load(Ordering::SeqCst),
        ]))
    }

    /// Row Q3.
    pub(super) fn others_may_sleep(&self) {
        self.queue_byte().fetch_or(WAKE_NEEDED, Ordering::SeqCst);
    }

    /// Row Q4. Returns the queue before: a wake-up is due if it had `WAKE_NEEDED`.
    pub(super) fn take_wake_up(&self) -> Queue {
        let others = !(WAKE_NEEDED | REGISTERING);
        Queue(self.queue_byte().fetch_and(others, Ordering::SeqCst))
    }

    /// Row Q5.
    pub(super) fn take_readers(&self) {
        let others = !(READERS | REGISTERING);
        self.queue_byte().fetch_and(others, Ordering::SeqCst);
    }

    /// Row Q6.
    fn leave_contended_mode(&self) {
        let _ =
            self.queue_byte()
                .compare_exchange(CONTENDED, 0, Ordering::SeqCst, Ordering::Relaxed);
    }

    /// Row S1. Returns `true` if there was room.
    pub(super) fn starve(&self) -> bool {
        self.starving_byte()
            .fetch_update(Ordering::SeqCst, Ordering::Relaxed, |count| {
                (count / AWAKE + count % AWAKE < 15).then(|| count + AWAKE)
            })
            .is_ok()
    }

    /// Row S2, of a thread that is counted as awake.
    pub(super) fn fall_asleep(&self) {
        self.starving_byte()
            .fetch_sub(AWAKE - ASLEEP, Ordering::SeqCst);
    }

    /// Row S3.
    pub(super) fn stop_starving(&self, counted: Counted) {
        let one = match counted {
            Counted::No => return,
            Counted::Awake => AWAKE,
            Counted::Asleep => ASLEEP,
        };
        self.starving_byte().fetch_sub(one, Ordering::SeqCst);
    }

    /// Row C1.
    pub(super) fn note_sleeper(&self) {
        self.quiet_byte().store(0, Ordering::Relaxed);
    }

    /// Row C2, and Q6 after enough quiet releases, if `queue` is quiet still.
    pub(super) fn note_quiet(&self, queue: Queue) {
        let quiet = self.quiet_byte().load(Ordering::Relaxed) + 1;
        self.quiet_byte()
            .store(quiet % QUIET_RELEASES, Ordering::Relaxed);
        if quiet == QUIET_RELEASES && queue.is_quiet() {
            self.leave_contended_mode();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [u8; 5] = [FREE, HANDED_OFF, UPGRADABLE, DRAINING, HELD];

    fn in_state(hold: u8, queue: u8) -> Word {
        Word(SplitWord::new([hold, queue, 0, 0]))
    }

    /// Returns the state after an event, for each state before.
    fn after(event: impl Fn(&Word)) -> [u8; 5] {
        STATES.map(|state| {
            let word = in_state(state, 0);
            event(&word);
            word.hold(Ordering::Relaxed)
        })
    }

    #[test]
    fn an_event_changes_the_hold_as_the_table_says() {
        let [free, handed_off, upgradable, draining, held] = STATES;
        let take = after(|word| _ = word.take(FREE, HELD));
        assert_eq!(take, [held, handed_off, upgradable, draining, held]);
        let take = after(|word| _ = word.take(HANDED_OFF, UPGRADABLE));
        assert_eq!(take, [free, upgradable, upgradable, draining, held]);
        assert_eq!(after(|word| _ = word.release()), [free; 5]);
        assert_eq!(after(Word::hand_off), [handed_off; 5]);
        assert_eq!(after(Word::hand_off_fairly), [handed_off; 5]);
        let again = after(|word| _ = word.hand_off_free());
        assert_eq!(again, [handed_off, handed_off, upgradable, draining, held]);
        let withdraw = after(Word::withdraw);
        assert_eq!(withdraw, [free, free, upgradable, draining, held]);
        assert_eq!(after(|word| _ = word.weaken(DRAINING)), [draining; 5]);
        assert_eq!(after(Word::strengthen), [held; 5]);
    }

    #[test]
    fn an_event_changes_the_queue_as_the_table_says() {
        for before in 0..16 {
            let queue = |event: &dyn Fn(&Word)| {
                let word = in_state(HELD, before);
                event(&word);
                word.queue(Ordering::Relaxed).0
            };
            let (first, contended) = (before & CONTENDED == 0, CONTENDED | REGISTERING);
            assert_eq!(
                queue(&|word| assert_eq!(word.begin_to_register(), first)),
                before | contended
            );
            for who in [CONTENDED, WAKE_NEEDED, READERS] {
                let register = |word: &Word| {
                    let bytes = word.register(who).map(|seen| seen.0);
                    assert_eq!(bytes, (!first).then_some([HELD, before | who, 0, 0]));
                };
                assert_eq!(queue(&register), before | who);
            }
            assert_eq!(queue(&Word::others_may_sleep), before | WAKE_NEEDED);
            let taken = queue(&|word| assert_eq!(word.take_wake_up().0, before));
            assert_eq!(taken, before & (CONTENDED | READERS));
            let taken = queue(&Word::take_readers);
            assert_eq!(taken, before & (CONTENDED | WAKE_NEEDED));
            let left = if before == CONTENDED { 0 } else { before };
            assert_eq!(queue(&Word::leave_contended_mode), left);
        }
    }

    #[test]
    fn the_sixteenth_starving_thread_is_not_counted() {
        let word = Word::new();
        let counts = || {
            let count = word.starving(Ordering::Relaxed).0;
            (count / AWAKE, count % AWAKE)
        };
        assert!((0..15).all(|_| word.starve()));
        assert!(!word.starve());
        (0..15).for_each(|_| word.fall_asleep());
        assert_eq!(counts(), (0, 15));
        assert!(!word.starve());
        word.stop_starving(Counted::Asleep);
        word.stop_starving(Counted::No);
        assert!(word.starve());
        assert_eq!(counts(), (1, 14));
        word.stop_starving(Counted::Awake);
        assert_eq!(counts(), (0, 14));
    }

    #[test]
    fn contended_mode_ends_after_quiet_releases_in_a_row() {
        let word = in_state(FREE, CONTENDED);
        let release = |times: u8| {
            (0..times).for_each(|_| word.note_quiet(word.queue(Ordering::Relaxed)));
            word.queue(Ordering::Relaxed).is_empty()
        };
        assert!(!release(QUIET_RELEASES - 1));
        word.note_sleeper();
        assert!(!release(QUIET_RELEASES - 1));
        assert!(release(1));
    }
}
