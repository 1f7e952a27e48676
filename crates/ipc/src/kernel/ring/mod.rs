//! The ring: one protocol for routes, channels and queues.
//!
//! A message has a *position*, counted from 0. Its *place* is `position % capacity`. The
//! place's word, the [`Stamp`], holds the position and the state of that message:
//!
//! ```text
//!            claim            publish                        claim of position + capacity
//!   Free ───────────► Claimed ───────► Published ─────────────────────────────────────►
//!                        │                │  ▲                                    ▲   ▲
//!                        │ give up,       │  │ restore (its receiver died,        │   │
//!                        │ reap           ▼  │          or puts it back)          │   │
//!                        │              Taken ────consume────► Consumed ──────────┘   │
//!                        └────────────► Tombstone ────────────────────────────────────┘
//! ```
//!
//! `Taken` and `Consumed` occur in queues only. Each arrow is one compare-and-swap of the
//! stamp, which holds the whole position: no stamp ever returns to an earlier value.
//!
//! **Sending.** A sender reads the *tail*, the next position that is not claimed. If the
//! stamp there is claimed already, its sender was stopped before it could advance the tail;
//! any sender advances it then. Otherwise the place must be free to use again (see below).
//! The sender claims it by writing its number into the stamp, advances the tail, writes
//! length and bytes, and publishes. The stamps decide which positions are claimed; the tail
//! only says where to look. If it lags by one, the next sender repairs it.
//!
//! **Receiving, route and channel.** A receiver owns a *cursor*, the position that it will
//! read next. It reads the message in place, while its cursor keeps senders from reusing
//! the place, and then advances the cursor.
//!
//! **Receiving, queue.** *Next* is where receivers look. A receiver takes the message by
//! writing its number into the stamp, helps to advance next, and consumes the message when
//! it is done. A receiver that is not done puts the message back, as a reaper would.
//!
//! **When a place is free again.**
//!
//! * In a queue: when it is `Consumed` or a `Tombstone` (or `Published`, if senders drop
//!   the oldest message).
//! * In a route or channel: when it is `Published` or a `Tombstone`, and no active cursor
//!   is at or below its position.
//!
//! A sender keeps the result of its last look at the cursors as its *limit*: min(tail,
//! cursors) + capacity. Cursors only go up, so the limit stays valid. A receiver that joins
//! makes its cursor known, passes a fence, and then takes its position from the tail. A
//! sender that did not see the cursor had read the tail before that, so its limit is at
//! most the new cursor + capacity.
//!
//! **The dead.** A participant that was killed leaves at most: a tail or next that lags
//! (any other participant advances it), a claim, a taken message, a cursor. The kernel
//! decides which participants are dead (`endpoint.rs`). The participant that finds one gets
//! the kernel's lock on its record and *reaps* it:
//!
//! 1. claims become tombstones, and taken messages are published again;
//! 2. the cursor becomes inactive;
//! 3. `restored` counts up.
//!
//! Each is one store that can be repeated, so a reaper that is killed does no harm: the
//! next one gets the lock. A message is published by one compare-and-swap after its last
//! byte, so it is whole or absent.
//!
//! **Dropping the oldest.** Senders of a route or channel then ignore cursors. Receivers
//! copy the bytes and read the stamp again. If the stamp is still the same, no sender had
//! claimed the place before the copy was complete (release fence after a claim, acquire
//! fence before the second read of the stamp). Two others also read in this way:
//!
//! * a receiver that joins with history, until it has reached the tail at which it joined,
//!   since senders may have older limits;
//! * an observer, at all times: it has no cursor that senders wait for.
//!
//! Bytes that may be copied and written at the same time are accessed by atomic words
//! (`exclusive.rs`).
//!
//! **Waiting.** A waiter sleeps on one of two event counts: receivers on `published`,
//! senders on `room`. Every change for which they wait is a read-modify-write, followed by
//! a notification, which wakes them only if they wait for this change (`wake.rs`).
//!
//! **The end of a queue.** A receiver reports `Disconnected`, whenever it has joined, when
//! (0) the queue has had a sender, (1) no record is that of a sender, and then (2) no place
//! is `Published` or `Taken`. Until the first sender has joined, receivers wait
//! (`senders.rs`). A taken message may come
//! back: its receiver can die, or put it back. After (1), each place changes between those two phases until
//! it is `Consumed`, and does not leave that phase without a new sender. So one pass over
//! the places is enough, in any order: afterwards every message of the senders that have
//! left is consumed. In a route or channel (1) and a last look at the cursor are enough.
//!
//! While (1) holds and (2) does not, a receiver waits for a message to be consumed or put
//! back. It sleeps on `room`, which both changes notify in a queue. A sender that joins
//! first writes its role and then notifies `room`. So either the receiver's second look
//! sees the role, or the sender sees the receiver's flag and wakes it. The receiver then
//! sleeps on `published` again.
//!
//! **Hostile words.** Positions become indices by a mask. A stamp that no run of this
//! protocol can produce is reported as [`Corrupt`], and no loop continues without another
//! participant's progress. An end that has found such a value notes that: see `overwritten.rs`.

