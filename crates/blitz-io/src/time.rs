//! Timers, laid out like `tokio::time`.

pub use blitz_io_runtime::time::*;
