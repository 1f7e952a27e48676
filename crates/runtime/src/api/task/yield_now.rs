//! `yield_now`: a place at the end of the queue.
//!
//! A task that yields is about to be polled again, and every thread could see that from
//! its word. So it informs only its thread, by a mark in the thread's context
//! (`context.rs`). The poll's caller checks the mark, and puts the task at the end of the
//! queue without touching the word. That works if the waker belongs to the task that the
//! thread polls. A future with wakers of its own (as `FuturesUnordered`, or that of `block_on`)
//! passes another waker, which has to be woken. Then a mark for the thread says that this is a
//! yield, and not an event.

use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use blitz_io_core::coop;
use blitz_io_observe::{Caller, WakerEvent, trace};

use crate::kernel::context;
use crate::kernel::task::task_of;

/// Lets the others that are ready run first.
///
/// The task is polled again after all tasks that are ready now. Before that, the runtime looks for
/// events of sockets and timers, unless another of its threads waits for those, and tasks that
/// they wake run first. If several tasks yield, one look serves them all.
///
/// So a loop that yields until a socket is ready sees that as soon as the system says so. But it
/// keeps a processor busy: wait for the socket instead where you can.
///
/// ```
/// use blitz_io::{runtime::Builder, task};
///
/// let runtime = Builder::new_current_thread().build()?;
/// runtime.block_on(async {
///     let other = task::spawn(async { "has run" });
///     task::yield_now().await;
///     assert!(other.is_finished());
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[inline]
#[track_caller]
pub fn yield_now() -> impl Future<Output = ()> {
    YieldNow {
        yielded: false,
        caller: Caller::here(),
    }
}

/// Written by hand, with one byte of state; the feature `inspect` adds the line. An `async fn` of this kind is built in memory
/// byte by byte and read back as a whole, for which the processor has to wait.
struct YieldNow {
    yielded: bool,
    caller: Caller,
}

impl Future for YieldNow {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        ready!(coop::leaf(context));
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        step_back(context.waker());
        trace::yielded(self.caller);
        Poll::Pending
    }
}

/// Makes sure that the task of `waker` is polled again, behind the others.
#[inline]
pub(super) fn step_back(waker: &Waker) {
    match task_of(waker).filter(|&task| context::step_back(task)) {
        // SAFETY: the waker's reference keeps the task.
        Some(task) => unsafe { task.as_ref() }.span.emit(WakerEvent::WakeByRef),
        None => {
            context::yields();
            waker.wake_by_ref();
        }
    }
}
