//! The point before an operation, at which a simulation lets another task run: if the future is dropped then, the report of an
//! explained run says so.
//!
//! The word of a [`Wait`] that is at its point has the address of a boxed [`Value`], which the wait owns, and a mark. So a wait has the
//! same size, and without the feature `sim` nothing of this is compiled.

use std::ptr;
use std::task::Poll;

use super::caller::Caller;
use super::object::Object;
use super::place::{Target, Value};
use super::wait::{AT_POINT, GIVEN_UP, Wait, WaitKind};
use super::{Origin, recorders, trace};
use crate::decisions;

impl Wait {
    /// A poll of the future's operation has ended, or of the point before it. If the poll is pending and the future does not wait, a
    /// simulation lets another task run before the operation begins: if the future is dropped then, the report says so.
    #[inline(always)]
    pub fn at_point<T>(&mut self, polled: Poll<T>, kind: WaitKind, object: &Object) -> Poll<T> {
        self.at_point_of(polled, kind, || Target::of(object), Caller::of_call)
    }

    /// Like [`at_point`](Self::at_point), but for a record that one caller after the other has, as
    /// [`begin_called`](Self::begin_called).
    #[inline(always)]
    pub fn at_point_called<T>(
        &mut self,
        polled: Poll<T>,
        kind: WaitKind,
        object: &Object,
    ) -> Poll<T> {
        if decisions::is_on() && polled.is_pending() && !self.waits() {
            self.end();
            self.word = ptr::null();
        }
        self.at_point(polled, kind, object)
    }

    /// Like [`at_point`](Self::at_point), but for an object that is only a number and a future whose callers are `.await`s, as
    /// [`begin_awaited`](Self::begin_awaited).
    #[inline(always)]
    pub fn at_point_awaited<T>(
        &mut self,
        polled: Poll<T>,
        kind: WaitKind,
        number: u64,
        caller: Caller,
    ) -> Poll<T> {
        let caller = || caller.of_await();
        self.at_point_of(polled, kind, || Target::Number(number), caller)
    }

    /// Like [`at_point`](Self::at_point), but for an object of which only the origin is known.
    #[inline(always)]
    pub fn at_point_made<T>(&mut self, polled: Poll<T>, kind: WaitKind, origin: Origin) -> Poll<T> {
        self.at_point_made_awaited(polled, kind, origin, Caller::UNKNOWN)
    }

    /// Like [`at_point_made`](Self::at_point_made), but for a future whose callers are `.await`s.
    #[inline(always)]
    pub fn at_point_made_awaited<T>(
        &mut self,
        polled: Poll<T>,
        kind: WaitKind,
        origin: Origin,
        caller: Caller,
    ) -> Poll<T> {
        let caller = || caller.of_await();
        self.at_point_of(polled, kind, || Target::Made(origin), caller)
    }

    /// `caller` returns the location if this does not have it.
    #[inline(always)]
    fn at_point_of<T>(
        &mut self,
        polled: Poll<T>,
        kind: WaitKind,
        target: impl FnOnce() -> Target,
        caller: impl FnOnce() -> Caller,
    ) -> Poll<T> {
        if decisions::is_on() {
            self.note_point(polled.is_pending(), kind, target, caller);
        }
        polled
    }

    #[inline(never)]
    fn note_point(
        &mut self,
        is_pending: bool,
        kind: WaitKind,
        target: impl FnOnce() -> Target,
        caller: impl FnOnce() -> Caller,
    ) {
        if !is_pending {
            return self.passes_point();
        }
        if self.waits() || self.value_at_point().is_some() || !recorders::traces() {
            return;
        }
        self.end();
        let value = Value {
            target: target(),
            ..Value::of(kind.0, Caller(self.caller().0.or_else(|| caller().0)))
        };
        let value: *const Value = Box::into_raw(Box::new(value));
        // SAFETY: a value has more bytes than that.
        self.word = unsafe { value.cast::<()>().byte_add(AT_POINT) };
    }

    /// Returns `true` if there is a record of a future that is not dropped.
    fn waits(&self) -> bool {
        let is_kept = |value: &Value| value.address != GIVEN_UP;
        self.place().is_some_and(|place| {
            // SAFETY: this wait owns the place, which has the record that `set` put there.
            unsafe { place.slot.read_own(is_kept) }.unwrap_or(false)
        })
    }

    /// Returns the value at the point of an operation. `None` elsewhere.
    #[inline(always)]
    pub(super) fn value_at_point(&self) -> Option<&Value> {
        if !decisions::IS_DECIDED || self.word.addr() & AT_POINT == 0 {
            return None;
        }
        // SAFETY: it is the address of a boxed value, which this owns, plus the mark.
        Some(unsafe { &*self.word.byte_sub(AT_POINT).cast() })
    }

    /// The operation begins, if the future was at its point.
    #[inline(always)]
    pub(super) fn passes_point(&mut self) {
        if self.value_at_point().is_some() {
            self.leave_point();
        }
    }

    /// Takes the value at the point of an operation. Only the location is left.
    #[cold]
    fn leave_point(&mut self) -> Option<Value> {
        let location = self.value_at_point()?.location;
        let left = std::mem::replace(&mut self.word, Self::new(Caller(location)).word);
        // SAFETY: it was the address of a boxed value, plus the mark. No other pointer has it.
        let value = unsafe { Box::from_raw(left.byte_sub(AT_POINT).cast_mut().cast::<Value>()) };
        Some(*value)
    }

    /// The future is dropped at the point of its operation.
    #[cold]
    fn dropped_at_point(&mut self) {
        if let Some(value) = self.leave_point().filter(|_| recorders::traces()) {
            trace::wait_ends(&value, true);
        }
    }

    /// The future is dropped. It does not wait, but its operation may be at its point.
    #[inline(always)]
    pub fn cancel_point(&mut self) {
        if self.value_at_point().is_some() {
            self.dropped_at_point();
        }
    }
}
