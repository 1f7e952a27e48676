//! The word in which senders meet.
//!
//! ```text
//! bit 63 .. 32   position: how many slots have been claimed, modulo 2^32
//! bit 31 .. 5    reserved: permits that are out and have claimed no slot yet
//! bit 4          BIASED: one thread claims on its own account (bias.rs)
//! bit 3          INSTALLING: the next block is being linked
//! bit 2          CLOSED: the receiver takes no new messages
//! bit 1          TX_WAITS: senders wait for room, nobody may overtake them
//! bit 0          RX_WAITS: the receiver sleeps; who claims the next slot wakes it
//! ```
//!
//! The position may wrap: it is only ever compared with positions of the same
//! queue, and a queue is never longer than [`MOST_MESSAGES`].

pub const RX_WAITS: u64 = 1;
pub const TX_WAITS: u64 = 2;
pub const CLOSED: u64 = 4;
pub const INSTALLING: u64 = 8;
pub const BIASED: u64 = 16;
/// One permit.
pub const PERMIT: u64 = 32;
/// One claimed slot.
pub const SLOT: u64 = 1 << 32;

/// What keeps a sender from simply claiming a slot.
pub const OBSTACLES: u64 = TX_WAITS | CLOSED | INSTALLING | BIASED;

/// The longest queue, so that positions can be compared.
pub const MOST_MESSAGES: u32 = (1 << 31) - 1;
/// The most permits that can be out.
pub const MOST_PERMITS: u32 = (1 << 27) - 1;

/// The next slot to be claimed.
#[inline(always)]
pub fn position(word: u64) -> u32 {
    (word >> 32) as u32
}

/// How many permits are out.
#[inline(always)]
pub fn reserved(word: u64) -> u32 {
    (word as u32) >> 5
}

/// How much of the capacity is in use when `head` messages have been received.
/// Above [`MOST_MESSAGES`] if `head` is newer than the position and the difference
/// would be negative.
#[inline(always)]
pub fn used(position: u32, reserved: u32, head: u32) -> u32 {
    position.wrapping_sub(head).wrapping_add(reserved)
}
