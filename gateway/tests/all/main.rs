//! The tests of this crate, in one program.

mod bounds;
mod config;
mod sequence;
mod wire;
