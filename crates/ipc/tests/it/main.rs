//! The tests of this crate, in one program.

#![cfg(any(target_os = "linux", target_os = "android"))]

#[path = "../common/mod.rs"]
mod common;

mod awaiting;
mod basics;
mod carried;
mod crash;
mod fork;
mod hostile;
mod limits;
mod opening;
mod primitives;
mod queue_end;
mod trust;
