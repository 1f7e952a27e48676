//! Simulations of tasks.

mod attribute;
mod children;
mod counts;
mod decisions;
mod endings;
mod events;
mod failures;
mod given_up;
mod histories;
#[cfg(feature = "net")]
mod hosts;
#[cfg(feature = "net")]
mod moments;
mod notifications;
mod operations;
mod points;
#[cfg(feature = "pool")]
mod pool;
mod properties;
#[path = "../../../../examples/tutorial/rare.rs"]
#[allow(dead_code, reason = "it is a program of the tutorial")]
mod rare;
mod records;
mod replay;
#[cfg(all(feature = "ipc", unix))]
mod rings;
mod runs;
mod schedules;
#[cfg(all(feature = "fs", feature = "net"))]
#[path = "../../../../examples/replicated/src/store/mod.rs"]
#[allow(dead_code, missing_docs, reason = "it is an example's")]
mod store;
#[cfg(all(
    feature = "net",
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod system;
mod time;
