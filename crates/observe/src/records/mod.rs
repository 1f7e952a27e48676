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
//! - `WordWait`: the wait of a thread on a word of the program's, which has no object.
//! - [`Descriptor`]: a source of the operating system, which has no object: the reader asks the system
//!   for its description.
//! - [`About`]: what a closure on a thread for blocking work does.
//! - [`Caller`]: the location in the user's code.
//!
//! When a wait ends, its time is added to the `Totals` of its object.
//!
//! `blitz-io-inspect` reads all this with `read`, and judges it.

#[cfg(all(feature = "inspect", not(loom)))]
mod about;
#[cfg(all(feature = "inspect", not(loom)))]
mod block;
#[cfg(all(feature = "inspect", not(loom)))]
mod brief;
#[cfg(all(feature = "inspect", not(loom)))]
mod clock;
#[cfg(all(feature = "inspect", not(loom)))]
mod current;
#[cfg(all(feature = "inspect", not(loom)))]
mod descriptor;
#[cfg(not(all(feature = "inspect", not(loom))))]
mod disabled;
#[cfg(all(feature = "inspect", not(loom)))]
mod errand;
#[cfg(all(feature = "inspect", not(loom)))]
mod kept;
#[cfg(any(feature = "inspect", loom))]
mod kind_list;
#[cfg(all(feature = "inspect", not(loom)))]
mod lint;
#[cfg(all(feature = "inspect", not(loom)))]
mod local;
#[cfg(all(feature = "inspect", not(loom)))]
mod locked;
#[cfg(all(feature = "inspect", not(loom)))]
mod object;
#[cfg(all(feature = "inspect", not(loom)))]
mod origin;
#[cfg(all(feature = "inspect", not(loom)))]
mod place;
#[cfg(any(feature = "inspect", loom))]
mod poll_slot;
#[cfg(all(feature = "inspect", not(loom)))]
mod polled;
#[cfg(all(feature = "inspect", not(loom)))]
mod registry;
#[cfg(any(feature = "inspect", loom))]
mod request;
#[cfg(all(feature = "inspect", not(loom)))]
mod root;
#[cfg(any(feature = "inspect", loom))]
mod slot;
#[cfg(all(feature = "inspect", not(loom)))]
mod threads;
#[cfg(all(feature = "inspect", not(loom)))]
mod totals;
#[cfg(all(feature = "inspect", not(loom)))]
mod wait;
#[cfg(all(feature = "inspect", not(loom)))]
mod waiter;
#[cfg(all(feature = "inspect", not(loom)))]
mod word_wait;
#[cfg(all(feature = "inspect", not(loom)))]
mod worker;

mod fill;
mod named;

use crate::Kind;

/// `true` if records are made.
pub const IS_ENABLED: bool = cfg!(all(feature = "inspect", not(loom)));

pub use fill::{Fill, Filled};
pub use named::Named;

#[cfg(all(feature = "inspect", not(loom)))]
pub use {
    about::{About, AboutRef},
    block::{Block, Facts, NAMES, ObjectRecord},
    brief::Brief,
    clock::{keep_time, now},
    current::Entered,
    descriptor::{Descriptor, Source},
    errand::run_in_sleeping_thread,
    kept::Kept,
    object::Object,
    origin::Origin,
    place::{TaskFacts, TaskState},
    registry::{Record, TaskRecord, for_each_object, read, read_chosen},
    request::Request,
    root::Root,
    threads::{ThreadRecord, runs_tasks},
    totals::{Contention, WAIT_BUCKETS},
    wait::{Blocking, Caller, Sleeping, Wait, WaitKind, sleeping},
    waiter::Waiter,
    word_wait::WordWait,
    worker::{cache_time, forget_time},
};

#[cfg(not(all(feature = "inspect", not(loom))))]
pub use disabled::{
    About, Blocking, Caller, Descriptor, Kept, NAMES, Object, Origin, Root, Sleeping, Wait,
    WaitKind, cache_time, forget_time, runs_tasks, sleeping,
};

#[cfg(loom)]
pub use kind_list::{KindList, KindNode};
#[cfg(loom)]
pub use poll_slot::{Poll, PollSlot};
#[cfg(loom)]
pub use request::Request;
#[cfg(loom)]
pub use slot::{Reader, Reading, Slot};
