//! `blitz-io-pool` under the name of rayon-core: the items that rayon needs and that its users
//! name.

// Linked for its report to `blitz sim`, which it offers by itself.
#[cfg(feature = "sim")]
use blitz_io_inspect as _;
pub use blitz_io_pool::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError,
    ThreadPoolBuilder, Yield, broadcast, current_num_threads, current_thread_has_pending_tasks,
    current_thread_index, in_place_scope, in_place_scope_fifo, join, join_context, max_num_threads,
    scope, scope_fifo, spawn, spawn_broadcast, spawn_fifo, yield_local, yield_now,
};
#[allow(deprecated, reason = "old names for those who still use them")]
pub use blitz_io_pool::{Configuration, initialize};
