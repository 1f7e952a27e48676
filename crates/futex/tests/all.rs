//! The tests of this crate that can share a process, in one program, so that it is linked
//! once and not once per file, for every system and sanitizer. A test that needs a process
//! of its own has a line in Cargo.toml instead.

#![cfg(not(loom))]

mod common;

#[path = "split_word.rs"]
mod split_word;
#[path = "stress.rs"]
mod stress;
#[path = "wait_any.rs"]
mod wait_any;
#[path = "wait_wake.rs"]
mod wait_wake;
