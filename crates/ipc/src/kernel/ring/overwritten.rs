//! Tells participants that the segment was overwritten.
//!
//! An end that finds an impossible value can do no more than leave, and its leaving must not look like the end of a
//! segment in order:
//!
//! 1. It sets the note in the header.
//! 2. It clears its role when it leaves.
//! 3. A receiver sees no role, by loads that acquire.
//! 4. It then looks at the note. As 1 comes before 2, and 2 before 3, it sees the note.
//!
//! The note is never taken back. It is not set if who overwrote the segment has overwritten that, too: so a receiver
//! also looks at the values themselves (`Endpoint::ended`).

use blitz_io_futex::atomic::Ordering;

use super::Ring;

impl Ring {
    /// Notes that the segment was overwritten (step 1).
    #[cold]
    pub fn mark_corrupt(&self) {
        self.memory.corrupt().store(1, Ordering::Release);
    }

    /// Returns `true` if a participant has noted that the segment was overwritten (step 4).
    #[cold]
    pub fn is_marked_corrupt(&self) -> bool {
        self.memory.corrupt().load(Ordering::Acquire) != 0
    }
}
