//! The differences of child processes on Windows: how a task waits until one has exited,
//! and pipes that block.

pub(super) mod pipes;
pub(super) mod waiting;
