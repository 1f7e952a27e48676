//! The tests of this crate, in one program. Tokio's own tests run in `.ci/dropin`.

mod bad_days;
mod budget;
#[path = "../help/mod.rs"]
mod help;
#[cfg(target_os = "linux")]
mod idle;
mod more_workers;
mod moving;
mod owned_buf;
#[cfg(unix)]
mod paused;
mod stalled;
mod storm;
mod yields;
