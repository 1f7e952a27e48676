//! The tests that share a process.

mod ends;
mod places;
mod tasks;
mod waits;
