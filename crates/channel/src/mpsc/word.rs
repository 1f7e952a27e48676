//! The word that the senders and the receiver share, and all changes of it.
//!
//! ```text
//! bit 63 .. 32   position: how many slots have been claimed, modulo 2^32
//! bit 31 .. 3    reserved: permits that are out and have claimed no slot yet
//! bit 2          CLOSED: the receiver takes no new values
//! bit 1          TX_WAITS: senders wait for room, and may not be overtaken
//! bit 0          RX_WAITS: the receiver sleeps; the next claim has to wake it
//! ```
//!
//! The position may wrap: it is only compared with positions of the same queue, and
//! a queue is never longer than [`MAX_VALUES`].

use blitz_io_futex::atomic::{AtomicU64, Ordering};

const RX_WAITS: u64 = 1;
const TX_WAITS: u64 = 2;
const CLOSED: u64 = 4;
/// One permit.
const PERMIT: u64 = 8;
/// One claimed slot.
const SLOT: u64 = 1 << 32;

/// The longest queue, so that positions can be compared.
pub const MAX_VALUES: u32 = (1 << 31) - 1;
/// The most permits that can be out.
pub const MAX_PERMITS: u32 = (1 << 29) - 1;

/// The payment for a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Payment {
    /// Free room, if there is some.
    Room,
    /// A permit, which is used up.
    Permit,
}

/// The word at one moment.
#[derive(Clone, Copy)]
pub struct Snapshot(u64);

impl Snapshot {
    /// Returns the next slot to be claimed.
    #[inline(always)]
    pub fn position(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the number of outstanding permits.
    #[inline(always)]
    fn reserved(self) -> u32 {
        (self.0 as u32) >> 3
    }

    /// Returns the used part of the capacity when `head` values have been received. The result is
    /// above [`MAX_VALUES`] if `head` is newer than the word and the difference would be negative.
    #[inline(always)]
    pub fn used(self, head: u32) -> u32 {
        self.position()
            .wrapping_sub(head)
            .wrapping_add(self.reserved())
    }

    #[inline(always)]
    pub fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    #[inline(always)]
    pub fn senders_wait(self) -> bool {
        self.0 & TX_WAITS != 0
    }

    #[inline(always)]
    pub fn receiver_waits(self) -> bool {
        self.0 & RX_WAITS != 0
    }

    /// Returns `true` if a claim without a permit must be refused, however much room there is.
    #[inline(always)]
    pub fn refuses(self) -> bool {
        self.0 & (TX_WAITS | CLOSED) != 0
    }

    /// Returns `true` if the channel is closed and this number of permits is outstanding.
    pub fn is_closed_but_for(self, permits: u32) -> bool {
        self.is_closed() && self.reserved() == permits
    }

    /// Returns `true` if this number of further permits can be counted.
    pub fn may_reserve(self, permits: u32) -> bool {
        MAX_PERMITS - self.reserved() >= permits
    }
}

/// The shared word. The module documentation shows its fields.
pub struct Word(AtomicU64);

impl Word {
    /// Creates a word whose next slot to be claimed is `start`.
    pub fn new(start: u32) -> Self {
        Self(AtomicU64::new(u64::from(start) * SLOT))
    }

    #[inline(always)]
    pub fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::SeqCst))
    }

    /// Loads the word for a change that fails if it is old.
    #[inline(always)]
    pub fn peek(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::Relaxed))
    }

    /// Claims the next slot, unless the word has changed since `seen`. The acquire makes the last
    /// block visible, and the waiting receiver.
    #[inline(always)]
    pub fn claim(&self, seen: Snapshot, payment: Payment) -> bool {
        let permit = if payment == Payment::Permit {
            PERMIT
        } else {
            0
        };
        let next = seen.0.wrapping_add(SLOT - permit) & !RX_WAITS;
        self.0
            .compare_exchange(seen.0, next, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes permits, unless the word has changed since `seen`. `Err` has the present state then.
    #[inline]
    pub fn reserve(&self, seen: Snapshot, permits: u32) -> Result<(), Snapshot> {
        let next = seen.0 + u64::from(permits) * PERMIT;
        self.0
            .compare_exchange(seen.0, next, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
            .map_err(Snapshot)
    }

    /// Takes permits for waiting senders, whose room no other thread can take.
    pub fn grant(&self, permits: u32) {
        let permits = u64::from(permits) * PERMIT;
        self.0.fetch_add(permits, Ordering::AcqRel);
    }

    /// Takes back permits that were not used. Returns the state before.
    pub fn give_back(&self, permits: u32) -> Snapshot {
        let permits = u64::from(permits) * PERMIT;
        Snapshot(self.0.fetch_sub(permits, Ordering::AcqRel))
    }

    /// Closes the channel. Returns the state before.
    pub fn close(&self) -> Snapshot {
        Snapshot(self.0.fetch_or(CLOSED, Ordering::AcqRel))
    }

    /// Announces that the receiver waits. Returns the state at that moment.
    pub fn announce_receiver(&self) -> Snapshot {
        Snapshot(self.0.fetch_or(RX_WAITS, Ordering::AcqRel))
    }

    /// Announces that senders wait for room. Returns the state at that moment.
    pub fn announce_senders(&self) -> Snapshot {
        Snapshot(self.0.fetch_or(TX_WAITS, Ordering::SeqCst))
    }

    /// Lets senders claim without waiting: none waits for room any more.
    pub fn end_senders_wait(&self) {
        self.0.fetch_and(!TX_WAITS, Ordering::AcqRel);
    }

    /// Shows the model checker an order that a reference count gives.
    #[inline(always)]
    pub fn touch(&self) {
        if cfg!(loom) {
            self.0.fetch_add(0, Ordering::AcqRel);
        }
    }
}
