//! The reads or pairs that occurred before, as a file beside a plan.

use crate::failure::Failure;
use crate::file_names::path;
use crate::output::Output;
use std::fs;

/// One bit for each read or pair of the input, set if it occurred before. Exists with `--dedup`.
#[derive(Default)]
pub struct Bitmap {
    bytes: Vec<u8>,
    next: u64,
}

impl Bitmap {
    /// Adds the bit of the next read or pair.
    pub fn push(&mut self, known: bool) {
        if self.next.is_multiple_of(8) {
            self.bytes.push(0);
        }
        let last = self.bytes.last_mut().expect("one was pushed");
        *last |= u8::from(known) << (self.next % 8);
        self.next += 1;
    }

    /// Returns the number of reads or pairs that occurred before.
    pub fn count(&self) -> u64 {
        self.bytes
            .iter()
            .map(|byte| u64::from(byte.count_ones()))
            .sum()
    }

    pub fn write(&self, name: &str) -> Result<(), Failure> {
        let mut output = Output::create(name)?;
        output.write(&self.bytes)?;
        output.finish()
    }

    /// Reads the bits of the reads after the first `before` ones. Fails if there are not `reads`.
    pub fn read(name: &str, before: u64, reads: u64) -> Result<Self, Failure> {
        let bytes = fs::read(path(name));
        let bytes = bytes.map_err(|error| Failure::file(name, "read it", &error))?;
        if (bytes.len() as u64) < before.saturating_add(reads).div_ceil(8) {
            return Err(Failure::data(format!(
                "{name}: it is cut off: make the plan again"
            )));
        }
        Ok(Self {
            bytes,
            next: before,
        })
    }

    /// Returns `true` if the next read or pair occurred before.
    pub fn next(&mut self) -> bool {
        let byte = self.bytes.get((self.next / 8) as usize);
        let known = byte.is_some_and(|byte| byte >> (self.next % 8) & 1 != 0);
        self.next += 1;
        known
    }
}
