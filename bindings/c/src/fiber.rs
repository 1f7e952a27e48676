//! The fibers that this crate has started, and their cancellation.
//!
//! # Cancellation of a fiber
//!
//! No unwinding passes the frames of C, so a fiber is not dropped while it is suspended: its waits
//! return `BLITZ_ECANCELED`, and its function ends as any function does.
//!
//! 1. `cancel` stores the flag, then wakes the fiber's task.
//! 2. A wait reads the flag at each poll, before it polls its future.
//! 3. A wake-up during a poll makes the executor poll again. So either a poll sees the flag,
//!    or the wake-up comes after that poll has begun, and the next poll sees it.
//! 4. The task has one waker for its life, which the first poll of a wait stores. That poll fences
//!    before it reads the flag, and `cancel` fences after it has stored the flag. So either `cancel`
//!    finds the waker, or that poll reads the flag. A fiber that does not wait stores no waker.

use std::ffi::{CString, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};

use blitz_io::fiber;
use blitz_io::runtime::Handle;
use blitz_io::sync::Semaphore;
use blitz_io::thread::Mutex;

use crate::fork::{self, Process};

/// The state of a fiber that this crate has started.
pub(crate) struct Fiber {
    /// The number of the fiber; 0 before its first use. Only the fiber itself uses it.
    number: AtomicU64,
    /// The fibers of the runtime that runs it.
    pub(crate) group: Arc<Group>,
    /// The fiber's index in the list of the group, which protects it by its lock.
    index: AtomicUsize,
    cancelled: AtomicBool,
    /// The number of nested parts in which the fiber is not cancelled.
    masked: AtomicU32,
    waker: OnceLock<Waker>,
    /// A pointer of the caller's. Only the fiber itself uses it.
    pub(crate) local: AtomicPtr<c_void>,
    /// The details for `blitz_last_error`. Only the fiber itself uses them.
    pub(crate) last_error: Mutex<Details>,
}

/// The details of the last error of a thread or fiber.
#[derive(Default)]
pub(crate) struct Details {
    pub(crate) text: Option<CString>,
    /// The call that has recorded them has not returned.
    pub(crate) is_new: bool,
}

impl Fiber {
    fn new(group: Arc<Group>) -> Self {
        Self {
            number: AtomicU64::new(0),
            group,
            index: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            masked: AtomicU32::new(0),
            waker: OnceLock::new(),
            local: AtomicPtr::new(ptr::null_mut()),
            last_error: Mutex::default(),
        }
    }

    /// Returns the number of the fiber, which no other fiber has.
    fn number(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        match self.number.load(Ordering::Relaxed) {
            0 => {
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                self.number.store(number, Ordering::Relaxed);
                number
            }
            number => number,
        }
    }

    /// Returns `true` if a wait, which is polled in this fiber, ends because the fiber is cancelled.
    pub(crate) fn ends_wait(&self, cx: &Context<'_>) -> bool {
        if self.waker.get().is_none() {
            self.waker.get_or_init(|| cx.waker().clone());
            fence(Ordering::SeqCst);
        }
        self.is_cancelled()
    }

    /// Cancels the fiber: from now on all its waits return `BLITZ_ECANCELED`.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Returns `true` if the fiber is cancelled, and not in a part that is not cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst) && self.masked.load(Ordering::Relaxed) == 0
    }

    /// Begins or ends a part of the fiber in which its waits are not cancelled. Returns `false` if there
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

/// A fiber in the list of its group, until its function has ended or is dropped.
pub(crate) struct Listed(Arc<Fiber>);

impl Listed {
    pub(crate) fn fiber(&self) -> &Arc<Fiber> {
        &self.0
    }

    /// Runs the function of the fiber, in the fiber.
    pub(crate) fn run<R>(self, function: impl FnOnce() -> R) -> R {
        fork::serve(self.0.group.process);
        let _current = Current::new(&self.0);
        function()
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.0.group.remove(&self.0);
    }
}

