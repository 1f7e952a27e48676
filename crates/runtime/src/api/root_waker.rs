//! Wakers of a future that a thread blocks for, with the feature `tracing`: they emit events, as those of tasks do
//! (`blitz_io_observe::TaskSpan`). So tokio-console knows how many there are.
//!
//! Each clone of a waker has a reference to an [`Inner`], and so has [`RootWakers`]. The waker of a poll has none: it
//! lives no longer than the poll, in which nothing replaces that `Inner`.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

use blitz_io_observe::{TaskSpan, WakerEvent};

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// The target of a waker, and the span of which it emits events.
struct Inner {
    span: TaskSpan,
    outer: Waker,
}

/// Makes the wakers of one future.
pub(crate) struct RootWakers(Option<Arc<Inner>>);

impl RootWakers {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Polls the future of the span `number` with a waker that wakes `outer`.
    pub(crate) fn poll<R>(
        &mut self,
        number: u64,
        outer: &Waker,
        poll: impl FnOnce(&mut Context<'_>) -> R,
    ) -> R {
        let known = self.0.take().filter(|inner| inner.outer.will_wake(outer));
        let inner = self.0.insert(known.unwrap_or_else(|| {
            let span = TaskSpan::new();
            span.set(number);
            let outer = outer.clone();
            Arc::new(Inner { span, outer })
        }));
        let raw = RawWaker::new(Arc::as_ptr(inner).cast(), &VTABLE);
        // SAFETY: the functions of the table do what those of a waker have to, and are for a pointer to an `Inner`. That
        // exists until the poll has ended, as this value has a reference and is borrowed. The waker is not dropped.
        let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
        poll(&mut Context::from_waker(&waker))
    }
}

/// # Safety
///
/// The pointer is a waker's.
unsafe fn inner<'a>(data: *const ()) -> &'a Inner {
    // SAFETY: a waker's pointer is to an `Inner` that has a reference for as long as the waker exists.
    unsafe { &*data.cast() }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the pointer is the waker's, and that of an `Arc`.
    unsafe {
        inner(data).span.emit(WakerEvent::Clone);
        Arc::increment_strong_count(data.cast::<Inner>());
    }
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker has a reference, which it gives to this call.
    let inner = unsafe { Arc::from_raw(data.cast::<Inner>()) };
    inner.span.emit(WakerEvent::Wake);
    inner.outer.wake_by_ref();
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the pointer is the waker's.
    let inner = unsafe { inner(data) };
    inner.span.emit(WakerEvent::WakeByRef);
    inner.outer.wake_by_ref();
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the waker has a reference, which it gives to this call.
    let inner = unsafe { Arc::from_raw(data.cast::<Inner>()) };
    inner.span.emit(WakerEvent::Drop);
}
