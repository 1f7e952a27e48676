//! The command from outside: what it prints, and how it ends.

mod bench;
mod common;
mod doctor;
#[cfg(target_os = "linux")]
mod documents;
#[cfg(target_os = "linux")]
mod interrupt;
#[cfg(target_os = "linux")]
mod ipc;
#[cfg(unix)]
mod lint;
#[cfg(target_os = "linux")]
mod load;
mod migrate;
mod pipe;
mod report;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod sim;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(unix)]
mod top;
#[cfg(unix)]
mod trace;
#[cfg(unix)]
mod why;
