//! Wait for something to be signalled.
//!
//! The two kinds of event are two algorithms: [`manual`] and [`auto`], with the
//! account of each at the head of its file. This file holds the type over both.

mod auto;
mod manual;

use blitz_io_core::deadline;
use blitz_io_core::{const_unless_loom, debug_fields};
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_observe::named;
use blitz_io_observe::{Blocking, Caller, Kind, Object};
use std::time::{Duration, Instant};

/// A flag that threads can wait for: an *event* of Windows and .NET.
///
/// An event is set or not. The effect of [`set`](Event::set) depends on the kind:
///
/// | | manual reset | automatic reset |
/// |---|---|---|
/// | like | a gate | a turnstile |
/// | `set` while threads wait | releases all of them; the event stays set | releases exactly one of them; the event stays unset |
/// | `set` while no thread waits | stays set, and lets all threads through, until `reset` | stays set until one thread has come through |
/// | `set` of a set event | does nothing | does nothing: sets are not counted |
/// | `reset` | unsets it; threads that a `set` has released stay released | unsets it; a thread that a `set` has released stays released |
///
/// The names elsewhere: `CreateEvent` with `bManualReset`,
/// `ManualResetEvent(Slim)` and `AutoResetEvent` of .NET, and the types of those
/// names in `rsevents`.
///
/// A thread that a `set` lets through sees the work that the setter did before the call. So does
/// a thread that resets the event afterwards. This holds for a `set` of a set event, too. So a
/// consumer may wait for an automatic event (or wait and reset a manual one), then take whatever
/// there is, and will miss nothing.
///
/// An event that no thread sleeps on is set without entering the kernel. It
/// allocates nothing.
///
/// # Examples
///
/// ```
/// use blitz_io::thread::Event;
///
/// let start = Event::new_manual(false);
/// std::thread::scope(|s| {
///     for _ in 0..3 {
///         s.spawn(|| start.wait());
///     }
///     start.set();
/// });
/// ```
pub struct Event {
    word: AtomicU32,
    is_auto: bool,
    object: Object,
}

/// The bit of the word that says that the event is set.
const SET: u32 = 1;

impl Event {
    const_unless_loom! {
        /// Creates an event with manual reset: once set, it lets all threads through until it is
        /// reset.
        ///
        /// # Examples
        ///
        /// ```
        /// use blitz_io::thread::Event;
        ///
        /// static STOP: Event = Event::new_manual(false);
        ///
        /// STOP.set();
        /// STOP.wait();
        /// STOP.wait();
        /// STOP.reset();
        /// assert!(!STOP.is_set());
        /// ```
        #[inline]
        #[must_use]
        pub const fn new_manual(initially_set: bool) -> Self {
            Self { word: AtomicU32::new(if initially_set { SET } else { 0 }), is_auto: false, object: Object::new() }
        }
    }

    const_unless_loom! {
        /// Creates an event with automatic reset: each set lets one thread through.
        ///
        /// # Examples
        ///
        /// ```
        /// use blitz_io::thread::Event;
        ///
        /// static WORK: Event = Event::new_auto(false);
        ///
        /// WORK.set();
        /// WORK.wait();
        /// assert!(!WORK.is_set());
        /// ```
        #[inline]
        #[must_use]
        pub const fn new_auto(initially_set: bool) -> Self {
            Self { word: AtomicU32::new(if initially_set { SET } else { 0 }), is_auto: true, object: Object::new() }
        }
    }

    /// Sets the event. Never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Event;
    ///
    /// let event = Event::new_auto(false);
    /// event.set();
    /// event.set(); // no effect: it is set
    /// assert!(event.try_wait());
    /// assert!(!event.try_wait());
    /// ```
    #[inline]
    pub fn set(&self) {
        if self.is_auto {
            auto::set(&self.word);
        } else {
            manual::set(&self.word);
        }
    }

    /// Unsets the event. Threads that were released before are not called back.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Event;
    ///
    /// let event = Event::new_auto(true);
    /// event.reset();
    /// assert!(!event.try_wait());
    /// ```
    #[inline]
    pub fn reset(&self) {
        if self.is_auto {
            auto::reset(&self.word);
        } else {
            manual::reset(&self.word);
        }
    }

    /// Returns whether the event is set. Looks only, and unsets nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Event;
    ///
    /// let event = Event::new_auto(true);
    /// assert!(event.is_set());
    /// assert!(event.is_set());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.word.load(Ordering::Acquire) & SET != 0
    }

    /// Goes through if the event is set, as [`wait`](Event::wait) would, and
    /// returns whether it was. Never waits.
    ///
    /// An event with automatic reset is unset by this.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Event;
    ///
    /// let event = Event::new_auto(true);
    /// assert!(event.try_wait());
    /// assert!(!event.try_wait());
    /// ```
    #[inline]
    #[must_use = "an event with automatic reset may have been unset by this"]
    pub fn try_wait(&self) -> bool {
        if self.is_auto {
            auto::try_wait(&self.word)
        } else {
            self.is_set()
        }
    }

    /// Waits until the event is set.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Event;
    ///
    /// let event = Event::new_auto(false);
    /// std::thread::scope(|s| {
    ///     s.spawn(|| event.wait());
    ///     event.set();
    /// });
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait(&self) {
        self.wait_for_set(None);
    }

    /// Waits until the event is set, for no longer than `timeout`. Returns
    /// whether it was.
    ///
    /// `false` means that no `set` was spent on this thread. A `set` that comes at the very
    /// moment of the timeout either makes this `true` or is left for another thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Event;
    /// use std::time::Duration;
    ///
    /// assert!(!Event::new_manual(false).wait_timeout(Duration::from_millis(1)));
    /// ```
    #[inline]
    #[track_caller]
    #[must_use = "the time may be up with the event unset"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.try_wait() || self.wait_for_set(deadline::after(timeout))
    }

    /// Waits until the event is set, for no longer than until `deadline`.
    /// Returns whether it was, as [`wait_timeout`](Event::wait_timeout) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Event;
    /// use std::time::Instant;
    ///
    /// assert!(Event::new_manual(true).wait_deadline(Instant::now()));
    /// ```
    #[inline]
    #[track_caller]
    #[must_use = "the time may be up with the event unset"]
    #[doc(alias = "wait_until")]
    pub fn wait_deadline(&self, deadline: Instant) -> bool {
        self.wait_for_set(Some(deadline))
    }

    /// Returns the number of announced waiters, as far as the algorithm knows. For models that need a
    /// waiter in the queue.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn announced(&self) -> u32 {
        let word = self.word.load(Ordering::Relaxed);
        if self.is_auto {
            auto::waiting(word)
        } else {
            u32::from(word & manual::SLEEPERS != 0)
        }
    }

    #[inline]
    #[track_caller]
    fn wait_for_set(&self, deadline: Option<Instant>) -> bool {
        self.try_wait() || self.wait_slow(deadline, Caller::here())
    }

    #[cold]
    fn wait_slow(&self, deadline: Option<Instant>, caller: Caller) -> bool {
        let _waits = Blocking::new(Kind::ThreadEvent, &self.object, caller, deadline.is_some());
        if self.is_auto {
            auto::wait(&self.word, deadline)
        } else {
            manual::wait(&self.word, deadline)
        }
    }
}

named!(Event: object);

debug_fields! {
    impl Event, |this| {
        reset: format_args!("{}", if this.is_auto { "automatic" } else { "manual" }),
        is_set: this.is_set(),
    }
}
