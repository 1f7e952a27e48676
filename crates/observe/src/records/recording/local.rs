//! `Local`: what a thread keeps for its records. It is one value, so that a wait, which needs most of
//! it, computes one address.

use std::cell::Cell;
use std::panic::Location;

use super::place::Place;
use super::polled::{self, Polled};
use super::trace::Delays;
use crate::records::kernel::poll_slot::NOT_OWNED;
use crate::records::kernel::ring::Ring;

/// A thread keeps at most this many free places.
pub(super) const KEPT: usize = 128;

/// The state of a thread that its records need; see the module documentation.
pub(super) struct Local {
    /// The `Polled` of this thread, which is never freed.
    pub(super) polled: Cell<*const Polled>,
    /// The current word of `polled`, for locks and channels, which need nothing else of it.
    pub(super) current: Cell<u64>,
    /// The nanoseconds when this worker looked at the clock last; 0 if this thread is no worker.
    pub(super) cached_time: Cell<u64>,
    /// The number of the next wait; 0 before the first one.
    pub(super) next_id: Cell<u64>,
    /// The first free place of this thread.
    pub(super) first_place: Cell<Option<&'static Place>>,
    /// Number of these free places. [`KEPT`] until the thread has had one, and when the thread is about to
    /// end.
    pub(super) places: Cell<usize>,
    /// The ring of the recorder `trace`; `None` before the first event, and when the thread is about to end.
    pub(super) ring: Cell<Option<&'static Ring>>,
    /// The source of the wakers that the thread calls, for the recorder `trace`; 0 for the program itself.
    pub(super) waking: Cell<u8>,
    /// The readings of the system's counter of delays, for the recorder `trace`.
    pub(super) delays: Delays,
    /// The location at which the thread has called a method of a source of the operating system.
    pub(super) caller: Cell<Option<&'static Location<'static>>>,
}

thread_local! {
    pub(super) static LOCAL: Local = const {
        Local {
            polled: Cell::new(&raw const polled::NONE),
            current: Cell::new(NOT_OWNED),
            cached_time: Cell::new(0),
            next_id: Cell::new(0),
            first_place: Cell::new(None),
            places: Cell::new(KEPT),
            ring: Cell::new(None),
            waking: Cell::new(0),
            delays: Delays::new(),
            caller: Cell::new(None),
        }
    };
}
