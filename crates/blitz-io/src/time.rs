//! Timers, laid out like `tokio::time`.

pub use blitz_runtime::time::*;
