//! The command from outside: what it prints, and how it ends.

#[cfg(feature = "bench")]
mod bench;
#[cfg(feature = "bench")]
mod bench_report;
mod common;
mod doctor;
#[cfg(all(target_os = "linux", feature = "bench"))]
mod documents;
mod files;
#[cfg(all(target_os = "linux", feature = "bench"))]
mod interrupt;
#[cfg(target_os = "linux")]
mod ipc;
#[cfg(unix)]
mod lint;
#[cfg(all(target_os = "linux", feature = "bench"))]
mod load;
mod migrate;
mod pipe;
#[cfg(unix)]
mod ps;
mod release;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod sim;
#[cfg(all(target_os = "linux", feature = "bench"))]
mod terminal;
#[cfg(unix)]
mod top;
#[cfg(unix)]
mod trace;
#[cfg(unix)]
mod why;
