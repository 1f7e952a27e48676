//! The pool that all use who are in no other.

use std::sync::{Arc, OnceLock};

use crate::builder::{ThreadPoolBuilder, ThreadSpawn};
use crate::error::ThreadPoolBuildError;
use crate::registry::Registry;
use crate::worker::Worker;

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();

/// The global pool, which the first use starts.
pub(crate) fn global() -> &'static Arc<Registry> {
    GLOBAL.get_or_init(|| match default_global() {
        Ok(registry) => registry,
        Err(error) => panic!("The global thread pool has not been initialized.: {error}"),
    })
}

/// Where no thread can be started at all, the current thread is the pool.
fn default_global() -> Result<Arc<Registry>, ThreadPoolBuildError> {
    let result = ThreadPoolBuilder::new().start();
    match &result {
        Err(error) if error.is_unsupported() && !Worker::is_current() => ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .start()
            .or(result),
        _ => result,
    }
}

/// Makes the global pool.
pub(crate) fn init_global<S: ThreadSpawn>(
    builder: ThreadPoolBuilder<S>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    let mut builder = Some(builder);
    let mut error = None;
    // `OnceLock` has no fallible initialisation: a failure leaves the default pool in place
    // only if the caller asks for the global pool later on.
    if GLOBAL.get().is_none() {
        match builder.take().expect("taken once").start() {
            Ok(registry) => match GLOBAL.set(registry) {
                Ok(()) => return Ok(global()),
                Err(registry) => registry.release(),
            },
            Err(failure) => error = Some(failure),
        }
    }
    Err(error.unwrap_or_else(ThreadPoolBuildError::global_pool_already_initialized))
}
