//! Runtimes: what runs tasks, laid out as `tokio::runtime` is.

pub use blitz_runtime::runtime::*;
