//! Texts of panics and errors, and the error for threads without a runtime. The texts are
//! Tokio's: people search for them.

use blitz_io_core::error_text;
pub(crate) use blitz_io_core::timers::NO_RUNTIME;

/// The runtime takes no more work.
pub const SHUTTING_DOWN: &str = "A Tokio 1.x context was found, but it is being shutdown.";

pub(crate) const CONTEXT_DESTROYED: &str =
    "The Tokio context thread-local variable has been destroyed.";

pub(crate) const NESTED: &str = "Cannot start a runtime from within a runtime. This happens because a function (like \
     `block_on`) attempted to block the current thread while the thread is being used to drive \
     asynchronous tasks. If you are in an async function, use `.await` on the future instead of \
     blocking on it.";

pub(crate) const DROPPED_IN_ASYNC: &str = "Cannot drop a runtime in a context where blocking is not allowed. This happens when a \
     runtime is dropped from within an asynchronous context.";

pub(crate) const OUT_OF_ORDER: &str = "`EnterGuard` values dropped out of order. Guards returned by \
     `tokio::runtime::Handle::enter()` must be dropped in the reverse order as they were acquired.";

pub(crate) const UNHANDLED_PANIC: &str =
    "a spawned task panicked and the runtime is configured to shut down on unhandled panic";

/// There is no current runtime: see [`Handle::try_current`](crate::runtime::Handle::try_current).
///
/// ```
/// use blitz_io::runtime::Handle;
///
/// let error = Handle::try_current().unwrap_err();
/// assert!(error.is_missing_context() && !error.is_thread_local_destroyed());
/// ```
#[derive(Debug)]
pub struct TryCurrentError {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    NoContext,
    /// Never returned: our context works until the thread has ended. Tokio has this
    /// variant.
    #[allow(dead_code)]
    ThreadLocalDestroyed,
}

impl TryCurrentError {
    pub(crate) fn no_context() -> Self {
        Self {
            kind: Kind::NoContext,
        }
    }

    /// Returns whether the thread is in no runtime.
    #[must_use]
    pub fn is_missing_context(&self) -> bool {
        matches!(self.kind, Kind::NoContext)
    }

    /// Returns whether the thread is about to end, so that it cannot be known. It never happens
    /// here: it is for programs that ask.
    #[must_use]
    pub fn is_thread_local_destroyed(&self) -> bool {
        matches!(self.kind, Kind::ThreadLocalDestroyed)
    }
}

error_text! {
    Display for TryCurrentError {
        Self { kind: Kind::NoContext } => NO_RUNTIME,
        Self { kind: Kind::ThreadLocalDestroyed } => CONTEXT_DESTROYED,
    }
}
