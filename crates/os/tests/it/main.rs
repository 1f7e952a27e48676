//! The tests of this crate that can share a process.

mod bad_days;
mod files;
mod moving;
#[cfg(io_uring)]
mod ring;
