//! The tests of this crate, in one program. Tokio's own tests run in `.ci/dropin`.

#![cfg(not(loom))]

#[path = "bad_days.rs"]
mod bad_days;
#[path = "budget.rs"]
mod budget;
mod help;
#[cfg(target_os = "linux")]
#[path = "idle.rs"]
mod idle;
#[path = "more_workers.rs"]
mod more_workers;
#[path = "moving.rs"]
mod moving;
#[path = "owned_buf.rs"]
mod owned_buf;
#[path = "stalled.rs"]
mod stalled;
#[path = "storm.rs"]
mod storm;
