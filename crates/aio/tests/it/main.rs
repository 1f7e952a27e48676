//! The tests of this crate, in one program.

mod foreign;
mod memory;
mod parity;
mod read_buf;
mod uninit;
