//! The models of this crate, in one program.

#![cfg(loom)]

#[path = "../../core/tests/model/mod.rs"]
mod model;

#[path = "loom_memory.rs"]
mod loom_memory;
