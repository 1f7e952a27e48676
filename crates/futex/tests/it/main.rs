//! The tests of this crate that can share a process, in one program, so that it is linked
//! once and not once per file, for every system and sanitizer. A test that needs a process
//! of its own has a line in Cargo.toml instead.

#[path = "../common/mod.rs"]
mod common;

mod parking;
mod split_word;
mod stress;
mod wait_any;
mod wait_wake;
