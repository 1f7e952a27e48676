//! What is different about child processes on Windows: how a task learns that one has exited,
//! and that its pipes block.

pub(super) mod pipes;
pub(super) mod waiting;
