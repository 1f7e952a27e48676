//! The same names without the feature `tracing`: empty types that do nothing.

use std::task::Poll;
use std::time::Duration;

use super::Sort;

/// See `enabled.rs`.
#[derive(Debug)]
pub struct Resource;

impl Resource {
    /// The empty resource.
    pub const NONE: Self = Self;

    /// Returns the empty resource.
    #[inline(always)]
    pub fn new(_sort: Sort) -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    pub fn has_permits(&self, _n: usize) {}

    /// Does nothing.
    #[inline(always)]
    pub fn taken(&self, _n: usize) {}

    /// Does nothing.
    #[inline(always)]
    pub fn given_back(&self, _n: usize) {}

    /// Does nothing.
    #[inline(always)]
    pub fn value_received(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn lasts(&self, _duration: impl FnOnce() -> Duration) {}
}

/// See `enabled.rs`.
#[derive(Default, Debug)]
pub struct Late;

impl Late {
    /// Returns the empty resource.
    #[inline(always)]
    #[allow(clippy::new_without_default, reason = "it is derived")]
    pub const fn new() -> Self {
        Self
    }

    /// Returns the empty resource.
    #[inline(always)]
    pub fn get(&self, _sort: Sort, _size: usize) -> &Resource {
        &Resource
    }

    /// Does nothing.
    #[inline(always)]
    pub fn arrived(&self, _n: usize) {}
}

/// See `enabled.rs`.
#[derive(Debug)]
pub struct Operation;

impl Operation {
    /// Returns the empty operation.
    #[inline(always)]
    pub fn new(_resource: &Resource, _source: &'static str) -> Self {
        Self
    }

    /// Polls `owner`.
    #[inline(always)]
    pub fn poll<O, R>(
        owner: &mut O,
        _field: impl Fn(&mut O) -> &mut Self,
        _name: &'static str,
        poll: impl FnOnce(&mut O) -> Poll<R>,
    ) -> Poll<R> {
        poll(owner)
    }
}

/// The span of a task; see `task_span.rs`.
pub struct TaskSpan;

impl TaskSpan {
    /// Creates an empty value.
    #[allow(
        clippy::new_without_default,
        reason = "not part of the public interface"
    )]
    pub const fn new() -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    pub fn emit(&self, _event: super::WakerEvent) {}
}

/// A field of these types changes no other type's size, alignment or need of a destructor.
const _: () = {
    use std::mem::{align_of, needs_drop, size_of};

    macro_rules! is_nothing {
        ($($name:ty)*) => {
            $(assert!(size_of::<$name>() == 0 && align_of::<$name>() == 1 && !needs_drop::<$name>());)*
        };
    }
    is_nothing!(Resource Late Operation TaskSpan);
};
