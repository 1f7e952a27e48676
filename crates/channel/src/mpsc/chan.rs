//! State shared by both ends: claiming slots and filling them. The top of `mod.rs` has the protocol.

use std::cell::Cell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use blitz_io_core::{Backoff, Lock, Panics, WaitQueue, coop};
use blitz_io_futex::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use blitz_io_observe::{Fill, Filled, Kind, Observed, Sort};

use super::block::{Block, Cursor, FreeBlocks, LEN, offset};
use super::error::TrySendError;
use super::request::Request;
use super::rx_waiter::RxWaiter;
use super::word::{MAX_VALUES, Payment, Snapshot, Word};
use crate::events;
use crate::model::model_has_failed;

/// Returns `true` if the next slot to be claimed is the last one of its block.
#[inline(always)]
fn ends_block(word: Snapshot) -> bool {
    offset(word.position()) == LEN - 1
}

/// Keeps words that different threads write out of each other's cache lines.
#[repr(align(128))]
pub struct Padded<T>(pub T);

/// The words that senders write.
pub struct Tail<T> {
    pub word: Word,
    /// The block of the last claimed slot, or a later one.
    block: AtomicPtr<Block<T>>,
    /// Number of values that had been received when a sender last had to look.
    pub head_seen: AtomicU32,
}

/// The words that the receiver writes.
pub struct Front {
    /// Number of values that have been received.
    pub head: AtomicU32,
    /// Changes after `head`: the byte that goes with the light fence.
    pub taken: AtomicU8,
}

/// The mode in which no sender has waited for a while; see `wait.rs`.
pub const QUIET: u8 = 0;
/// The mode in which senders wait, or have done so lately.
pub const CONTENDED: u8 = 1;

pub struct Chan<T> {
    pub tail: Padded<Tail<T>>,
    pub front: Padded<Front>,
    /// The capacity that the user requested.
    pub max_capacity: usize,
    /// Maximum number of values and permits together.
    pub limit: u32,
    /// `true` if senders have been waiting lately; see `wait.rs`.
    pub mode: AtomicU8,
    pub senders: AtomicUsize,
    pub weak_senders: AtomicUsize,
    pub rx_waiter: Padded<RxWaiter>,
    pub waiters: WaitQueue<Request<T>>,
    /// Waiters for the end of the channel.
    pub close_waiters: WaitQueue,
    /// The last block. Locked to claim the last slot of a block.
    last: Lock<NonNull<Block<T>>>,
    pub free_blocks: FreeBlocks<T>,
    /// The cursor of a receiver that has left.
    pub unread: Cell<Option<Cursor<T>>>,
    pub observed: Observed,
}

// SAFETY: values go from a sender's thread to the receiver's, or to the thread that drops the
// channel. A value never has two users. The receiver writes `unread` when it leaves, and the last
// user reads it when all others have left.
unsafe impl<T: Send> Send for Chan<T> {}
// SAFETY: for the same reason; no shared reference to a value leaves the channel.
unsafe impl<T: Send> Sync for Chan<T> {}

// A panic of the user's code (a waker's, a value's drop) happens where nothing is
// half done.
impl<T> UnwindSafe for Chan<T> {}
impl<T> RefUnwindSafe for Chan<T> {}

/// A slot that has been claimed.
#[must_use = "a claimed slot must be filled, or the receiver waits for it for ever"]
pub struct Claim {
    position: u32,
    /// `true` if the receiver must be woken when the slot has been filled.
    wakes: bool,
}

/// The error of a failed attempt to claim a slot or to take permits.
pub type Refusal = TrySendError<()>;

impl<T> Filled for Chan<T> {
    fn fill(&self) -> Fill {
        // Before the word, so that it is not newer.
        let head = self.front.0.head.load(Ordering::Acquire);
        Fill {
            used: self.tail.0.word.load().used(head) as usize,
            capacity: (self.max_capacity != usize::MAX).then_some(self.max_capacity),
            senders: self.strong_count(),
            // The receiver has set the fill, and clears it when it leaves.
            receivers: 1,
        }
    }
}

