//! The models of this crate, in one program.

#![cfg(loom)]

use blitz_io_models as model;

// The models do not use all of it.
#[allow(dead_code)]
#[path = "../../src/protocol/mod.rs"]
mod protocol;

mod biased_flag;
mod event_word;
mod latch_word;
mod once_word;
mod words;
