//! A table by the numbers of tasks, which count up: they need no scattering.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table of tasks.
pub(super) type Tasks<T> = HashMap<u64, T, BuildHasherDefault<OfNumber>>;

/// The hash of a number: a multiple of it by an odd constant, as its upper bits select the slot.
#[derive(Default)]
pub(super) struct OfNumber(u64);

impl Hasher for OfNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
