//! Detects a child process, which `fork` made after the library had started threads.
//!
//! Only the thread that calls `fork` exists in the child. Runtimes, fibers, sockets in a runtime
//! and the pool need threads that the child lacks. Each of those objects remembers the generation
//! of its process, and its functions return `BLITZ_EFORKED` in another one.
//!
//! A fiber, or a function that blocks, may call `fork`. In the child its thread still seems to be one
//! of the parent's runtime, whose other threads are missing. To suspend the fiber there would run
//! the other fibers of the thread a second time. So such a thread is a plain thread in the child: its
//! waits block it, and calls that need a runtime use that of the child ([`has_lost_runtime`]).

use std::cell::Cell;
use std::mem;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use crate::handle::take;

/// The process in which an object was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// Returns the current process.
    pub(crate) fn current() -> Self {
        blitz_io_core::watch_forks();
        Self(blitz_io_core::generation())
    }

    /// Returns `true` if the object was made in this process.
    #[inline]
    pub(crate) fn is_current(self) -> bool {
        self.0 == blitz_io_core::generation()
    }
}

thread_local! {
    /// The process in which this thread last began a fiber, or a function that blocks.
    static SERVED: Cell<Option<Process>> = const { Cell::new(None) };
}

/// Notes that this thread begins a fiber, or a function that blocks, of a runtime in this process.
#[inline]
pub(crate) fn serve(process: Process) {
    SERVED.set(Some(process));
}

/// Returns `true` if this thread belonged to a runtime of the parent process, and called `fork` there.
#[inline]
pub(crate) fn has_lost_runtime() -> bool {
    blitz_io_core::generation() != 0 && SERVED.get().is_some_and(|process| !process.is_current())
}

/// A handle whose destructor needs the process in which it was made.
pub(crate) trait OfProcess {
    /// Returns that process.
    fn process(&self) -> Process;

    /// Returns the descriptor that the handle owns.
    fn fd(&self) -> Option<RawFd> {
        None
    }
}

/// Frees a handle.
///
/// A child process has copies of the descriptors, but the driver's own descriptor is the parent's too:
/// a destructor would end the registration of the parent. A child therefore closes its copy of the
/// descriptor, and leaves the rest as it is.
pub(crate) fn free<T: OfProcess>(pointer: *mut T) {
    let Some(handle) = take(pointer) else {
        return;
    };
    if handle.process().is_current() {
        return drop(handle);
    }
    let fd = handle.fd();
    mem::forget(handle);
    // SAFETY: the handle owned the descriptor, and was forgotten without its destructor.
    drop(fd.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
}
