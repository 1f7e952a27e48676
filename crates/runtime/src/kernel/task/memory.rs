//! The memory of a task: nothing, outside of models. `memory_model.rs` has its place there.

/// Knows nothing.
pub struct TaskMemory;

impl TaskMemory {
    #[inline(always)]
    pub fn new() -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    pub fn is_used(&self) {}
}
