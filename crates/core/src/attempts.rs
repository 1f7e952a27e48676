//! Exponential backoff of attempts: which ones to skip after some have failed.
//!
//! An attempt costs something and helps only under conditions that last for a while, such as that
//! the peer runs on another processor. After each failure twice as many attempts are skipped as
//! after the one before, up to [`MOST_SKIPPED`]. After a success the next attempt is made.

/// The greatest number of attempts that a thread skips before it makes another one: few enough to notice
/// soon that the conditions have changed.
const MOST_SKIPPED: u8 = 63;

/// How the last attempts ended.
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    /// Number of attempts that are still to be skipped.
    skip: u8,
    /// Number of attempts to skip after the next failure.
    next: u8,
    /// An attempt was made, and has not failed.
    made: bool,
}

impl Attempts {
    /// Creates the state in which the next attempt is made.
    pub const fn new() -> Self {
        Self {
            skip: 0,
            next: 1,
            made: false,
        }
    }

    /// Returns whether to make this attempt; otherwise counts it as skipped.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        if self.made {
            *self = Self::new();
        }
        self.made = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        self.made
    }

    /// Notes that the last attempt has failed.
    pub fn failed(&mut self) {
        self.made = false;
        self.skip = self.next;
        self.next = (2 * self.next + 1).min(MOST_SKIPPED);
    }
}

impl Default for Attempts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_fail_become_rare() {
        let mut attempts = Attempts::new();
        let mut made = 0;
        for _ in 0..1000 {
            if attempts.is_due() {
                attempts.failed();
                made += 1;
            }
        }
        // After 1, 3, 7, 15 and 31 skipped ones each 64th is made.
        assert_eq!(made, 6 + (1000 - 63) / 64);
    }

    #[test]
    fn after_one_that_succeeds_the_next_is_made() {
        let mut attempts = Attempts::new();
        (0..10).for_each(|_| attempts.failed());
        while !attempts.is_due() {}
        // It has not failed.
        assert!(attempts.is_due());
        attempts.failed();
        assert!(!attempts.is_due());
        assert!(attempts.is_due());
    }
}
