//! The one function that waits. In a fiber it suspends the fiber, in a thread it blocks the
//! thread.
//!
//! Every wait of this crate is a future of `blitz-io`; which waker it gets makes the difference.
//! The functions try first, and come here only if they have to wait, so the question whether the
//! caller is a fiber is part of the slow path.
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
//! 4. The task has one waker for its life. It is stored before the fiber's function runs, and a
//!    cancellation before that is seen by the first wait.

use std::cell::Cell;
use std::ffi::CString;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use blitz_io::sync::Semaphore;
use blitz_io::thread::{Mutex, Parker, Unparker};

use crate::blitz_io_fiber;
use crate::error::{BLITZ_ECANCELED, BLITZ_ETIMEDOUT, Outcome};
use crate::runtime::Shared;
use crate::time;

/// How long an operation may wait.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// Without a limit.
    Never,
    /// Until then.
    At(Instant),
}

impl Limit {
    /// The limit that a deadline of C sets.
    pub(crate) fn at(deadline_ns: u64) -> Self {
        time::instant(deadline_ns).map_or(Self::Never, Self::At)
    }

    /// The deadline, if there is one.
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::Never => None,
            Self::At(deadline) => Some(deadline),
        }
    }
}

/// What this crate knows of a fiber that it started.
pub(crate) struct Fiber {
    number: u64,
    runtime: Weak<Shared>,
    cancelled: AtomicBool,
    /// How many times the fiber has asked not to be cancelled.
    masked: AtomicU32,
    waker: OnceLock<Waker>,
    /// Closed when the fiber has ended.
    ended: Semaphore,
    /// The text for `blitz_last_error`. Only the fiber itself uses it.
    pub(crate) last_error: Mutex<CString>,
}

impl Fiber {
    pub(crate) fn new(runtime: &Arc<Shared>) -> Arc<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            runtime: Arc::downgrade(runtime),
            cancelled: AtomicBool::new(false),
            masked: AtomicU32::new(0),
            waker: OnceLock::new(),
            ended: Semaphore::const_new(0),
            last_error: Mutex::default(),
        })
    }

    /// The waker of the fiber's task.
    pub(crate) fn waker(&self) -> Option<Waker> {
        self.waker.get().cloned()
    }

    /// The runtime that runs it.
    pub(crate) fn runtime(&self) -> Option<Arc<Shared>> {
        self.runtime.upgrade()
    }

    /// Runs `future`, whose polls run the fiber.
    pub(crate) async fn run<F: Future>(self: Arc<Self>, future: F) -> F::Output {
        let ends = Ends(&self);
        let mut future = pin!(future);
        let poll = poll_fn(|cx| {
            self.waker.get_or_init(|| cx.waker().clone());
            future.as_mut().poll(cx)
        });
        let output = CURRENT.scope(self.clone(), poll).await;
        drop(ends);
        output
    }

    /// Waits until the fiber has ended.
    pub(crate) async fn ended(&self) {
        let _closed = self.ended.acquire().await;
    }

    /// Lets all waits of the fiber, from now on, return `BLITZ_ECANCELED`.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
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

/// Announces the end of a fiber.
struct Ends<'a>(&'a Fiber);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.ended.close();
    }
}

blitz_io::task_local! {
    /// The fiber that runs.
    static CURRENT: Arc<Fiber>;
}

/// The fiber of this crate that calls.
pub(crate) fn current() -> Option<Arc<Fiber>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// The number of the fiber of this crate that calls.
pub(crate) fn fiber_number() -> Option<u64> {
    CURRENT.try_with(|fiber| fiber.number).ok()
}

/// Whether the caller runs in a fiber, of this crate or of another user of the library.
pub(crate) fn is_fiber() -> bool {
    blitz_io_fiber::is_fiber()
}

/// Waits for a future. In a fiber that is cancelled it ends with `BLITZ_ECANCELED`.
pub(crate) fn on<F: Future>(future: F, limit: Limit) -> Outcome<F::Output> {
    if is_fiber() {
        in_fiber(future, limit, current())
    } else {
        in_thread(future, limit)
    }
}

/// Waits for a future, also in a fiber that is cancelled.
pub(crate) fn on_masked<F: Future>(future: F, limit: Limit) -> Outcome<F::Output> {
    if is_fiber() {
        in_fiber(future, limit, None)
    } else {
        in_thread(future, limit)
    }
}

fn in_fiber<F: Future>(future: F, limit: Limit, fiber: Option<Arc<Fiber>>) -> Outcome<F::Output> {
    let mut future = pin!(future);
    let until_cancelled = poll_fn(|cx| {
        if fiber.as_ref().is_some_and(|fiber| fiber.is_cancelled()) {
            return Poll::Ready(Err(BLITZ_ECANCELED));
        }
        future.as_mut().poll(cx).map(Ok)
    });
    match limit {
        Limit::Never => blitz_io_fiber::block_on(until_cancelled),
        Limit::At(deadline) => {
            let timeout = blitz_io::time::timeout_at(deadline.into(), until_cancelled);
            blitz_io_fiber::block_on(timeout).unwrap_or(Err(BLITZ_ETIMEDOUT))
        }
    }
}

/// Blocks the thread until the future is ready.
fn in_thread<F: Future>(future: F, limit: Limit) -> Outcome<F::Output> {
    // A wait inside a wait, in a callback, finds none and makes its own.
    let blocker = BLOCKER.take().unwrap_or_default();
    let result = blocker.wait(future, limit);
    BLOCKER.set(Some(blocker));
    result
}

thread_local! {
    static BLOCKER: Cell<Option<Blocker>> = const { Cell::new(None) };
}

/// What a thread sleeps in, with its waker.
struct Blocker {
    parker: Parker,
    waker: Waker,
}

struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

impl Default for Blocker {
    fn default() -> Self {
        let parker = Parker::new();
        let waker = Arc::new(Unpark(parker.unparker().clone())).into();
        Self { parker, waker }
    }
}

impl Blocker {
    fn wait<F: Future>(&self, future: F, limit: Limit) -> Outcome<F::Output> {
        let mut future = pin!(future);
        let mut cx = Context::from_waker(&self.waker);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return Ok(output);
            }
            match limit {
                Limit::Never => self.parker.park(),
                Limit::At(deadline) if self.parker.park_deadline(deadline) => {}
                Limit::At(_) => {
                    // What happened at the last moment counts.
                    return match future.as_mut().poll(&mut cx) {
                        Poll::Ready(output) => Ok(output),
                        Poll::Pending => Err(BLITZ_ETIMEDOUT),
                    };
                }
            }
        }
    }
}