mod broadcast;
mod exclusive;
mod overwritten;
mod send;
mod senders;
mod stamp;
mod state;
mod take;
mod wake;
#[cfg(feature = "inspect")]
mod watch;

use blitz_io_futex::atomic::Ordering;

use crate::kernel::memory::Memory;

pub use broadcast::{Cursor, Look};
pub use exclusive::Exclusive;
pub use send::Claim;
pub use senders::{SENDER, Senders};
pub use stamp::{MAX_PARTICIPANTS, Phase, Stamp};
pub use state::MessageState;
pub use take::Take;
pub use wake::Awaited;

/// The cursor of a participant that does not receive.
pub const INACTIVE: u64 = u64::MAX;
/// The cursor of an observer, which holds no sender up.
pub const OBSERVER: u64 = u64::MAX - 1;

/// The segment holds a value that this library never writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Corrupt;

/// How messages find receivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// Each message goes to every receiver.
    Every,
    /// Each message goes to one receiver.
    One,
}

/// A ring. The top of this file has the protocol.
pub struct Ring {
    pub memory: Memory,
    capacity: u64,
    senders: usize,
    participants: usize,
    delivery: Delivery,
    drop_oldest: bool,
}

impl Ring {
    /// `capacity` is a power of two. The first `senders` of the participants may send.
    pub fn new(
        memory: Memory,
        capacity: u64,
        senders: usize,
        participants: usize,
        delivery: Delivery,
        drop_oldest: bool,
    ) -> Self {
        debug_assert!(capacity.is_power_of_two() && participants <= MAX_PARTICIPANTS);
        Self {
            memory,
            capacity,
            senders,
            participants,
            delivery,
            drop_oldest,
        }
    }

    /// Returns the place of a position.
    #[inline]
    pub fn index(&self, position: u64) -> u64 {
        position & (self.capacity - 1)
    }

    #[inline]
    fn stamp(&self, position: u64) -> Stamp {
        Stamp(
            self.memory
                .stamp(self.index(position))
                .load(Ordering::Acquire),
        )
    }

    /// Changes a stamp. Returns `false` if it is not `from`.
    #[inline]
    fn change(&self, from: Stamp, to: Stamp) -> bool {
        let word = self.memory.stamp(self.index(from.position()));
        word.replace(from.0, to.0)
    }

    /// Reaps the participant `dead`: undoes its claims, its taken messages and its cursor.
    /// The caller holds the kernel's lock on its record, and notifies both event counts
    /// afterwards.
    pub fn reap(&self, dead: usize) {
        let mut restored = false;
        for index in 0..self.capacity {
            let stamp = Stamp(self.memory.stamp(index).load(Ordering::Acquire));
            if stamp.owner() != dead || self.index(stamp.position()) != index {
                continue;
            }
            match stamp.phase() {
                Phase::Claimed => self.bury(stamp),
                Phase::Taken => {
                    self.restore(stamp);
                    restored = true;
                }
                _ => {}
            }
        }
        self.memory.cursor(dead).swap(INACTIVE);
        // An earlier reaper of this participant may have been killed right before this.
        if restored || self.delivery == Delivery::One {
            self.memory.restored().add(1);
        }
    }

    fn bury(&self, claim: Stamp) {
        self.change(claim, Stamp::new(claim.position(), Phase::Tombstone, 0));
    }

    fn restore(&self, taken: Stamp) {
        self.change(taken, Stamp::new(taken.position(), Phase::Published, 0));
    }
}
