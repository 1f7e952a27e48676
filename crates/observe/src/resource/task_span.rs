//! Events of a task's wakers. Their target and fields are Tokio's, so that tokio-console knows how many wakers a
//! task has, and since when it is ready.

use std::sync::atomic::{AtomicU64, Ordering};

use super::WakerEvent;

/// The number of a task's span, if it is known, or else 0.
pub struct TaskSpan(AtomicU64);

impl TaskSpan {
    /// Creates a span that is not known.
    #[allow(
        clippy::new_without_default,
        reason = "not part of the public interface"
    )]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Sets the span. The task's first poll does, before there is a waker.
    pub fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    /// Emits an event of one of the task's wakers.
    #[inline]
    pub fn emit(&self, event: WakerEvent) {
        // The waker comes from a poll of the task, after its span was set.
        let number = self.0.load(Ordering::Relaxed);
        if number != 0 {
            emit(number, event);
        }
    }
}

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
