//! Random numbers that are fast, small and good enough to spread load: xorshift64*
//! (Vigna, "An experimental exploration of Marsaglia's xorshift generators,
//! scrambled", 2016), seeded through splitmix64. Not for secrets.

use std::hash::{BuildHasher, RandomState};

/// A sequence of random numbers.
#[derive(Clone, Copy)]
pub struct Random {
    /// Never 0 but before the first number.
    state: u64,
}

impl Random {
    /// Creates a sequence that seeds itself at its first number.
    pub const fn unseeded() -> Self {
        Self { state: 0 }
    }

    /// Returns the sequence that follows from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self {
            state: scatter(seed).max(1),
        }
    }

    /// Returns the next number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        if self.state == 0 {
            *self = Self::seeded(entropy());
        }
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns the next number, brought below `below` (0 if that is 0).
    #[inline]
    pub fn below(&mut self, below: u32) -> u32 {
        let high = self.next_u64() >> 32;
        ((high * u64::from(below)) >> 32) as u32
    }
}

/// Returns a seed that differs from call to call and from process to process.
#[cold]
pub fn entropy() -> u64 {
    if cfg!(loom) {
        // A model takes the same path each time.
        return 1;
    }
    RandomState::new().hash_one(0_u8)
}

/// Scatters a seed with splitmix64: neighbouring seeds give unlike results.
fn scatter(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
