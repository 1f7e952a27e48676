//! The tests of this crate, in one program.

mod failures;
mod gzip;
mod order;
mod random;
mod tasks;
