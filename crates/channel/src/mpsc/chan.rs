//! What both ends share: claiming slots and filling them.
//!
//! See the head of `mod.rs` for the protocol.

use std::cell::Cell;
use std::fmt;
use std::hint;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;

use blitz_futex::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use blitz_sync::internals::{Backoff, Panics, WaitQueue, yield_now};

use super::bias::Bias;
use super::block::{Block, LEN, offset};
use super::mutant::{Mutant, active, model_failed};
use super::rx::{Rx, Unread};
use super::seat::Seat;
use super::spares::Spares;
use super::tx::Tx;
use super::wait::Wish;
use super::word::{
    BIASED, CLOSED, INSTALLING, MOST_MESSAGES, OBSTACLES, PERMIT, RX_WAITS, SLOT, TX_WAITS,
    position, reserved, used,
};

/// Keeps what different threads write out of each other's cache lines.
#[repr(align(128))]
pub struct Apart<T>(pub T);

/// What senders write.
pub struct Tail<T> {
    /// See `word.rs`.
    pub word: AtomicU64,
    /// What the word is, unless somebody has changed it and not said so. A claim
    /// starts from here: to read the word itself right after the last claim's
    /// locked instruction would take a quarter of the time of a claim.
    guess: AtomicU64,
    /// The block of the last claimed slot, or a later one.
    pub block: AtomicPtr<Block<T>>,
    /// How many messages had been received when a sender last had to look.
    pub head_seen: AtomicU32,
    pub bias: Bias,
}

impl<T> Tail<T> {
    /// What the word may be. An old guess does no harm: whoever starts from it
    /// fails, and reads the word.
    #[inline(always)]
    fn guess(&self) -> u64 {
        match cfg!(loom) {
            // Its only effect would be more schedules.
            true => self.word.load(Ordering::Relaxed),
            false => self.guess.load(Ordering::Relaxed),
        }
    }

    /// Says that the word has been changed to this.
    #[inline(always)]
    pub fn set_guess(&self, word: u64) {
        if !cfg!(loom) {
            self.guess.store(word, Ordering::Relaxed);
        }
    }
}

/// What the receiver writes.
pub struct Front {
    /// How many messages have been received.
    pub head: AtomicU32,
    /// Changes after it: the byte that goes with the light fence.
    pub taken: AtomicU8,
}

pub struct Chan<T> {
    pub tail: Apart<Tail<T>>,
    pub front: Apart<Front>,
    /// What the user asked for.
    pub max_capacity: usize,
    /// How many messages and permits there may be at once.
    pub limit: u32,
    /// Whether senders have been waiting lately; see `wait.rs`.
    pub spell: AtomicU8,
    pub senders: AtomicUsize,
    pub weak_senders: AtomicUsize,
    pub seat: Apart<Seat>,
    pub waiters: WaitQueue<Wish<T>>,
    /// Those who wait for the end of the channel.
    pub watchers: WaitQueue,
    pub spares: Spares<T>,
    /// What the receiver left behind.
    pub unread: Cell<Option<Unread<T>>>,
}

// SAFETY: messages go from the thread of a sender to that of the receiver, or to
// the one that drops the channel, and are used by one thread at a time. `unread`
// is written by the receiver when it leaves, and read when all others have left.
unsafe impl<T: Send> Send for Chan<T> {}
// SAFETY: as above; nobody gets a shared reference to a message.
unsafe impl<T: Send> Sync for Chan<T> {}

// A panic of the user's code (a waker's, a message's drop) happens where nothing
// is half done.
impl<T> UnwindSafe for Chan<T> {}
impl<T> RefUnwindSafe for Chan<T> {}

/// A slot that has been claimed.
#[must_use = "a claimed slot must be filled, or the receiver waits for it for ever"]
pub struct Claim {
    position: u32,
    /// Whether to wake the receiver when the slot has been filled.
    wakes: bool,
}

/// Why a slot could not be claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is no room, or others wait for it.
    Full,
    Closed,
}

/// By what right a slot is claimed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    /// There is room.
    Room,
    /// A permit, which is used up.
    Permit,
}

/// Makes a channel. `None`: without a limit.
pub fn channel<T>(capacity: Option<usize>) -> (Tx<T>, Rx<T>) {
    channel_at(capacity, 0)
}

