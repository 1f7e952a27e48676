//! `Parker`: one thread sleeps until another hands it a token.
//!
//! It is the parker of `blitz_io_core`, which argues that no token is lost, with two handles: one
//! parks, and the other unparks. A thread that parks spins for a while: a token that is
//! handed over to a running thread is two hundred times faster than one that has to wake it.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_core::deadline;
use blitz_io_core::spin::Spin;
use blitz_io_core::{debug_is_name, default_is_new};
use blitz_io_observe::named;
use blitz_io_observe::{Blocking, Caller, Kind, Object};

/// Blocks a thread until its [`Unparker`] hands it a token.
///
/// There is at most one token: unparking several times before a park counts as
/// once. A park that finds the token takes it and returns at once. All that was
/// done before an unpark is visible to the thread when the park that takes its
/// token returns.
///
/// Making one allocates, parking and unparking do not.
///
/// ```
/// use blitz_io::thread::Parker;
///
/// let parker = Parker::new();
/// let unparker = parker.unparker().clone();
/// std::thread::spawn(move || unparker.unpark());
/// parker.park();
/// ```
pub struct Parker {
    unparker: Unparker,
    object: Object,
    /// Keeps two threads from parking at once.
    _not_sync: PhantomData<Cell<()>>,
}

/// Hands a token to the thread of a [`Parker`].
#[derive(Clone)]
pub struct Unparker {
    inner: Arc<blitz_io_core::Parker>,
}

impl Parker {
    /// Creates a parker without a token.
    #[must_use]
    pub fn new() -> Self {
        let inner = Arc::default();
        Self {
            unparker: Unparker { inner },
            object: Object::new(),
            _not_sync: PhantomData,
        }
    }

    /// Waits for the token and takes it.
    #[inline]
    #[track_caller]
    pub fn park(&self) {
        if !self.take() {
            self.park_slow(None, Caller::here());
        }
    }

    /// Waits for the token no longer than `timeout`. Returns whether it came.
    ///
    /// ```
    /// use blitz_io::thread::Parker;
    /// use std::time::Duration;
    ///
    /// let parker = Parker::new();
    /// assert!(!parker.park_timeout(Duration::from_millis(1)));
    /// parker.unparker().unpark();
    /// assert!(parker.park_timeout(Duration::ZERO));
    /// ```
    #[track_caller]
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        self.take() || self.park_slow(deadline::after(timeout), Caller::here())
    }

    /// Waits for the token no longer than until `deadline`. Returns whether it came.
    #[track_caller]
    pub fn park_deadline(&self, deadline: Instant) -> bool {
        self.take() || self.park_slow(Some(deadline), Caller::here())
    }

    /// Returns a handle that wakes this parker's thread.
    #[inline]
    #[must_use]
    pub fn unparker(&self) -> &Unparker {
        &self.unparker
    }

    /// Takes a token. Returns `false` if there is none.
    #[inline]
    fn take(&self) -> bool {
        let inner = &*self.unparker.inner;
        inner.is_notified() && inner.take()
    }

    #[cold]
    fn park_slow(&self, deadline: Option<Instant>, caller: Caller) -> bool {
        if deadline::is_past(deadline) {
            return false;
        }
        if deadline::spin_until(Spin::EVENT, None, || self.take()) {
            return true;
        }
        let is_timed = deadline.is_some();
        let _waits = Blocking::new(Kind::ThreadParker, &self.object, caller, is_timed);
        self.unparker.inner.park(deadline)
    }
}

impl Unparker {
    /// Hands over the token, and wakes the thread if it waits for it.
    #[inline]
    pub fn unpark(&self) {
        self.inner.unpark();
    }
}

default_is_new!(Parker);

named!(Parker: object);

debug_is_name!(impl Parker);

debug_is_name!(impl Unparker);