/// The fiber while its function runs.
///
/// Invariant: the local pointer of a fiber is NULL, or that of the `Fiber` that a `Current` on its stack
/// borrows.
struct Current<'a>(PhantomData<&'a Fiber>);

impl<'a> Current<'a> {
    fn new(fiber: &'a Fiber) -> Self {
        // SAFETY: the invariant. Only this type stores the pointer.
        unsafe { fiber::set_local(ptr::from_ref(fiber).cast()) };
        Self(PhantomData)
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        // SAFETY: the invariant.
        unsafe { fiber::set_local(ptr::null()) };
    }
}

/// Calls `with` with the calling fiber, if this crate has started it.
#[inline]
pub(crate) fn with_current<R>(with: impl FnOnce(Option<&Fiber>) -> R) -> R {
    let fiber: *const Fiber = fiber::local().cast();
    // SAFETY: by the invariant of `Current`, a borrow further up this stack keeps the fiber alive, and
    // the reference does not leave the call, which is further down.
    with(unsafe { fiber.as_ref() })
}

/// Returns `true` if this crate has started the calling fiber, and the fiber is cancelled.
pub(crate) fn is_cancelled() -> bool {
    with_current(|fiber| fiber.is_some_and(Fiber::is_cancelled))
}

/// Returns the number of the calling fiber, if this crate has started it.
pub(crate) fn number() -> Option<u64> {
    with_current(|fiber| fiber.map(Fiber::number))
}

/// The fibers of one runtime.
pub(crate) struct Group {
    /// The runtime.
    pub(crate) handle: Handle,
    /// The process in which it has threads.
    pub(crate) process: Process,
    fibers: Mutex<Fibers>,
    /// Closed when no fiber is left, and none can begin.
    ended: Semaphore,
}

#[derive(Default)]
struct Fibers {
    /// The fibers; each has its index in [`Fiber::index`].
    list: Vec<Arc<Fiber>>,
    is_closed: bool,
}

impl Fibers {
    fn have_ended(&self) -> bool {
        self.is_closed && self.list.is_empty()
    }
}

impl Group {
    pub(crate) fn new(handle: Handle) -> Arc<Self> {
        Arc::new(Self {
            handle,
            process: Process::current(),
            fibers: Mutex::default(),
            ended: Semaphore::const_new(0),
        })
    }

    /// Adds a fiber that is going to run. Returns `None` after `close`.
    pub(crate) fn add(self: Arc<Self>) -> Option<Listed> {
        let fiber = Arc::new(Fiber::new(self));
        let mut fibers = fiber.group.fibers.lock();
        if fibers.is_closed {
            return None;
        }
        fiber.index.store(fibers.list.len(), Ordering::Relaxed);
        fibers.list.push(fiber.clone());
        drop(fibers);
        Some(Listed(fiber))
    }

    /// Removes a fiber that has ended.
    fn remove(&self, fiber: &Fiber) {
        let mut fibers = self.fibers.lock();
        let index = fiber.index.load(Ordering::Relaxed);
        let removed = fibers.list.swap_remove(index);
        if let Some(moved) = fibers.list.get(index) {
            moved.index.store(index, Ordering::Relaxed);
        }
        let have_ended = fibers.have_ended();
        drop(fibers);
        drop(removed);
        if have_ended {
            self.ended.close();
        }
    }

    /// Lets no more fibers begin, and cancels those that have not ended.
    pub(crate) fn close(&self) {
        let mut fibers = self.fibers.lock();
        fibers.is_closed = true;
        let left = fibers.list.clone();
        let have_ended = fibers.have_ended();
        drop(fibers);
        if have_ended {
            self.ended.close();
        }
        for fiber in left {
            fiber.cancel();
        }
    }

    /// Waits until all fibers have ended, after `close`.
    pub(crate) async fn ended(&self) {
        let _closed = self.ended.acquire().await;
    }
}
