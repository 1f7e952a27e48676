//! The pool of all threads that are in no other.

use std::sync::{Arc, OnceLock};

use blitz_io_observe::decisions;

use crate::builder::{ThreadPoolBuilder, ThreadSpawn};
use crate::error::ThreadPoolBuildError;
use crate::registry::Registry;
use crate::simulation;
use crate::worker::Worker;

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();

/// Returns the global pool, which the first use starts.
pub(crate) fn global() -> &'static Arc<Registry> {
    if decisions::is_on() {
        return simulation::global();
    }
    GLOBAL.get_or_init(|| match default_global() {
        Ok(registry) => registry,
        Err(error) => panic!("The global thread pool has not been initialized.: {error}"),
    })
}

/// Returns the global pool if it has been started.
pub(crate) fn started_global() -> Option<&'static Arc<Registry>> {
    GLOBAL.get()
}

/// Starts the global pool. If no thread can be started at all, the current thread is the
/// pool.
fn default_global() -> Result<Arc<Registry>, ThreadPoolBuildError> {
    let result = ThreadPoolBuilder::new().start_global();
    match &result {
        Err(error) if error.is_unsupported() && !Worker::is_current() => ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .start_global()
            .or(result),
        _ => result,
    }
}

/// Makes the global pool.
pub(crate) fn init_global<S: ThreadSpawn>(
    builder: ThreadPoolBuilder<S>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    let already = ThreadPoolBuildError::global_pool_already_initialized;
    if GLOBAL.get().is_some() {
        return Err(already());
    }
    let registry = builder.start_global()?;
    GLOBAL.set(registry).map_err(|registry| {
        registry.release();
        already()
    })?;
    started_global().ok_or_else(already)
}
