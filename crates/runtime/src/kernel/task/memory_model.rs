//! The memory of a task, as the model checker sees it: it stays after its release, and the checker
//! finds each use that is not ordered before that.

use blitz_io_core::Watched;

/// Knows whether the memory is freed.
pub struct TaskMemory {
    is_freed: Watched<bool>,
}

impl TaskMemory {
    pub fn new() -> Self {
        Self {
            is_freed: Watched::new(false),
        }
    }

    /// Asserts that the memory is not freed.
    pub fn is_used(&self) {
        // SAFETY: the checker finds a release that comes at the same time.
        (self.is_freed).with(|is_freed| assert!(!unsafe { *is_freed }, "used after its release"));
    }

    /// Records that the memory is freed, and must not be used from now on.
    pub fn is_released(&self) {
        self.is_freed.with_mut(|is_freed| {
            // SAFETY: the checker finds whatever uses the task at the same time.
            assert!(!unsafe { is_freed.replace(true) }, "released twice");
        });
    }
}
