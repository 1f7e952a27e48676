//! The models of this crate, in one program.

#![cfg(loom)]

#[path = "loom_completion.rs"]
mod loom_completion;
#[path = "loom_park.rs"]
mod loom_park;
#[path = "loom_readiness.rs"]
mod loom_readiness;
mod model;
