//! The ends of requests, for functions that ask for them: such as one that keeps the recording of a slow request.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io_futex::per_process::PerProcess;

use crate::records::recording::clock::nanos;

type Function = dyn Fn(&Ended<'_>) + Send + Sync;
/// The list is copied when it changes, so that no lock is held while a function runs.
type Functions = Arc<Vec<Arc<Function>>>;

/// `true` once a function asks.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);
static FUNCTIONS: PerProcess<Mutex<Option<Functions>>> = PerProcess::new(|| Mutex::new(None));

fn functions() -> MutexGuard<'static, Option<Functions>> {
    FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ended<'a> {
    /// Its name.
    pub name: &'a str,
    /// The time from its beginning to its end.
    pub duration: Duration,
}

/// Calls a function at the end of each request that begins from now on while the recorder is on, in the thread in which
/// it ends, until the process ends. A child of a fork does not call it.
pub fn watch(function: impl Fn(&Ended<'_>) + Send + Sync + 'static) {
    let mut functions = functions();
    let mut all = functions.as_deref().cloned().unwrap_or_default();
    all.push(Arc::new(function));
    *functions = Some(Arc::new(all));
    drop(functions);
    IS_WATCHED.store(true, Ordering::Relaxed);
}

/// The beginning of a request whose end some function asks for.
pub(super) struct Watched {
    name: Box<str>,
    began: u64,
}

impl Watched {
    #[inline]
    pub(super) fn new(name: &str) -> Option<Box<Self>> {
        IS_WATCHED.load(Ordering::Relaxed).then(|| {
            Box::new(Self {
                name: name.into(),
                began: nanos(),
            })
        })
    }

    pub(super) fn ended(&self) {
        let ended = Ended {
            name: &self.name,
            duration: Duration::from_nanos(nanos().saturating_sub(self.began)),
        };
        let all = functions().clone();
        for function in all.iter().flat_map(|all| all.iter()) {
            function(&ended);
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}
