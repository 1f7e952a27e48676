//! Whether this process is a child that was made by `fork` after the library had started threads.
//!
//! Only the thread that calls `fork` exists in the child. Runtimes, fibers, sockets in a runtime
//! and the pool need threads that are not there. Each of those objects remembers the generation
//! of its process, which a handler raises in the child, and its functions return
//! `BLITZ_EFORKED` there.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);
static HANDLER: Once = Once::new();

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The process in which an object was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// The process that runs now.
    pub(crate) fn current() -> Self {
        // SAFETY: the handler only adds to an atomic number, which is allowed in a child.
        HANDLER.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        });
        Self(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether the object was made in this process.
    #[inline]
    pub(crate) fn is_current(self) -> bool {
        self.0 == GENERATION.load(Ordering::Relaxed)
    }
}
