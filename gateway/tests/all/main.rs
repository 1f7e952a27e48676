//! The tests of this crate, in one program.

mod bounds;
mod config;
mod keys;
mod sequence;
mod silence;
mod wire;
