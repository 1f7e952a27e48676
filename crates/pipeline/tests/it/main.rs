//! The tests of this crate, in one program.
#![cfg(not(loom))]

mod failures;
mod gzip;
mod order;
mod random;
mod tasks;
