//! Records of waits: which thread or task waits for which object, and which one holds it.
//!
//! With the feature `inspect` these types record; without it they are empty types whose methods do
//! nothing, so a primitive needs no `cfg` and keeps its size. Nothing is recorded on a path that
//! does not wait, except the holder of a lock, which is one store. A task without a name gets its record
//! when it waits for the first time; before that, `Polled` says which thread polls it.
//!
//! - [`Object`]: a field of each primitive. Its facts (holders, name) are in a `Block` of memory
//!   that is never freed, so a reader needs no reference to the primitive.
//! - [`Wait`]: a field of each future that waits. It has a record while the future is pending.
//! - [`Blocking`]: announces on which object this thread may sleep; [`sleeping`] makes the record
//!   right before the futex is called.
//! - [`OwnPrimitive`]: a field of a primitive that a program builds on the futex.
//! - `WordWait`: the wait of a thread on a word of the program's, which has no object.
//! - [`Descriptor`]: a source of the operating system, which has no object: the reader asks the system
//!   for its description.
//! - [`Members`], [`OfScope`], [`ChildRecord`]: the children of a scope.
//! - [`About`]: what a closure on a thread for blocking work does.
//! - [`Caller`]: the location in the user's code.
//!
//! When a wait ends, its time is added to the `Totals` of its object.
//!
//! `blitz-io-inspect` reads all this with `read`, and judges it.

#[cfg(any(feature = "inspect", loom))]
mod kernel;

#[cfg(feature = "inspect")]
mod recording;
#[cfg(feature = "inspect")]
pub use {kernel::request::Request, recording::*};

#[cfg(not(feature = "inspect"))]
mod disabled;
#[cfg(not(feature = "inspect"))]
pub use disabled::{
    About, Acquirer, Acting, Beginner, Blocking, Caller, Calls, ChildRecord, ChildState,
    Descriptor, Entered, Kept, Members, NAMES, Object, OfScope, Origin, OwnPrimitive, Root,
    Sleeping, Wait, WaitKind, cache_time, cache_time_after_sleep, ends_with, forget_time,
    runs_tasks, serves_process, sleeping, trace,
};

mod fill;
mod foreign;
mod named;
mod scope_child;

pub use fill::{Fill, Filled};
pub use foreign::{is_future, number_of_future};
pub use named::Named;
pub use scope_child::{ScopeChild, id_of_child, number_of_child};

/// `true` if records are made.
pub const IS_ENABLED: bool = cfg!(feature = "inspect");

/// The parts of the kernel that the models use.
#[cfg(loom)]
pub use kernel::{
    counted_map::CountedMap,
    kind_list::{KindList, KindNode},
    poll_slot::{Poll, PollSlot},
    request::Request,
    ring::{Ring, WORDS, Words},
    slot::{Reader, Reading, Slot},
    switch::Switch,
};
