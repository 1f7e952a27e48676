//! Timers, laid out as `tokio::time` is.

pub use blitz_runtime::time::*;
