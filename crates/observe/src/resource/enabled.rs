//! Spans and events with the names, targets and fields of Tokio's.

use std::mem;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::OnceLock;
use std::task::Poll;
use std::time::Duration;

use tracing::{Span, trace, trace_span};

use super::Sort;

/// The span of a primitive, if it has one.
#[derive(Debug)]
pub struct Resource {
    span: Span,
    sort: Sort,
}

// A span is a number, and its subscriber does not depend on a value that a panic breaks.
impl UnwindSafe for Resource {}
impl RefUnwindSafe for Resource {}

/// Emits that a part of the state has a new value, or is more or less by one.
macro_rules! update {
    ($resource:ident, $field:ident = $value:expr, $op:literal) => {
        $resource.span.in_scope(|| {
            trace!(
                target: "runtime::resource::state_update",
                $field = $value,
                $field.op = $op,
            );
        })
    };
}

impl Resource {
    /// A resource without a span.
    pub const NONE: Self = Self {
        span: Span::none(),
        sort: Sort::Mpsc,
    };

    /// Creates the span. The caller's location is that of the primitive.
    #[track_caller]
    #[must_use]
    pub fn new(sort: Sort) -> Self {
        let (concrete_type, kind) = match sort {
            Sort::Mutex => ("Mutex", "Sync"),
            Sort::RwLock(_) => ("RwLock", "Sync"),
            Sort::Semaphore => ("Semaphore", "Sync"),
            Sort::Barrier => ("Barrier", "Sync"),
            Sort::Oneshot | Sort::Mpsc => ("Sender|Receiver", "Sync"),
            Sort::Sleep => ("Sleep", "timer"),
        };
        let location = Location::caller();
        let span = trace_span!(
            parent: None,
            "runtime.resource",
            concrete_type,
            kind,
            loc.file = location.file(),
            loc.line = location.line(),
            loc.col = location.column(),
        );
        Self { span, sort }
    }

    fn is_seen(&self) -> bool {
        !self.span.is_disabled()
    }

    /// Records that the primitive, which is new, has this many free permits.
    #[cold]
    pub fn has_permits(&self, n: usize) {
        if !self.is_seen() {
            return;
        }
        match self.sort {
            Sort::Mutex => update!(self, locked = false, "override"),
            Sort::RwLock(_) => {
                update!(self, max_readers = n, "override");
                update!(self, write_locked = false, "override");
                update!(self, current_readers = 0_u64, "override");
            }
            _ => update!(self, permits = n, "override"),
        }
    }

    /// Permits have been taken.
    #[inline]
    pub fn taken(&self, n: usize) {
        if self.is_seen() {
            self.note_taken(n);
        }
    }

    #[cold]
    fn note_taken(&self, n: usize) {
        match self.sort {
            Sort::Mutex => update!(self, locked = true, "override"),
            Sort::RwLock(all) if n == all => update!(self, write_locked = true, "override"),
            Sort::RwLock(_) => update!(self, current_readers = n, "add"),
            _ => update!(self, permits = n, "sub"),
        }
    }

    /// Permits come back.
    #[inline]
    pub fn given_back(&self, n: usize) {
        if self.is_seen() {
            self.note_given_back(n);
        }
    }

    #[cold]
    fn note_given_back(&self, n: usize) {
        match self.sort {
            Sort::Mutex => update!(self, locked = false, "override"),
            Sort::RwLock(1) => update!(self, write_locked = false, "override"),
            Sort::RwLock(_) if n == 1 => update!(self, current_readers = 1_u64, "sub"),
            Sort::RwLock(all) => {
                update!(self, write_locked = false, "override");
                // A writer that keeps one permit is a reader from now on.
                if n < all {
                    update!(self, current_readers = 1_u64, "add");
                }
            }
            _ => update!(self, permits = n, "add"),
        }
    }

    /// Records that this many tasks meet at the barrier.
    fn has_size(&self, n: usize) {
        if self.is_seen() {
            update!(self, size = n, "override");
            update!(self, arrived = 0_u64, "override");
        }
    }

    /// Records that this many tasks have arrived at the barrier.
    fn arrived(&self, n: usize) {
        if self.is_seen() {
            update!(self, arrived = n, "override");
        }
    }

    /// Records that the value has been taken out.
    #[cold]
    pub fn value_received(&self) {
        if self.is_seen() {
            update!(self, value_received = true, "override");
        }
    }

    /// Records that the timer ends after this time.
    #[cold]
    pub fn lasts(&self, duration: impl FnOnce() -> Duration) {
        if self.is_seen() {
            let duration = duration();
            self.span.in_scope(|| {
                trace!(
                    target: "runtime::resource::state_update",
                    duration = duration.as_millis() as u64,
                    duration.unit = "ms",
                    duration.op = "override",
                );
            });
        }
    }
}

/// A resource that exists from its first use on: that of a primitive whose only constructor is
/// `const`.
#[derive(Debug)]
pub struct Late(OnceLock<Resource>);

impl Late {
    /// Creates a value without a resource.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the resource, which gets the caller's location if it is new, and this size.
    #[track_caller]
    pub fn get(&self, sort: Sort, size: usize) -> &Resource {
        if let Some(resource) = self.0.get() {
            return resource;
        }
        let new = Resource::new(sort);
        new.has_size(size);
        self.0.get_or_init(|| new)
    }

    /// Records that this many tasks have arrived at the barrier.
    #[inline]
    pub fn arrived(&self, n: usize) {
        if let Some(resource) = self.0.get() {
            resource.arrived(n);
        }
    }
}

impl Default for Late {
    fn default() -> Self {
        Self::new()
    }
}

/// The spans of a future that waits for a resource, if that has one.
#[derive(Debug)]
pub struct Operation(Option<Box<Spans>>);

#[derive(Debug)]
struct Spans {
    resource: Span,
    operation: Span,
    poll: Span,
}

// As for `Resource`.
impl UnwindSafe for Operation {}
impl RefUnwindSafe for Operation {}

impl Operation {
    /// Creates the spans. `source` is the method that the future comes from.
    #[inline]
    #[must_use]
    pub fn new(resource: &Resource, source: &'static str) -> Self {
        Self(resource.is_seen().then(|| Spans::new(resource, source)))
    }

    /// Polls `owner`, a field of which is the operation, within the spans, and emits the result.
    #[inline]
    pub fn poll<O, R>(
        owner: &mut O,
        field: impl Fn(&mut O) -> &mut Self,
        name: &'static str,
        poll: impl FnOnce(&mut O) -> Poll<R>,
    ) -> Poll<R> {
        let operation = mem::replace(field(owner), Self(None));
        let polled = match &operation.0 {
            Some(spans) => spans.poll(name, || poll(owner)),
            None => poll(owner),
        };
        *field(owner) = operation;
        polled
    }
}

impl Spans {
    #[cold]
    fn new(resource: &Resource, source: &'static str) -> Box<Self> {
        let resource = resource.span.clone();
        let operation = resource.in_scope(|| {
            trace_span!(
                "runtime.resource.async_op",
                source,
                inherits_child_attrs = false
            )
        });
        let poll = operation.in_scope(|| trace_span!("runtime.resource.async_op.poll"));
        Box::new(Self {
            resource,
            operation,
            poll,
        })
    }

    fn poll<R>(&self, name: &'static str, poll: impl FnOnce() -> Poll<R>) -> Poll<R> {
        let _resource = self.resource.enter();
        let _operation = self.operation.enter();
        let _poll = self.poll.enter();
        let result = poll();
        trace!(
            target: "runtime::resource::poll_op",
            op_name = name,
            is_ready = result.is_ready(),
        );
        result
    }
}
