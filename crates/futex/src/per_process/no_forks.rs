//! Systems on which no process is the copy of another, and models.

/// Returns 0, because no process here is the copy of another.
#[inline]
pub fn generation() -> u32 {
    0
}

/// Does nothing, because no process here is the copy of another.
pub fn watch_forks() {}
