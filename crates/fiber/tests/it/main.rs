//! The tests that share a process.

mod ends;
mod places;
mod scopes;
mod tasks;
mod waits;
