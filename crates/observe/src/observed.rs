//! `Observed`, the one field of a primitive, and `Waiting`, that of a future which waits for it. Both
//! join what each back end has, and are nothing without features.

use std::task::{Poll, Waker};
use std::time::Instant;

use crate::{Blocking, Caller, Kind, Object, Operation, Resource, Sort, Wait, WaitKind};

/// What back ends know about a primitive.
#[derive(Debug)]
pub struct Observed {
    /// Its holders and its name, for reports.
    pub object: Object,
    /// Its span.
    pub resource: Resource,
    made_at: Caller,
}

impl Observed {
    /// Creates the field of a primitive that a `const` function makes: without a location and a span.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self::of(Resource::NONE, Caller::UNKNOWN)
    }

    /// Creates the field of a primitive without a span. The caller's location is that of the primitive.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn here() -> Self {
        let this = Self::of(Resource::NONE, Caller::here());
        this.object.made_here();
        this.object.created_at(this.made_at);
        this
    }

    /// Creates the field of a primitive. The caller's location is that of the primitive.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn with_span(sort: Sort) -> Self {
        let this = Self::of(Resource::new(sort), Caller::here());
        this.object.made_here();
        this.object.created_at(this.made_at);
        this
    }

    /// Adds a span and a location to the field of a primitive that a `const` function has made.
    #[inline]
    #[track_caller]
    pub fn add_span(&mut self, sort: Sort) {
        self.resource = Resource::new(sort);
        self.made_at = Caller::here();
        self.object.is_made();
    }

    #[inline(always)]
    const fn of(resource: Resource, made_at: Caller) -> Self {
        Self {
            object: Object::new(),
            resource,
            made_at,
        }
    }

    /// Creates the field of a future that waits for this. Its wait begins with [`Waiting::begin_called`], which knows the location.
    #[inline(always)]
    #[must_use]
    pub fn waiting(&self, source: &'static str) -> Waiting {
        Waiting::new(Caller::UNKNOWN, &self.resource, source)
    }

    /// Announces that this thread may sleep for this, in a method that has called [`Caller::calls`].
    #[inline(always)]
    #[must_use]
    pub fn block(&self, kind: Kind, is_timed: bool) -> Blocking {
        Blocking::new(kind, &self.object, Caller::of_call(), is_timed)
    }

    /// Returns the location of the primitive.
    #[inline(always)]
    #[must_use]
    pub const fn made_at(&self) -> Caller {
        self.made_at
    }
}

impl Default for Observed {
    #[inline(always)]
    fn default() -> Self {
        Self::new()
    }
}

/// What back ends know about a future that waits.
#[derive(Debug)]
pub struct Waiting {
    record: Wait,
    operation: Operation,
}

impl Waiting {
    /// Creates the field. `source` is the method that the future comes from.
    #[inline(always)]
    #[must_use]
    pub fn new(caller: Caller, resource: &Resource, source: &'static str) -> Self {
        Self {
            record: Wait::new(caller),
            operation: Operation::new(resource, source),
        }
    }

    /// The future waits for the object, and has kept one clone of `waker`.
    #[inline(always)]
    pub fn begin(&mut self, kind: WaitKind, object: &Object, waker: &Waker) {
        self.record.begin(kind, object, waker);
    }

    /// Like [`begin`](Self::begin). The location is that of the method that polls (`CalledAt`).
    #[inline(always)]
    pub fn begin_called(&mut self, kind: WaitKind, object: &Object, waker: &Waker) {
        self.record.begin_called(kind, object, waker);
    }

    /// Like [`begin`](Self::begin), but for an object that is only a number: a task, or none.
    #[inline(always)]
    pub fn begin_with(&mut self, kind: WaitKind, number: u64, waker: &Waker) {
        self.record.begin_with(kind, number, waker);
    }

    /// Like [`begin`](Self::begin), but for a wait that lasts until a deadline.
    #[inline(always)]
    pub fn begin_until(&mut self, kind: WaitKind, deadline: Instant, waker: &Waker) {
        self.record.begin_until(kind, deadline, waker);
    }

    /// A poll of the future's operation has ended, or of the point before it. See [`Wait::at_point`].
    #[inline(always)]
    pub fn at_point<R>(&mut self, polled: Poll<R>, kind: WaitKind, object: &Object) -> Poll<R> {
        self.record.at_point(polled, kind, object)
    }

    /// Like [`at_point`](Self::at_point), but for a record that one caller after the other has.
    #[inline(always)]
    pub fn at_point_called<R>(
        &mut self,
        polled: Poll<R>,
        kind: WaitKind,
        object: &Object,
    ) -> Poll<R> {
        self.record.at_point_called(polled, kind, object)
    }

    /// Returns `true` if the future waits.
    #[inline(always)]
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.record.is_recorded()
    }

    /// The future waits no more.
    #[inline(always)]
    pub fn end(&mut self) {
        self.record.end();
    }

    /// A future that waits by this record of its object is dropped.
    #[inline(always)]
    pub fn future_dropped(&mut self) {
        self.record.future_dropped();
    }

    /// Returns the location.
    #[inline(always)]
    #[must_use]
    pub fn caller(&self) -> Caller {
        self.record.caller()
    }

    /// Polls `owner`, a field of which this is, as the operation with this name.
    #[inline(always)]
    pub fn poll<O, R>(
        owner: &mut O,
        field: impl Fn(&mut O) -> &mut Self,
        name: &'static str,
        poll: impl FnOnce(&mut O) -> Poll<R>,
    ) -> Poll<R> {
        Operation::poll(owner, |owner| &mut field(owner).operation, name, poll)
    }
}

/// Without features, a field of these types changes no other type's size, alignment or need of a destructor.
const _: () = {
    use std::mem::{align_of, needs_drop, size_of};

    macro_rules! is_nothing {
        ($($name:ty)*) => {
            $(assert!(size_of::<$name>() == 0 && align_of::<$name>() == 1 && !needs_drop::<$name>());)*
        };
    }
    if !crate::IS_ENABLED && !crate::IS_TRACED {
        is_nothing!(Waiting);
        if !crate::decisions::IS_DECIDED {
            is_nothing!(Observed);
        }
    }
};
