//! The tests of this crate, in one program.

mod bounds;
mod config;
mod contradiction;
mod errors;
mod importers;
mod keys;
mod rounds;
mod runs;
mod sequence;
mod silence;
mod wire;