/// A channel that has had some traffic already.
pub fn channel_at<T>(capacity: Option<usize>, start: u32) -> (Tx<T>, Rx<T>) {
    let start = start - offset(start);
    let first = Block::allocate(start);
    let max_capacity = capacity.unwrap_or(usize::MAX);
    let chan = Arc::new(Chan {
        tail: Apart(Tail {
            word: AtomicU64::new(u64::from(start) * SLOT),
            guess: AtomicU64::new(u64::from(start) * SLOT),
            block: AtomicPtr::new(first.as_ptr()),
            head_seen: AtomicU32::new(start),
            bias: Bias::default(),
        }),
        front: Apart(Front {
            head: AtomicU32::new(start),
            taken: AtomicU8::new(0),
        }),
        max_capacity,
        limit: u32::try_from(max_capacity).map_or(MOST_MESSAGES, |max| max.min(MOST_MESSAGES)),
        spell: AtomicU8::new(super::wait::CALM),
        senders: AtomicUsize::new(1),
        weak_senders: AtomicUsize::new(0),
        seat: Apart(Seat::new()),
        waiters: WaitQueue::new(),
        watchers: WaitQueue::new(),
        spares: Spares::new(),
        unread: Cell::new(None),
    });
    (Tx::new(chan.clone()), Rx::new(chan, start, first))
}

