//! Texts of panics and errors. They are Tokio's: people search for them.

pub(crate) const NO_CONTEXT: &str =
    "there is no reactor running, must be called from the context of a Tokio 1.x runtime";

pub(crate) const SHUTTING_DOWN: &str = "A Tokio 1.x context was found, but it is being shutdown.";

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
