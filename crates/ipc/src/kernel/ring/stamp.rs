//! The word of one place of the ring: the position of its message, and the state of that
//! message.
//!
//! ```text
//! bits 63..12   position of the message, counted from the first of the segment
//! bits 11..3    the participant that owns the phase (claimed, taken), else 0
//! bits  2..0    phase
//! ```

/// The state of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The place has never held a message.
    Free = 0,
    /// A sender is writing the message.
    Claimed = 1,
    /// The message is whole.
    Published = 2,
    /// Its sender died or gave up: there is no message at this position.
    Tombstone = 3,
    /// A receiver of a queue has it.
    Taken = 4,
    /// A receiver of a queue is done with it.
    Consumed = 5,
    /// A value that this library never writes.
    Unknown = 6,
}

/// The word of a place. The top of this file shows its fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp(pub u64);

const PHASE_BITS: u32 = 3;
const OWNER_BITS: u32 = 9;

/// Number of participants that a stamp can name.
pub const MAX_PARTICIPANTS: usize = 1 << OWNER_BITS;

/// Positions are smaller than this, which is enough for two hundred million messages a
/// second during eight months of one segment's life.
pub const MAX_POSITION: u64 = 1 << (64 - PHASE_BITS - OWNER_BITS);

impl Stamp {
    pub const fn new(position: u64, phase: Phase, owner: usize) -> Self {
        Self(position << (PHASE_BITS + OWNER_BITS) | (owner as u64) << PHASE_BITS | phase as u64)
    }

    pub const fn position(self) -> u64 {
        self.0 >> (PHASE_BITS + OWNER_BITS)
    }

    pub const fn owner(self) -> usize {
        (self.0 >> PHASE_BITS) as usize & (MAX_PARTICIPANTS - 1)
    }

    pub const fn phase(self) -> Phase {
        match self.0 & ((1 << (PHASE_BITS + OWNER_BITS)) - 1) {
            0 => Phase::Free,
            2 => Phase::Published,
            3 => Phase::Tombstone,
            5 => Phase::Consumed,
            // Only these two phases have an owner.
            low => match low & ((1 << PHASE_BITS) - 1) {
                1 => Phase::Claimed,
                4 => Phase::Taken,
                _ => Phase::Unknown,
            },
        }
    }
}
