//! Fibers that are dropped on another thread than their own.
//!
//! Only a fiber's own thread may unwind its stack. It does so when it next begins a fiber, or
//! when it ends. A fiber whose thread has ended already is leaked: its destructors do not run.
//!
//! This concerns fibers of a current-thread runtime that is dropped on another thread than the
//! one that was in `block_on`. The workers of a multi-thread runtime end their own fibers.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use blitz_io_core::PerProcess;
use blitz_io_sync::thread::Mutex;

type Unwind = Box<dyn FnOnce()>;

/// A fiber's thread. Numbers are not used again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(u64);

/// The fibers that were left to a thread.
struct Left {
    is_empty: AtomicBool,
    fibers: Mutex<Vec<Sent>>,
}

struct Sent(Unwind);

// SAFETY: `Home::leave` asks that the closure may be sent, to be called on its own thread or
// forgotten.
unsafe impl Send for Sent {}

static THREADS: PerProcess<Mutex<HashMap<u64, Arc<Left>>>> = PerProcess::new(Mutex::default);

thread_local! {
    /// This thread's number, or 0 if it has had no fiber.
    static HERE: Cell<u64> = const { Cell::new(0) };
    static REGISTERED: Registered = Registered::new();
}

/// A thread that has fibers, until it ends.
struct Registered {
    number: u64,
    left: Arc<Left>,
    #[cfg(unix)]
    _stack: crate::overflow::SignalStack,
}

impl Registered {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let left = Arc::new(Left {
            is_empty: AtomicBool::new(true),
            fibers: Mutex::new(Vec::new()),
        });
        let mut threads = THREADS.lock();
        threads.insert(number, left.clone());
        drop(threads);
        HERE.set(number);
        Self {
            number,
            left,
            #[cfg(unix)]
            _stack: crate::overflow::watch(),
        }
    }

    fn unwind_left(&self) {
        if self.left.is_empty.load(Ordering::Acquire) {
            return;
        }
        let fibers = {
            let mut fibers = self.left.fibers.lock();
            self.left.is_empty.store(true, Ordering::Release);
            std::mem::take(&mut *fibers)
        };
        fibers.into_iter().for_each(|Sent(unwind)| unwind());
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut threads = THREADS.lock();
        threads.remove(&self.number);
        drop(threads);
        self.unwind_left();
    }
}

/// This thread, which begins a fiber. Unwinds those that were left to it.
#[inline]
pub(crate) fn home() -> Home {
    REGISTERED.with(|registered| {
        registered.unwind_left();
        Home(registered.number)
    })
}

impl Home {
    /// Whether it is this thread.
    #[inline]
    pub(crate) fn is_here(self) -> bool {
        HERE.get() == self.0
    }

    /// Leaves a fiber to its thread. If that has ended, the fiber is leaked.
    ///
    /// # Safety
    ///
    /// The closure may be sent to the thread, called there, and forgotten anywhere.
    pub(crate) unsafe fn leave(self, unwind: Unwind) {
        let threads = THREADS.lock();
        let left = threads.get(&self.0);
        let Some(left) = left else {
            drop(threads);
            std::mem::forget(unwind);
            return;
        };
        // Under the lock of the threads: the thread unwinds what is here after it has left.
        let mut fibers = left.fibers.lock();
        fibers.push(Sent(unwind));
        left.is_empty.store(false, Ordering::Release);
    }
}
