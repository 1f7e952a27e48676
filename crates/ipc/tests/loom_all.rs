//! The models of this crate, in one program.

#![cfg(loom)]

mod loom_ring;
