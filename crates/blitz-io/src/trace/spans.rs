//! `Spans`: spans of `tracing` as requests.

use std::any::TypeId;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

use super::{Request, request};

thread_local! {
    /// Number of spans that this thread has entered and that are requests.
    static ENTERED: Cell<u32> = const { Cell::new(0) };
}

type Choose = dyn Fn(&'static Metadata<'static>) -> bool + Send + Sync;

/// A subscriber of `tracing` that makes requests of spans, and gives everything to another subscriber.
///
/// A request has the name of its span. It begins when the span is created, and ends when it is closed; in between it is
/// where the span is entered. A span within a span that is a request belongs to that request. While the recorder of
/// `blitz trace` is off, nothing is kept.
///
/// The other subscriber has to be interested in the spans: what its filter leaves out is no request.
///
/// ```
/// use blitz_io::trace::Spans;
/// # use tracing::{Event, Metadata, span::{Attributes, Id, Record}};
/// # struct Subscriber;
/// # impl tracing::Subscriber for Subscriber {
/// #     fn enabled(&self, _: &Metadata<'_>) -> bool { true }
/// #     fn new_span(&self, _: &Attributes<'_>) -> Id { Id::from_u64(1) }
/// #     fn record(&self, _: &Id, _: &Record<'_>) {}
/// #     fn record_follows_from(&self, _: &Id, _: &Id) {}
/// #     fn event(&self, _: &Event<'_>) {}
/// #     fn enter(&self, _: &Id) {}
/// #     fn exit(&self, _: &Id) {}
/// # }
///
/// # let subscriber = Subscriber;
/// // A subscriber such as `tracing_subscriber::fmt().finish()`.
/// let subscriber = Spans::new(subscriber, |span| span.name() == "request");
/// tracing::subscriber::with_default(subscriber, || {
///     let _request = tracing::info_span!("request").entered();
/// });
/// ```
pub struct Spans<S> {
    inner: S,
    choose: Box<Choose>,
    /// Number of spans that are requests: mostly none, and then no lock is taken.
    count: AtomicUsize,
    requests: Mutex<HashMap<u64, Request>>,
}

impl<S: Subscriber> Spans<S> {
    /// Creates the subscriber. Those spans are requests for which `choose` returns `true`.
    pub fn new(
        inner: S,
        choose: impl Fn(&'static Metadata<'static>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner,
            choose: Box::new(choose),
            count: AtomicUsize::new(0),
            requests: Mutex::default(),
        }
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<u64, Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the request of a span, if it is one.
    fn with(&self, span: &Id, call: impl FnOnce(&Request)) {
        if self.count.load(Ordering::Relaxed) != 0 {
            if let Some(request) = self.requests().get(&span.into_u64()) {
                call(request);
            }
        }
    }

    /// Returns `true` if the new span is within a request.
    fn is_inside(&self, span: &Attributes<'_>) -> bool {
        if self.count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        match span.parent() {
            Some(parent) => self.requests().contains_key(&parent.into_u64()),
            None => span.is_contextual() && ENTERED.get() != 0,
        }
    }
}

impl<S: Subscriber> Subscriber for Spans<S> {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        self.inner.register_callsite(metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.inner.enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        self.inner.max_level_hint()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.inner.new_span(span);
        if (self.choose)(span.metadata()) && !self.is_inside(span) {
            let request = request(span.metadata().name());
            if request.is_recorded() {
                // The count is above zero before anything can ask for this span.
                self.count.fetch_add(1, Ordering::Relaxed);
                let former = self.requests().insert(id.into_u64(), request);
                if former.is_some() {
                    self.count.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
        id
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.inner.record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.inner.record_follows_from(span, follows);
    }

    fn event_enabled(&self, event: &Event<'_>) -> bool {
        self.inner.event_enabled(event)
    }

    fn event(&self, event: &Event<'_>) {
        self.inner.event(event);
    }

    fn enter(&self, span: &Id) {
        self.inner.enter(span);
        self.with(span, |request| {
            ENTERED.set(ENTERED.get() + 1);
            request.enter();
        });
    }

    fn exit(&self, span: &Id) {
        self.with(span, |request| {
            // The span may have been entered before it was a request's.
            ENTERED.set(ENTERED.get().saturating_sub(1));
            request.leave();
        });
        self.inner.exit(span);
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.inner.clone_span(span)
    }

    fn try_close(&self, span: Id) -> bool {
        let is_closed = self.inner.try_close(span.clone());
        if is_closed && self.count.load(Ordering::Relaxed) != 0 {
            // Its end may call functions of the program, so it is dropped after the lock.
            let request = self.requests().remove(&span.into_u64());
            if request.is_some() {
                self.count.fetch_sub(1, Ordering::Relaxed);
            }
        }
        is_closed
    }

    fn current_span(&self) -> tracing_core::span::Current {
        self.inner.current_span()
    }

    unsafe fn downcast_raw(&self, id: TypeId) -> Option<*const ()> {
        if id == TypeId::of::<Self>() {
            return Some(std::ptr::from_ref(self).cast());
        }
        // SAFETY: the caller's promise is that of the inner subscriber's method.
        unsafe { self.inner.downcast_raw(id) }
    }
}

impl<S: fmt::Debug> fmt::Debug for Spans<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
