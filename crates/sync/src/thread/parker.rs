//! `Parker`: one thread sleeps until another hands it a token.
//!
//! # States
//!
//! `tokens` counts, in steps of [`TOKEN`], how often the parker has been
//! unparked; its lowest bit says that the thread is [`ASLEEP`], or about to be.
//! The parking thread remembers the count that it has `seen`. There is a token
//! when the two differ, however much: taking it means to remember the new count.
//!
//! So taking a token needs no atomic read-modify-write, only a load. The usual three states
//! (empty, parked, notified) need a swap. A plain store of "empty" would wipe out a token that
//! came between the look and the store, and the notification with it. A count can only go up. It
//! has 64 bits and never comes round.
//!
//! # Moves
//!
//! *Unpark* adds one to the count. If that shows `ASLEEP`, it clears the bit; the thread that
//! clears it wakes the parked one, so of many unparkers one makes the system call.
//!
//! *Park* looks at the count, then spins for a while (`spin/`): a token that is handed over to a
//! running thread is two hundred times faster than one that has to wake it. Then, if the count is
//! still the one it has seen, it sets `ASLEEP`, and sleeps until the bit is clear.
//!
//! # No wake-up is lost
//!
//! 1. Count and bit are one word. Setting the bit fails if a token has come. A token that comes
//!    later shows the bit to the unparker.
//! 2. The thread sleeps on another word, `sleep_word`, which the waker changes after it has
//!    cleared the bit.
//! 3. The thread reads `sleep_word` before it looks at the bit. So either it sees the bit clear,
//!    or it sleeps on a value that the waker is going to change.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{AtomicU32, AtomicU64, Ordering};
use blitz_io_futex::{WaitResult, wait_until, wake_one};

use blitz_io_core::deadline;
use blitz_io_core::spin::EventSpin;
use blitz_io_core::{debug_is_name, default_is_new};

/// The thread sleeps, or is about to.
const ASLEEP: u64 = 1;
/// One unpark.
const TOKEN: u64 = 2;

#[derive(Default)]
struct Inner {
    tokens: AtomicU64,
    sleep_word: AtomicU32,
}

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
    /// The count of tokens when the last one was taken.
    seen: Cell<u64>,
}

/// Hands a token to the thread of a [`Parker`].
#[derive(Clone)]
pub struct Unparker {
    inner: Arc<Inner>,
}

impl Parker {
    /// Creates a parker without a token.
    #[must_use]
    pub fn new() -> Self {
        let inner = Arc::default();
        Self {
            unparker: Unparker { inner },
            seen: Cell::new(0),
        }
    }

    /// Waits for the token and takes it.
    #[inline]
    pub fn park(&self) {
        if !self.take() {
            self.park_slow(None);
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
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        self.take() || self.park_slow(deadline::after(timeout))
    }

    /// Waits for the token no longer than until `deadline`. Returns whether it came.
    pub fn park_deadline(&self, deadline: Instant) -> bool {
        self.take() || self.park_slow(Some(deadline))
    }

    /// Returns a handle that wakes this parker's thread.
    #[inline]
    #[must_use]
    pub fn unparker(&self) -> &Unparker {
        &self.unparker
    }

    /// Takes a token. `false` if there is none.
    #[inline]
    fn take(&self) -> bool {
        let tokens = self.unparker.inner.tokens.load(Ordering::Acquire);
        tokens != self.seen.replace(tokens)
    }

    #[cold]
    fn park_slow(&self, deadline: Option<Instant>) -> bool {
        if deadline::is_past(deadline) {
            return false;
        }
        if deadline::spin_until(EventSpin::new(), None, || self.take()) {
            return true;
        }
        loop {
            let in_time = self.unparker.inner.sleep(self.seen.get(), deadline);
            if self.take() {
                return true;
            }
            // An unparker whose token was taken long ago may have woken this thread only now:
            // then the time is not up, and it sleeps again.
            if !in_time {
                return false;
            }
        }
    }
}

impl Inner {
    /// Sleeps while `tokens` has the value that the thread has `seen`. `false` when the deadline
    /// has passed.
    fn sleep(&self, seen: u64, deadline: Option<Instant>) -> bool {
        let asleep = seen | ASLEEP;
        let announced =
            self.tokens
                .compare_exchange(seen, asleep, Ordering::Relaxed, Ordering::Relaxed);
        if announced.is_err() {
            return true;
        }
        loop {
            let sleep_word = self.sleep_word.load(Ordering::Acquire);
            if self.tokens.load(Ordering::Relaxed) & ASLEEP == 0 {
                return true;
            }
            if wait_until(&self.sleep_word, sleep_word, deadline) == WaitResult::TimedOut {
                self.tokens.fetch_and(!ASLEEP, Ordering::Relaxed);
                return false;
            }
        }
    }

    #[cold]
    fn wake(&self) {
        let before = self.tokens.fetch_and(!ASLEEP, Ordering::AcqRel);
        if before & ASLEEP != 0 {
            self.sleep_word.fetch_add(1, Ordering::Release);
            wake_one(&self.sleep_word);
        }
    }
}

impl Unparker {
    /// Hands over the token, and wakes the thread if it waits for it.
    #[inline]
    pub fn unpark(&self) {
        let before = self.inner.tokens.fetch_add(TOKEN, Ordering::AcqRel);
        if before & ASLEEP != 0 {
            self.inner.wake();
        }
    }
}

default_is_new!(Parker);

debug_is_name!(Parker);

debug_is_name!(Unparker);
