//! Runtimes, which run tasks, laid out like `tokio::runtime`.

pub use blitz_io_runtime::runtime::*;
