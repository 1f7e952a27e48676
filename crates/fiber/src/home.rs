//! The thread of a fiber.
//!
//! Only a fiber's own thread may resume its stack, also to unwind it. A fiber that is dropped on
//! another thread is leaked: its destructors do not run, and its stack is not used again. The same
//! holds for a fiber that is dropped while its thread ends, once the destructor of [`REGISTERED`] has
//! run. The system has then destroyed thread-local values to which the stack may refer. It may also
//! have destroyed some when the thread drops the fibers that were left to it.
//!
//! This concerns fibers of a current-thread runtime that is dropped on another thread than the
//! one that was in `block_on`, and those that are kept in a thread-local variable. The workers of a
//! multi-thread runtime end their own fibers.

use std::cell::Cell;

use blitz_io_core::ThreadId;

/// A fiber's thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(ThreadId);

thread_local! {
    /// This thread, if it has had a fiber and does not end.
    static HERE: Cell<Option<Home>> = const { Cell::new(None) };
    static REGISTERED: Registered = Registered::new();
}

/// A thread that has fibers, until it ends.
struct Registered {
    #[cfg(unix)]
    _stack: crate::overflow::SignalStack,
}

impl Registered {
    fn new() -> Self {
        HERE.set(Some(Home(ThreadId::current())));
        crate::running::wait_in_fibers();
        Self {
            #[cfg(unix)]
            _stack: crate::overflow::watch(),
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        HERE.set(None);
    }
}

/// This thread, which begins a fiber.
#[inline]
pub(crate) fn home() -> Home {
    HERE.get().unwrap_or_else(register)
}

#[cold]
fn register() -> Home {
    let registered = REGISTERED.try_with(|_| HERE.get()).ok().flatten();
    registered.expect("a fiber cannot begin while its thread ends")
}

impl Home {
    /// Returns `true` if it is this thread, and the thread does not end.
    #[inline]
    pub(crate) fn is_here(self) -> bool {
        HERE.get() == Some(self)
    }
}
