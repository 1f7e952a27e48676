//! Whether this process is a child that was made by `fork` after the library had started threads.
//!
//! Only the thread that calls `fork` exists in the child. Runtimes, fibers, sockets in a runtime
//! and the pool need threads that are not there. Each of those objects remembers the generation
//! of its process, and its functions return `BLITZ_EFORKED` in another one.

/// The process in which an object was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// The process that runs now.
    pub(crate) fn current() -> Self {
        blitz_io_core::watch_forks();
        Self(blitz_io_core::generation())
    }

    /// Whether the object was made in this process.
    #[inline]
    pub(crate) fn is_current(self) -> bool {
        self.0 == blitz_io_core::generation()
    }
}
