//! The models of this crate, in one program.

#![cfg(loom)]

use blitz_io_models as model;

#[path = "../../src/protocol/mod.rs"]
mod protocol;

mod biased_flag;
mod event_word;
mod latch_word;
mod once_word;
mod words;