impl<T> Chan<T> {
    /// Sends if there is room.
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), (Refusal, T)> {
        let value = match self.send_granted(value) {
            Ok(()) => return Ok(()),
            Err(value) => value,
        };
        match self.claim() {
            Ok(claim) => {
                self.fill(claim, value);
                Ok(())
            }
            Err(refusal) => Err((refusal, value)),
        }
    }

    /// Sends by right of a permit, which is used up.
    #[inline]
    pub fn send_permitted(&self, value: T) {
        self.fill(self.claim_permitted(), value);
    }

    /// Claims a slot by right of a permit, which is used up. Runs no code of the
    /// user's, and waits for nobody but one who links a block.
    #[inline]
    pub fn claim_permitted(&self) -> Claim {
        let word = self.tail.0.guess();
        if word & (INSTALLING | BIASED) == 0 && offset(position(word)) != LEN - 1 {
            let next = word.wrapping_add(SLOT - PERMIT) & !RX_WAITS;
            if let Some(claim) = self.advance(word, next) {
                return claim;
            }
        }
        match self.claim_slowly(Right::Permit) {
            Ok(claim) => claim,
            Err(_) => unreachable!("a permit is never refused"),
        }
    }

    /// Claims a slot if there is room.
    #[inline]
    fn claim(&self) -> Result<Claim, Refusal> {
        let word = self.tail.0.guess();
        if word & OBSTACLES == 0
            && offset(position(word)) != LEN - 1
            && self.has_room(position(word), reserved(word))
        {
            let next = word.wrapping_add(SLOT) & !RX_WAITS;
            if let Some(claim) = self.advance(word, next) {
                return Ok(claim);
            }
        }
        self.claim_slowly(Right::Room)
    }

    /// The one step that claims a slot. The acquire makes the last block visible,
    /// and the seat of the receiver.
    #[inline(always)]
    fn advance(&self, word: u64, next: u64) -> Option<Claim> {
        let tail = &self.tail.0;
        tail.word
            .compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed)
            .ok()?;
        tail.set_guess(next);
        Some(Claim {
            position: position(word),
            wakes: word & RX_WAITS != 0,
        })
    }

    /// Whether there is room for one more. The head that senders know may be an
    /// old one; that it is never too new makes it safe to trust.
    #[inline(always)]
    pub fn has_room(&self, position: u32, reserved: u32) -> bool {
        let seen = self.tail.0.head_seen.load(Ordering::Relaxed);
        if used(position, reserved, seen) < self.limit {
            return true;
        }
        let head = self.front.0.head.load(Ordering::Acquire);
        self.tail.0.head_seen.store(head, Ordering::Relaxed);
        used(position, reserved, head) < self.limit
    }

    /// Claims a slot where it is not simple: others came first, or it is the last
    /// slot of its block.
    #[cold]
    #[inline(never)]
    fn claim_slowly(&self, right: Right) -> Result<Claim, Refusal> {
        let mut reserve = None;
        let mut pause = Pause::new();
        let mut backoff = Backoff::new();
        let result = loop {
            let word = self.settled_word();
            if right == Right::Room {
                if let Err(refusal) = self.may_claim(word, 1) {
                    break Err(refusal);
                }
            }
            if word & INSTALLING != 0 {
                pause.turn();
                continue;
            }
            let permit = if right == Right::Permit { PERMIT } else { 0 };
            let mut next = word.wrapping_add(SLOT - permit) & !RX_WAITS;
            let is_last = offset(position(word)) == LEN - 1;
            if is_last {
                if reserve.is_none() && self.spares.is_empty() {
                    reserve = Some(Block::allocate(0));
                }
                if !active(Mutant::NoGate) {
                    next |= INSTALLING;
                }
            }
            if let Some(claim) = self.advance(word, next) {
                if is_last {
                    // SAFETY: we have set `INSTALLING`, and the last slot is ours.
                    unsafe { self.install(claim.position, &mut reserve) };
                    self.open_gate(claim.position.wrapping_add(1), right == Right::Room);
                }
                break Ok(claim);
            }
            backoff.snooze();
        };
        if let Some(block) = reserve {
            // SAFETY: it is ours, and was not used.
            unsafe { Block::free(block) };
        }
        result
    }

    /// Whether `n` may be claimed or reserved.
    #[inline]
    pub fn may_claim(&self, word: u64, n: u32) -> Result<(), Refusal> {
        if word & CLOSED != 0 {
            return Err(Refusal::Closed);
        }
        if word & TX_WAITS != 0 {
            return Err(Refusal::Full);
        }
        let head = self.front.0.head.load(Ordering::Acquire);
        self.tail.0.head_seen.store(head, Ordering::Relaxed);
        match used(position(word), reserved(word), head) {
            // The word is older than the head: whoever changes it will fail.
            used if used > MOST_MESSAGES => Ok(()),
            used if self.limit.saturating_sub(used) >= n => Ok(()),
            _ => Err(Refusal::Full),
        }
    }

    /// Links the next block. The gate to it is still to be opened.
    ///
    /// # Safety
    ///
    /// The caller has claimed the last slot of a block, at `position`, and set
    /// `INSTALLING`.
    unsafe fn install(&self, position: u32, reserve: &mut Option<NonNull<Block<T>>>) {
        // SAFETY: only one thread at a time has set `INSTALLING`.
        let spare = unsafe { self.spares.take() };
        let is_new = spare.is_none();
        let next = spare
            .or_else(|| reserve.take())
            .unwrap_or_else(|| Block::allocate(0));
        let tail = &self.tail.0;
        // SAFETY: the last block is that of the last claimed slot, ours, as long
        // as nobody else links one; so it is alive until we fill our slot.
        let last = unsafe { NonNull::new_unchecked(tail.block.load(Ordering::Relaxed)) };
        // SAFETY: a spare block, or a new one, is ours alone; the last slot of
        // the last block is ours and not filled yet.
        unsafe {
            next.as_ref().begin(position.wrapping_add(1), last, is_new);
            last.as_ref().set_next(next);
        }
        tail.block.store(next.as_ptr(), Ordering::Release);
    }

    /// Fills a claimed slot, and wakes the receiver if that has become our duty.
    #[inline]
    pub fn fill(&self, claim: Claim, value: T) {
        let at = offset(claim.position);
        let start = claim.position.wrapping_sub(at);
        let mut block: *const Block<T> = self.tail.0.block.load(Ordering::Acquire);
        // SAFETY: the receiver cannot go past our slot before it is filled. The
        // last block is ours or a later one, so it and all from ours on are in
        // the queue, and a block's predecessor is right as long as that is, too.
        // The slot is ours.
        unsafe {
            let mut header = (*block).header();
            while header.start != start {
                block = header.previous;
                assert!(!cfg!(loom) || !block.is_null(), "a slot without a block");
                header = (*block).header();
            }
            (*block).fill(at, header.turn, value);
        }
        if claim.wakes && !active(Mutant::SendForgetsReceiver) {
            self.seat.0.wake();
        }
    }

    /// Takes `n` permits if there is room.
    #[inline]
    pub fn try_reserve(&self, n: u32) -> Result<(), Refusal> {
        loop {
            let word = self.settled_word();
            if n == 0 {
                let closed = word & CLOSED != 0;
                return if closed { Err(Refusal::Closed) } else { Ok(()) };
            }
            self.may_claim(word, n)?;
            if !self.may_reserve(word, n) {
                return Err(Refusal::Full);
            }
            let next = word + u64::from(n) * PERMIT;
            let tail = &self.tail.0;
            if tail
                .word
                .compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                tail.set_guess(next);
                return Ok(());
            }
        }
    }

    /// Whether so many permits more can be counted.
    pub fn may_reserve(&self, word: u64, n: u32) -> bool {
        super::word::MOST_PERMITS - reserved(word) >= n
    }

    /// Takes back permits that were not used.
    pub fn give_back(&self, n: u32) {
        if n == 0 {
            return;
        }
        let before = self
            .tail
            .0
            .word
            .fetch_sub(u64::from(n) * PERMIT, Ordering::AcqRel);
        // Of the wakers of those that are served.
        let mut panics = Panics::default();
        if before & TX_WAITS != 0 && !active(Mutant::PermitForgetsWaiters) {
            panics.put_off(|| self.serve());
        }
        // The receiver may be waiting for the last permit.
        let last = reserved(before) == n;
        if before & CLOSED != 0 && last && !active(Mutant::PermitForgetsReceiver) {
            panics.put_off(|| self.seat.0.wake());
        }
        panics.go_on();
    }

    /// Takes no more messages. Those who wait are told.
    pub fn close(&self) {
        let before = self.tail.0.word.fetch_or(CLOSED, Ordering::AcqRel);
        if before & CLOSED != 0 {
            return;
        }
        self.settled_word();
        let mut panics = Panics::default();
        if !active(Mutant::CloseForgetsWaiters) {
            panics.put_off(|| self.turn_away());
        }
        panics.put_off(|| {
            self.watchers.notify_all();
        });
        panics.go_on();
    }

    pub fn is_closed(&self) -> bool {
        self.tail.0.word.load(Ordering::Acquire) & CLOSED != 0
    }

    /// How many messages there are, written or about to be.
    pub fn len(&self, head: u32) -> usize {
        let word = self.tail.0.word.load(Ordering::Acquire);
        self.ahead(word, head) as usize
    }

    /// How many more may be sent.
    pub fn capacity(&self) -> usize {
        let mut pause = Pause::new();
        loop {
            let word = self.tail.0.word.load(Ordering::Acquire);
            // What is free belongs to those who wait.
            if word & TX_WAITS != 0 {
                return 0;
            }
            let position = self.position_in(word);
            let head = self.front.0.head.load(Ordering::Acquire);
            let ahead = match position.wrapping_sub(head) {
                // See `ahead`. It may take long until the slot is counted.
                u32::MAX if word & BIASED != 0 => 0,
                // The head is newer than the word.
                ahead if ahead > MOST_MESSAGES => {
                    pause.turn();
                    continue;
                }
                ahead => ahead,
            };
            let used = ahead.saturating_add(reserved(word));
            return self.max_capacity.saturating_sub(used as usize);
        }
    }
}

