//! Spans of primitives and of the operations on them, as Tokio emits them: tokio-console shows
//! them as resources with their state, and as the tasks that wait for them.
//!
//! With the feature `tracing` these types have spans; without it they are empty types whose
//! methods do nothing, so a primitive needs no `cfg` and keeps its size.
//!
//! - [`Resource`]: a field of each primitive. It has a span if it was made by a constructor that is
//!   not `const`, while a subscriber was installed.
//! - [`Late`]: the same for a primitive that has no other constructor than a `const` one.
//! - [`Operation`]: a field of each future that waits for one.
//! - [`TaskSpan`]: a field of each task, for the events of its wakers.
//!
//! A resource without a span emits nothing. So the primitives that a subscriber uses itself, which
//! are made before it is installed, do not call it.

#[cfg(not(feature = "tracing"))]
mod disabled;
#[cfg(feature = "tracing")]
mod enabled;
#[cfg(feature = "tracing")]
mod task_span;

#[cfg(not(feature = "tracing"))]
pub use disabled::{Late, Operation, Resource, TaskSpan};
#[cfg(feature = "tracing")]
pub use enabled::{Late, Operation, Resource};
#[cfg(feature = "tracing")]
pub use task_span::TaskSpan;

/// `true` if spans are made.
pub const IS_TRACED: bool = cfg!(feature = "tracing");

/// An event of a task's waker.
#[derive(Clone, Copy, Debug)]
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

/// The kind of a resource, with the state that it shows.
#[derive(Clone, Copy, Debug)]
pub enum Sort {
    /// `locked`.
    Mutex,
    /// `write_locked` and `current_readers`. It has this many permits.
    RwLock(usize),
    /// `permits`.
    Semaphore,
    /// `size` and `arrived`.
    Barrier,
    /// `value_received`.
    Oneshot,
    /// Shows no state.
    Mpsc,
    /// `duration`.
    Sleep,
}
