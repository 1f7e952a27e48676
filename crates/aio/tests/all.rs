//! The tests of this crate, in one program.

#![cfg(not(loom))]

#[path = "foreign.rs"]
mod foreign;
#[path = "memory.rs"]
mod memory;
#[path = "parity.rs"]
mod parity;
#[path = "read_buf.rs"]
mod read_buf;
