//! The models of this crate, in one program.

#![cfg(loom)]

mod completion;
mod model;
mod park;
mod readiness;
