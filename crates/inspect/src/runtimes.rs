//! The runtimes of this process, which register when they start.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use blitz_io_core::PerProcess;

use crate::snapshot::Runtime;

/// Reads the figures of a runtime; `None` once it has ended.
type Read = dyn Fn() -> Option<Runtime> + Send + Sync;

static RUNTIMES: PerProcess<Mutex<Vec<Arc<Read>>>> = PerProcess::new(Mutex::default);

/// Makes a runtime known until this is dropped.
#[doc(hidden)]
#[must_use = "a dropped registration ends"]
pub struct RegisteredRuntime(Arc<Read>);

impl RegisteredRuntime {
    /// Lets `read` answer for a runtime. It takes no lock that a thread may hold while it waits or
    /// runs code of the user's.
    pub fn new(read: impl Fn() -> Option<Runtime> + Send + Sync + 'static) -> Self {
        let read: Arc<Read> = Arc::new(read);
        let mut runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
        runtimes.push(read.clone());
        Self(read)
    }
}

impl Drop for RegisteredRuntime {
    fn drop(&mut self) {
        let mut runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
        runtimes.retain(|read| !Arc::ptr_eq(read, &self.0));
    }
}

impl fmt::Debug for RegisteredRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredRuntime").finish_non_exhaustive()
    }
}

/// Reads the figures of all runtimes. They are read without the lock: the reader's reference to a
/// runtime may be the last one, and then drops the registration.
pub(crate) fn runtimes() -> Vec<Runtime> {
    let all = RUNTIMES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    all.iter().filter_map(|read| read()).collect()
}
