//! The tests of this crate, in one program.

#![cfg(not(loom))]
