//! Tasks, laid out as `tokio::task` is; besides, `TaskTracker` from tokio-util, and
//! `scope` for tasks that borrow.

pub use blitz_runtime::task::*;
