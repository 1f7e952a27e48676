//! Events of a task's wakers, with the feature `tracing`. Their target and fields are Tokio's, so that tokio-console
//! knows how many wakers a task has, and since when it is ready.

#[cfg(feature = "tracing")]
use std::sync::atomic::{AtomicU64, Ordering};

/// What happens to a waker.
#[derive(Clone, Copy)]
pub enum WakerEvent {
    /// There is one more.
    Clone,
    /// There is one less.
    Drop,
    /// It wakes its task, and there is one less.
    Wake,
    /// It wakes its task.
    WakeByRef,
}

/// The span of a task, if it is known. Without the feature `tracing` it is nothing.
pub struct TaskSpan {
    /// The number of the span, or 0.
    #[cfg(feature = "tracing")]
    number: AtomicU64,
}

#[cfg(feature = "tracing")]
impl TaskSpan {
    pub const fn new() -> Self {
        Self {
            number: AtomicU64::new(0),
        }
    }

    /// Sets the span. The task's first poll does, before there is a waker.
    pub fn set(&self, number: u64) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// Emits an event of one of the task's wakers.
    #[inline]
    pub fn emit(&self, event: WakerEvent) {
        // The waker comes from a poll of the task, after its span was set.
        let number = self.number.load(Ordering::Relaxed);
        if number != 0 {
            emit(number, event);
        }
    }
}

#[cfg(not(feature = "tracing"))]
impl TaskSpan {
    pub const fn new() -> Self {
        Self {}
    }

    /// Does nothing.
    #[inline(always)]
    pub fn emit(&self, _event: WakerEvent) {}
}

#[cfg(feature = "tracing")]
#[cold]
#[inline(never)]
fn emit(number: u64, event: WakerEvent) {
    let op = match event {
        WakerEvent::Clone => "waker.clone",
        WakerEvent::Drop => "waker.drop",
        WakerEvent::Wake => "waker.wake",
        WakerEvent::WakeByRef => "waker.wake_by_ref",
    };
    tracing::trace!(target: "tokio::task::waker", op, task.id = number);
}
