//! The only function that waits. In a fiber it suspends the fiber, in a thread it blocks the
//! thread.
//!
//! Every wait of this crate is a future of `blitz-io`. A fiber and a thread differ in the waker that
//! they give the future. The functions of this crate first try without waiting, so only the slow path
//! checks whether the caller is a fiber.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use blitz_io::thread::{Parker, Unparker};
use blitz_io_core::coop::{self, Budget};

use crate::error::{BLITZ_ECANCELED, BLITZ_ETIMEDOUT, Outcome};
use crate::fiber::{self, Fiber};
use crate::fork::has_lost_runtime;
use crate::time;

/// The limit of a wait.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// Waits without a limit.
    Never,
    /// The deadline.
    At(Instant),
}

impl Limit {
    /// Returns the limit that a deadline of C sets.
    pub(crate) fn at(deadline_ns: u64) -> Self {
        time::instant(deadline_ns).map_or(Self::Never, Self::At)
    }

    /// Returns the deadline, if there is one.
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::Never => None,
            Self::At(deadline) => Some(deadline),
        }
    }
}

/// Returns `true` if the caller runs in a fiber that can be suspended, of this crate or of another user
/// of the library.
pub(crate) fn is_fiber() -> bool {
    blitz_io::fiber::is_fiber() && !is_plain_in_child()
}

/// Returns `true` in a child process in which the fork was called by a fiber. The poll that it seems to be in never
/// ends: nothing refills that poll's budget, and the thread may block.
fn is_plain_in_child() -> bool {
    let is_plain = has_lost_runtime();
    if is_plain {
        coop::set(Budget::UNCONSTRAINED);
    }
    is_plain
}

/// Waits for a future. In a fiber that is cancelled it ends with `BLITZ_ECANCELED`.
#[inline(always)]
pub(crate) fn on<F: Future>(future: F, limit: Limit) -> Outcome<F::Output> {
    if is_fiber() {
        fiber::with_current(|fiber| in_fiber(future, limit, fiber))
    } else {
        in_thread(future, limit)
    }
}

/// Waits for a future, also in a fiber that is cancelled.
#[inline(always)]
pub(crate) fn on_masked<F: Future>(future: F, limit: Limit) -> Outcome<F::Output> {
    if is_fiber() {
        in_fiber(future, limit, None)
    } else {
        in_thread(future, limit)
    }
}

// Inlined, with its callers, into the function that C calls. A resumed fiber returns through frames
// that the processor's stack of return addresses does not have, and each such return is mispredicted.
#[inline(always)]
fn in_fiber<F: Future>(future: F, limit: Limit, fiber: Option<&Fiber>) -> Outcome<F::Output> {
    let mut future = pin!(future);
    let until_cancelled = poll_fn(|cx| {
        if fiber.is_some_and(|fiber| fiber.ends_wait(cx)) {
            return Poll::Ready(Err(BLITZ_ECANCELED));
        }
        future.as_mut().poll(cx).map(Ok)
    });
    match limit {
        Limit::Never => blitz_io::fiber::block_on(until_cancelled),
        Limit::At(deadline) => {
            let timeout = blitz_io::time::timeout_at(deadline.into(), until_cancelled);
            blitz_io::fiber::block_on(timeout).unwrap_or(Err(BLITZ_ETIMEDOUT))
        }
    }
}

/// Blocks the thread until the future is ready.
#[inline(never)]
fn in_thread<F: Future>(future: F, limit: Limit) -> Outcome<F::Output> {
    // A wait inside a wait, in a callback, finds no blocker and makes its own.
    // So does a wait in a thread that ends, for example in the destructor of a static object.
    let blocker = BLOCKER.try_with(Cell::take).ok().flatten();
    let blocker = blocker.unwrap_or_default();
    let result = blocker.wait(future, limit);
    _ = BLOCKER.try_with(|own| own.set(Some(blocker)));
    result
}

thread_local! {
    static BLOCKER: Cell<Option<Blocker>> = const { Cell::new(None) };
}

/// The parker of a thread, with its waker.
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
                    // A result that came just before the deadline counts.
                    return match future.as_mut().poll(&mut cx) {
                        Poll::Ready(output) => Ok(output),
                        Poll::Pending => Err(BLITZ_ETIMEDOUT),
                    };
                }
            }
        }
    }
}
