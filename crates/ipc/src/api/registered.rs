//! `Registered`: an end, as reports know it.
//!
//! With the feature `inspect`, an end is registered from when it joins until it leaves. A reader, which
//! may be any thread, then reads from the shared memory which participants can end a wait of this end.
//! Without the feature nothing is registered.

#[cfg(unix)]
use std::task::Waker;

#[cfg(unix)]
use blitz_io_observe::{Acquirer, Wait, WaitKind};
use blitz_io_observe::{Blocking, Caller, Kind, Object};

use crate::api::segment::Segment;
use end::{RegisteredEnd, register};

#[cfg_attr(not(feature = "inspect"), path = "registered/disabled.rs")]
mod end;

/// The registration of an end for reports. Without the feature `inspect` it holds the object only.
pub(crate) struct Registered {
    object: Object,
    end: RegisteredEnd,
}

impl Registered {
    /// Registers participant `me` of `segment`.
    ///
    /// # Safety
    ///
    /// The mapping of `segment` outlives the result.
    pub(crate) unsafe fn new(segment: &Segment, me: usize) -> Self {
        let object = Object::new();
        // SAFETY: the caller's promise.
        let end = unsafe { register(segment, me, &object) };
        Self { object, end }
    }

    /// Notes that the current thread or task uses the end.
    #[inline]
    pub(crate) fn used(&self) {
        self.end.used();
    }

    /// Notes that the task or future uses the end.
    #[cfg(unix)]
    #[inline]
    pub(crate) fn used_by(&self, by: Acquirer) {
        self.end.used_by(by);
    }

    /// Announces that this thread may sleep for the end.
    pub(crate) fn block(&self, kind: Kind, caller: Caller, is_timed: bool) -> Blocking {
        self.used();
        Blocking::new(kind, &self.object, caller, is_timed)
    }

    /// Records that the current task waits for the end.
    #[cfg(unix)]
    pub(crate) fn note(&self, record: &mut Wait, kind: Kind, waker: &Waker) {
        self.used_by(Acquirer::polled_with(waker));
        record.begin(WaitKind::new(kind), &self.object, waker);
    }
}
