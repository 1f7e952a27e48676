//! Tasks, laid out like `tokio::task`; also `TaskTracker` from tokio-util, and `scope` for
//! tasks that borrow.

pub use blitz_io_runtime::task::*;
