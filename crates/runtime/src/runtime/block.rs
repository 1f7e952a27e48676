//! A thread that blocks until a future is ready, without a scheduler of its own.
//!
//! The thread sleeps in a parker that it keeps for the next time, so that blocking
//! allocates nothing from the second time on. The parker is taken out of the
//! thread's storage as long as it is in use: a future that blocks again (in
//! `block_in_place`) gets one of its own, and cannot take the outer one's tokens.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use blitz_sync::internals::coop;
use blitz_sync::thread::{Parker, Unparker};

use super::enter::MayBlock;

thread_local! {
    static SEAT: Cell<Option<Seat>> = const { Cell::new(None) };
}

/// Where a thread waits, and what calls it.
struct Seat {
    parker: Parker,
    waker: Waker,
}

struct Call(Unparker);

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

impl Seat {
    fn take() -> Self {
        let kept = SEAT.try_with(Cell::take);
        kept.ok().flatten().unwrap_or_else(Self::new)
    }

    #[cold]
    fn new() -> Self {
        let parker = Parker::new();
        let waker = Waker::from(Arc::new(Call(parker.unparker().clone())));
        Self { parker, waker }
    }

    /// Keeps it for the next time. Calls that are under way then cost that one a poll.
    fn keep(self) {
        // Where the thread's storage is gone, it is dropped.
        let _ = SEAT.try_with(|seat| seat.set(Some(self)));
    }
}

impl MayBlock {
    /// Blocks the thread until `future` is ready.
    pub(crate) fn block_on<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        let seat = Seat::take();
        let mut context = Context::from_waker(&seat.waker);
        let output = loop {
            if let Poll::Ready(output) = coop::budget(|| future.as_mut().poll(&mut context)) {
                break output;
            }
            seat.parker.park();
        };
        seat.keep();
        output
    }
}