impl<T> Chan<T> {
    /// Makes the shared part of a channel in which `start` slots have been used, and
    /// the receiver's cursor. `None`: without a limit.
    #[track_caller]
    pub fn new(capacity: Option<usize>, start: u32) -> (Arc<Self>, Cursor<T>) {
        let start = start - offset(start);
        let first = Block::allocate(start, ptr::null_mut());
        let max_capacity = capacity.unwrap_or(usize::MAX);
        let chan = Arc::new(Self {
            tail: Padded(Tail {
                word: Word::new(start),
                block: AtomicPtr::new(first.as_ptr()),
                head_seen: AtomicU32::new(start),
            }),
            front: Padded(Front {
                head: AtomicU32::new(start),
                taken: AtomicU8::new(0),
            }),
            max_capacity,
            limit: u32::try_from(max_capacity).map_or(MAX_VALUES, |max| max.min(MAX_VALUES)),
            mode: AtomicU8::new(QUIET),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            rx_waiter: Padded(RxWaiter::new()),
            waiters: WaitQueue::new(),
            close_waiters: WaitQueue::new(),
            last: Lock::new(first),
            free_blocks: FreeBlocks::new(),
            unread: Cell::new(None),
            observed: Observed::with_span(Sort::Mpsc),
        });
        (chan, Cursor::new(start, first))
    }

