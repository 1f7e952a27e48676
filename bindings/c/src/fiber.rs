//! The fibers that this crate has started, and how they are cancelled.
//!
//! # Cancellation of a fiber
//!
//! No unwinding passes the frames of C, so a fiber is not dropped while it is suspended: its waits
//! return `BLITZ_ECANCELED`, and its function ends as any function does.
//!
//! 1. `cancel` stores the flag, then wakes the fiber's task.
//! 2. A wait reads the flag at each poll, before it polls its future.
//! 3. A wake-up during a poll makes the executor poll once more. So either a poll sees the flag,
//!    or the wake-up comes after that poll has begun, and the next poll sees it.
//! 4. The task has one waker for its life, which the fiber stores before its function
//!    runs. It fences after that, and `cancel` fences after it has stored the flag. So
//!    either `cancel` finds the waker, or the first wait reads the flag.

use std::ffi::{CString, c_void};
use std::future::poll_fn;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Poll, Waker};

use blitz_io::fiber;
use blitz_io::runtime::Handle;
use blitz_io::sync::Semaphore;
use blitz_io::thread::Mutex;

use crate::fork::Process;

/// What this crate knows of a fiber that it started.
pub(crate) struct Fiber {
    number: u64,
    group: Weak<Group>,
    cancelled: AtomicBool,
    /// How many times the fiber has asked not to be cancelled.
    masked: AtomicU32,
    waker: OnceLock<Waker>,
    /// Closed when the fiber has ended.
    ended: Semaphore,
    /// A pointer of the caller's. Only the fiber itself uses it.
    pub(crate) local: AtomicPtr<c_void>,
    /// The text for `blitz_last_error`. Only the fiber itself uses it.
    pub(crate) last_error: Mutex<CString>,
}

impl Fiber {
    pub(crate) fn new(group: &Arc<Group>) -> Arc<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            group: Arc::downgrade(group),
            cancelled: AtomicBool::new(false),
            masked: AtomicU32::new(0),
            waker: OnceLock::new(),
            ended: Semaphore::const_new(0),
            local: AtomicPtr::new(ptr::null_mut()),
            last_error: Mutex::default(),
        })
    }

    /// The fibers of the runtime that runs it.
    pub(crate) fn group(&self) -> Option<Arc<Group>> {
        self.group.upgrade()
    }

    /// Runs the function of the fiber, in the fiber.
    pub(crate) fn run<R>(self: Arc<Self>, function: impl FnOnce() -> R) -> R {
        let waker = fiber::block_on(poll_fn(|cx| Poll::Ready(cx.waker().clone())));
        self.waker.get_or_init(|| waker);
        fence(Ordering::SeqCst);
        let _ends = Ends::new(self);
        function()
    }

    /// Waits until the fiber has ended.
    pub(crate) async fn ended(&self) {
        let _closed = self.ended.acquire().await;
    }

    /// Lets all waits of the fiber, from now on, return `BLITZ_ECANCELED`.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Whether the fiber is cancelled, and has not asked to be left alone.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst) && self.masked.load(Ordering::Relaxed) == 0
    }

    /// Begins or ends a part of the fiber in which its waits are not cancelled. `false` if there
    /// is none to end.
    pub(crate) fn mask(&self, begins: bool) -> bool {
        // Only the fiber itself writes here.
        let masked = self.masked.load(Ordering::Relaxed);
        let next = if begins {
            masked.checked_add(1)
        } else {
            masked.checked_sub(1)
        };
        next.inspect(|&next| self.masked.store(next, Ordering::Relaxed))
            .is_some()
    }
}

/// The fiber while its function runs. Announces its end.
///
/// Invariant: the local pointer of a fiber is NULL, or that of the `Arc` in the `Ends` on its stack.
struct Ends(Arc<Fiber>);

impl Ends {
    fn new(fiber: Arc<Fiber>) -> Self {
        // SAFETY: the invariant. Only this type stores the pointer.
        unsafe { fiber::set_local(Arc::as_ptr(&fiber).cast()) };
        Self(fiber)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        // SAFETY: the invariant.
        unsafe { fiber::set_local(ptr::null()) };
        self.0.ended.close();
    }
}

/// Gives the fiber of this crate that calls to `with`, if there is one.
#[inline]
pub(crate) fn with_current<R>(with: impl FnOnce(Option<&Fiber>) -> R) -> R {
    let fiber: *const Fiber = fiber::local().cast();
    // SAFETY: by the invariant of `Ends`, an `Arc` further up this stack keeps the fiber alive, and the
    // reference does not leave the call, which is further down.
    with(unsafe { fiber.as_ref() })
}

/// Whether the fiber of this crate that calls is cancelled.
pub(crate) fn is_cancelled() -> bool {
    with_current(|fiber| fiber.is_some_and(Fiber::is_cancelled))
}

/// The number of the fiber of this crate that calls.
pub(crate) fn number() -> Option<u64> {
    with_current(|fiber| fiber.map(|fiber| fiber.number))
}

/// The fibers of one runtime.
pub(crate) struct Group {
    /// The runtime.
    pub(crate) handle: Handle,
    /// The process in which it has threads.
    pub(crate) process: Process,
    fibers: Mutex<Fibers>,
}

#[derive(Default)]
struct Fibers {
    list: Vec<Weak<Fiber>>,
    is_closed: bool,
}

impl Group {
    pub(crate) fn new(handle: Handle) -> Arc<Self> {
        Arc::new(Self {
            handle,
            process: Process::current(),
            fibers: Mutex::default(),
        })
    }

    /// Adds a fiber that is going to run; `false` after `close`.
    #[must_use = "a group that is closed runs no fibers"]
    pub(crate) fn add(&self, fiber: &Arc<Fiber>) -> bool {
        let mut fibers = self.fibers.lock();
        if fibers.is_closed {
            return false;
        }
        // The list has doubled since it was cleaned, so this is cheap on average.
        if fibers.list.len() == fibers.list.capacity() {
            fibers.list.retain(|fiber| fiber.strong_count() > 0);
            let live = fibers.list.len();
            fibers.list.reserve(live.max(64));
        }
        fibers.list.push(Arc::downgrade(fiber));
        true
    }

    /// Lets no more fibers begin, and cancels and returns those that have not ended.
    pub(crate) fn close(&self) -> Vec<Arc<Fiber>> {
        let mut fibers = self.fibers.lock();
        fibers.is_closed = true;
        let left: Vec<_> = fibers.list.iter().filter_map(Weak::upgrade).collect();
        drop(fibers);
        for fiber in &left {
            fiber.cancel();
        }
        left
    }
}
