//! The models of this crate, in one program.

#![cfg(loom)]

mod loom_primitives;
mod loom_ring;