    /// Sends if there is room.
    // With the note of the sender, the compiler would not inline it unless forced.
    #[cfg_attr(not(feature = "inspect"), inline)]
    #[cfg_attr(feature = "inspect", inline(always))]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.claim(Payment::Room) {
            Ok(claim) => {
                self.fill(claim, value);
                Ok(())
            }
            Err(refusal) => Err(refusal.with(value)),
        }
    }

    /// Claims a slot if there is room, and the task has budget left. Runs no code of the user's.
    ///
    /// The value stays with the caller until it has a slot: a large value would be moved with each
    /// refusal, and back.
    #[inline]
    pub fn claim_in_budget(&self) -> Option<Claim> {
        coop::attempt(|| self.claim(Payment::Room).ok())
    }

    /// Sends with a permit, which is used up.
    #[inline]
    pub fn send_permitted(&self, value: T) {
        self.fill(self.claim_permitted(), value);
    }

    /// Claims a slot with a permit, which is used up. Runs no code of the user's.
    #[inline]
    pub fn claim_permitted(&self) -> Claim {
        self.claim(Payment::Permit)
            .expect("a permit is never refused")
    }

    /// Claims a slot.
    #[inline(always)]
    fn claim(&self, payment: Payment) -> Result<Claim, Refusal> {
        let word = self.tail.0.word.peek();
        let may_claim = || !word.refuses() && self.has_room(word);
        if !ends_block(word) && (payment == Payment::Permit || may_claim()) {
            if let Some(claim) = self.advance(word, payment) {
                return Ok(claim);
            }
        }
        self.claim_slowly(payment)
    }

    /// Claims a slot, in one step.
    #[inline(always)]
    fn advance(&self, word: Snapshot, payment: Payment) -> Option<Claim> {
        self.tail.0.word.claim(word, payment).then(|| Claim {
            position: word.position(),
            wakes: word.receiver_waits(),
        })
    }

    /// Returns `true` if there is room for one more. The head that senders remember may be an
    /// old one, but it is never too new.
    #[inline(always)]
    fn has_room(&self, word: Snapshot) -> bool {
        let seen = self.tail.0.head_seen.load(Ordering::Relaxed);
        word.used(seen) < self.limit || self.may_claim(word, 1).is_ok()
    }

    /// Claims a slot after the fast path has failed.
    #[cold]
    #[inline(never)]
    fn claim_slowly(&self, payment: Payment) -> Result<Claim, Refusal> {
        let mut backoff = Backoff::new();
        loop {
            let word = self.tail.0.word.load();
            if ends_block(word) {
                match self.claim_last(payment) {
                    Some(result) => return result,
                    None => continue,
                }
            }
            if payment == Payment::Room {
                self.may_claim(word, 1)?;
            }
            if let Some(claim) = self.advance(word, payment) {
                return Ok(claim);
            }
            backoff.snooze();
        }
    }

    /// Claims the last slot of a block after linking the next one, under the lock.
    /// `None` if another sender has claimed it.
    fn claim_last(&self, payment: Payment) -> Option<Result<Claim, Refusal>> {
        let mut last = self.last.lock();
        loop {
            let word = self.tail.0.word.load();
            if !ends_block(word) {
                return None;
            }
            if payment == Payment::Room {
                if let Err(refusal) = self.may_claim(word, 1) {
                    return Some(Err(refusal));
                }
            }
            let start = word.position().wrapping_add(1);
            // SAFETY: no sender claims this slot without the lock.
            unsafe { self.link_next(&mut last, start) };
            if let Some(claim) = self.advance(word, payment) {
                return Some(Ok(claim));
            }
        }
    }

    /// Links the block that begins at `start`, unless that has been done already.
    ///
    /// # Safety
    ///
    /// `last` is locked, and the slot before `start` has not been claimed.
    unsafe fn link_next(&self, last: &mut NonNull<Block<T>>, start: u32) {
        // SAFETY: this is the block of the slot before `start` or the one after it.
        // That slot has not been filled, so the receiver has left neither.
        if unsafe { last.as_ref().header() }.start == start {
            return;
        }
        let previous = last.as_ptr();
        // SAFETY: only the holder of the lock pops.
        let next = match unsafe { self.free_blocks.pop() } {
            Some(free) => {
                // SAFETY: no other thread uses a block that was popped from the free list.
                unsafe { free.as_ref().reset(start, previous) };
                free
            }
            None => Block::allocate(start, previous),
        };
        // SAFETY: no sender has claimed the last slot of the last block.
        unsafe { last.as_ref().set_next(next) };
        *last = next;
        self.tail.0.block.store(next.as_ptr(), Ordering::Release);
    }

    /// Returns an error unless `n` slots may be claimed or reserved.
    #[inline]
    pub fn may_claim(&self, word: Snapshot, n: u32) -> Result<(), Refusal> {
        if word.is_closed() {
            return Err(TrySendError::Closed(()));
        }
        if word.senders_wait() {
            return Err(TrySendError::Full(()));
        }
        let head = self.front.0.head.load(Ordering::Acquire);
        self.tail.0.head_seen.store(head, Ordering::Relaxed);
        if self.is_room(word, head, n) {
            Ok(())
        } else {
            Err(TrySendError::Full(()))
        }
    }

    /// Returns `true` if there is room for `n` more when `head` values have been received. Also
    /// returns `true` if the word is older than that head: a change that starts from it will fail.
    #[inline]
    pub fn is_room(&self, word: Snapshot, head: u32, n: u32) -> bool {
        let used = word.used(head);
        used > MAX_VALUES || self.limit.saturating_sub(used) >= n
    }

    /// Makes the channel seem to hold the most values that it can, for tests. Returns the head before.
    #[cfg(test)]
    pub fn set_head_to_hold_most(&self) -> u32 {
        let head = self.front.0.head.load(Ordering::Relaxed);
        let position = self.tail.0.word.load().position();
        self.set_head(position.wrapping_sub(MAX_VALUES));
        head
    }

    #[cfg(test)]
    pub fn set_head(&self, head: u32) {
        self.front.0.head.store(head, Ordering::Relaxed);
        self.tail.0.head_seen.store(head, Ordering::Relaxed);
    }

    /// Records the current task or thread as the last sender.
    #[inline]
    pub fn record_sender(&self) {
        // SAFETY: the receiver was made before a sender could send.
        unsafe { self.observed.object.used_by_sender() };
    }

    /// Fills a claimed slot as its sender.
    #[inline]
    pub fn fill(&self, claim: Claim, value: T) {
        self.record_sender();
        self.fill_for_sender(claim, value);
    }

    /// Fills a claimed slot, maybe for another thread that sends, and wakes the receiver if the claim says so.
    #[inline]
    pub fn fill_for_sender(&self, claim: Claim, value: T) {
        coop::acted();
        self.observed.object.sent(self.observed.made_at());
        let at = offset(claim.position);
        let start = claim.position.wrapping_sub(at);
        let mut block: *const Block<T> = self.tail.0.block.load(Ordering::Acquire);
        // SAFETY:
        //
        // 1. The receiver cannot pass the claimed slot before it is filled.
        // 2. The last block is the slot's or a later one. So it and all blocks from the slot's on
        //    are in the queue, and the predecessor of each is right as long as it is in the
        //    queue, too.
        // 3. The slot belongs to the holder of `claim`.
        unsafe {
            while (*block).header().start != start {
                block = (*block).header().previous;
                assert!(!cfg!(loom) || !block.is_null(), "a slot without a block");
            }
            (*block).fill(at, value);
        }
        events::sent(&self.observed.object, Kind::MpscSend, || self.len());
        if claim.wakes {
            self.rx_waiter.0.wake();
        }
    }

    /// Takes `n` permits if there is room.
    #[inline]
    pub fn try_reserve(&self, n: u32) -> Result<(), Refusal> {
        let tail = &self.tail.0;
        let mut word = tail.word.load();
        loop {
            if n == 0 {
                return if word.is_closed() {
                    Err(TrySendError::Closed(()))
                } else {
                    Ok(())
                };
            }
            self.may_claim(word, n)?;
            if !word.may_reserve(n) {
                return Err(TrySendError::Full(()));
            }
            match tail.word.reserve(word, n) {
                Ok(()) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// Takes back permits that were not used.
    pub fn give_back(&self, n: u32) {
        if n == 0 {
            return;
        }
        coop::acted();
        let before = self.tail.0.word.give_back(n);
        // Of the wakers of the senders that are served.
        let mut panics = Panics::default();
        if before.senders_wait() {
            panics.put_off(|| self.serve());
        }
        // The receiver may be waiting for the last permit.
        if before.is_closed_but_for(n) {
            panics.put_off(|| self.rx_waiter.0.wake());
        }
        panics.go_on();
    }

    /// Takes no more values, and wakes everything that waits for room or for this.
    pub fn close(&self) {
        coop::acted();
        if self.tail.0.word.close().is_closed() {
            return;
        }
        let mut panics = Panics::default();
        panics.put_off(|| self.turn_away());
        panics.put_off(|| {
            self.close_waiters.notify_all();
        });
        panics.go_on();
    }

    /// Says, for the report of a simulation, that the current task has not sent, as the channel is like this.
    #[inline(always)]
    pub fn refuses<V>(&self, refusal: &TrySendError<V>) {
        let state = match refusal {
            TrySendError::Full(_) => "full",
            TrySendError::Closed(_) => "closed",
        };
        events::refused(&self.observed.object, Kind::MpscSend, state);
    }

    pub fn is_closed(&self) -> bool {
        self.tail.0.word.load().is_closed()
    }

    /// Returns the number of values that have not been received.
    fn len(&self) -> usize {
        let head = self.front.0.head.load(Ordering::Acquire);
        let word = self.tail.0.word.load();
        word.position().wrapping_sub(head) as usize
    }

    /// Returns the number of values that may still be sent.
    pub fn capacity(&self) -> usize {
        // Before the word, so that it is not newer.
        let head = self.front.0.head.load(Ordering::Acquire);
        let word = self.tail.0.word.load();
        // Free room belongs to the waiting senders.
        if word.senders_wait() {
            return 0;
        }
        self.max_capacity.saturating_sub(word.used(head) as usize)
    }

    pub fn strong_count(&self) -> usize {
        self.senders.load(Ordering::Acquire)
    }

    pub fn weak_count(&self) -> usize {
        self.weak_senders.load(Ordering::Relaxed)
    }
}

impl<T> Drop for Chan<T> {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        // The last step of each other user was a read-modify-write on one of these.
        if cfg!(loom) {
            self.senders.fetch_add(0, Ordering::AcqRel);
        }
        self.tail.0.word.touch();
        if let Some(unread) = self.unread.take() {
            let last = *self.last.get_mut();
            let mut panics = Panics::default();
            // SAFETY: no other user is left.
            unsafe { unread.drop_all(last, &mut panics) };
            panics.go_on();
        }
    }
}

impl<T> fmt::Debug for Chan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Chan");
        if self.max_capacity != usize::MAX {
            debug
                .field("capacity", &self.capacity())
                .field("max_capacity", &self.max_capacity);
        }
        debug
            .field("senders", &self.senders.load(Ordering::Relaxed))
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