impl<T> Drop for Chan<T> {
    fn drop(&mut self) {
        if model_failed() {
            return;
        }
        // Everybody's last step was a read-modify-write on one of these.
        if cfg!(loom) {
            self.senders.fetch_add(0, Ordering::AcqRel);
            self.tail.0.word.fetch_add(0, Ordering::AcqRel);
        }
        if let Some(unread) = self.unread.take() {
            unread.drop_all();
        }
    }
}

impl<T> fmt::Debug for Chan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.tail.0.word.load(Ordering::Acquire);
        let mut debug = f.debug_struct("Chan");
        if self.max_capacity != usize::MAX {
            debug
                .field("capacity", &self.capacity())
                .field("max_capacity", &self.max_capacity);
        }
        debug
            .field("senders", &self.senders.load(Ordering::Relaxed))
            .field("closed", &(word & CLOSED != 0))
            .finish_non_exhaustive()
    }
}

/// A wait for another thread that is about to do the next step, as to link a block.
pub struct Pause(u32);

impl Pause {
    /// How often to look before letting others run.
    const PATIENCE: u32 = 64;

    pub fn new() -> Self {
        Self(0)
    }

    pub fn turn(&mut self) {
        if cfg!(loom) || self.0 >= Self::PATIENCE {
            return yield_now();
        }
        self.0 += 1;
        hint::spin_loop();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn positions_go_round() {
        let (tx, mut rx) = channel_at(Some(70), u32::MAX - 100);
        for turn in 0..20 {
            for n in 0..70 {
                assert_eq!(tx.chan().capacity(), 70 - n);
                tx.chan().try_send((turn, n)).unwrap();
                assert_eq!(rx.len(), n + 1);
            }
            assert_eq!(
                tx.chan().try_send((7, 7)).unwrap_err(),
                (Refusal::Full, (7, 7))
            );
            (0..70).for_each(|n| assert_eq!(rx.try_receive(), Ok((turn, n))));
            assert_eq!(rx.len(), 0);
            tx.chan().try_reserve(70).unwrap();
            assert_eq!(tx.chan().try_reserve(1), Err(Refusal::Full));
            tx.chan().give_back(70);
        }
    }
}
