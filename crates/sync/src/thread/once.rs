//! Run something once.
//!
//! # The algorithm
//!
//! A [`Once`] is one futex word: `NEW`, `RUNNING`, `POISONED` or `DONE`, and the bit `SLEEPERS`.
//!
//! | from | to | by |
//! |---|---|---|
//! | `NEW`, `POISONED` | `RUNNING` | a thread that wants to initialise: it has *claimed* the word. `SLEEPERS` stays as it is |
//! | `RUNNING` | `DONE` | the claimant, with `SLEEPERS` cleared |
//! | `RUNNING` | `POISONED` | the claimant, when its closure unwinds or gives up, with `SLEEPERS` cleared |
//! | any but `DONE` | the same with `SLEEPERS` | a thread that is about to sleep |
//!
//! # Why no wake-up is lost
//!
//! 1. A thread sleeps while the word equals a value that has `SLEEPERS` set.
//! 2. Each transition is one read-modify-write of the word. The claimant's last one may return
//!    a word with `SLEEPERS`: then the claimant wakes all threads. If it returns a word without, then
//!    a thread that sets the bit afterwards finds another state and looks again.
//! 3. The outcome differs from the value on which a thread sleeps. So a thread that has not
//!    fallen asleep before the wake-up does not fall asleep.
//! 4. A thread that only waits ([`Once::wait`]) may sleep while the state is `NEW` or `POISONED`.
//!    A claim keeps `SLEEPERS`, so the claimant's outcome wakes that thread.
//!
//! # Recursion
//!
//! A closure that waits for its own `Once` would sleep forever, so it panics instead. A thread
//! knows which of its own closures are running ([`scopes`]), and looks only when it is about
//! to wait. A closure that runs in a waiting fiber of the thread cannot continue while the
//! thread sleeps: so another fiber waits for it by suspending, and other code panics.
//!
//! The states are those of `std::sync::Once`.

use super::fiber_waits;
use blitz_io_core::spin::Spin;
use blitz_io_core::{const_unless_loom, debug_fields, default_is_new};
use blitz_io_core::{deadline, scopes};
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{WaitResult, wait_deadline, wake_all};
use blitz_io_observe::named;
use blitz_io_observe::{self as observe, Blocking, Caller, Kind, Object};
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

const NEW: u32 = 0;
const RUNNING: u32 = 1;
const POISONED: u32 = 2;
const DONE: u32 = 3;
/// Threads sleep, or are about to.
const SLEEPERS: u32 = 4;

/// A one-time initialisation.
///
/// The closure of the first [`call_once`](Once::call_once) runs; all later ones
/// do not. Threads that come while it runs wait for it. When it panics, the
/// `Once` is *poisoned*: later calls panic too, except for
/// [`call_once_force`](Once::call_once_force), which tries again.
///
/// This is the interface of `parking_lot::Once` together with that of
/// `std::sync::Once`. The two disagree in one place:
/// [`call_once_force`](Once::call_once_force) hands the state to the closure by
/// value, as `parking_lot` does, where the standard library hands out a
/// reference. Closures that leave out the parameter's type compile either way.
///
/// A finished `Once` is recognised by one load. It is four bytes large.
///
/// # Examples
///
/// ```
/// use blitz_io::thread::Once;
///
/// static START: Once = Once::new();
///
/// START.call_once(|| println!("once"));
/// START.call_once(|| println!("never"));
/// assert!(START.is_completed());
/// ```
pub struct Once {
    word: AtomicU32,
    pub(super) object: Object,
}

/// The state of a [`Once`].
///
/// # Examples
///
/// ```
/// use blitz_io::thread::{Once, OnceState};
///
/// let once = Once::new();
/// assert_eq!(once.state(), OnceState::New);
/// once.call_once(|| assert_eq!(once.state(), OnceState::InProgress));
/// assert_eq!(once.state(), OnceState::Done);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnceState {
    /// No closure has run yet.
    New,
    /// The last closure that ran has panicked.
    Poisoned,
    /// A closure is running.
    InProgress,
    /// A closure has finished.
    Done,
}

impl OnceState {
    /// Returns whether the last closure panicked. `parking_lot`'s name.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    ///
    /// assert!(!Once::new().state().poisoned());
    /// ```
    #[inline]
    #[must_use]
    pub fn poisoned(self) -> bool {
        self == Self::Poisoned
    }

    /// Returns whether the last closure panicked. The standard library's name.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    ///
    /// let once = Once::new();
    /// once.call_once_force(|state| assert!(!state.is_poisoned()));
    /// ```
    #[inline]
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned()
    }

    /// Returns whether a closure has finished.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    ///
    /// let once = Once::new();
    /// once.call_once(|| ());
    /// assert!(once.state().done());
    /// ```
    #[inline]
    #[must_use]
    pub fn done(self) -> bool {
        self == Self::Done
    }

    fn of(word: u32) -> Self {
        match word & !SLEEPERS {
            NEW => Self::New,
            RUNNING => Self::InProgress,
            POISONED => Self::Poisoned,
            _ => Self::Done,
        }
    }
}

impl Once {
    const_unless_loom! {
        /// Creates a `Once` that has not run.
        ///
        /// # Examples
        ///
        /// ```
        /// use blitz_io::thread::Once;
        ///
        /// static START: Once = Once::new();
        /// assert!(!START.is_completed());
        /// ```
        #[inline]
        #[must_use]
        pub const fn new() -> Self {
            Self { word: AtomicU32::new(NEW), object: Object::new() }
        }
    }

    /// Runs `f`, unless a closure has run already.
    ///
    /// When this returns, some closure has finished, and its writes are visible here.
    ///
    /// # Panics
    ///
    /// When `f` panics (which poisons the `Once`) and when the `Once` is poisoned. Also when it is
    /// called from within its own closure, or by a task while a fiber of this thread waits in that
    /// closure: the wait would never end.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    ///
    /// let once = Once::new();
    /// let mut runs = 0;
    /// once.call_once(|| runs += 1);
    /// once.call_once(|| runs += 1);
    /// assert_eq!(runs, 1);
    /// ```
    #[inline]
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        if !self.is_completed() {
            let mut f = Some(f);
            self.initialise(OnPoison::Panic, &mut |_| run(&mut f, |f| f()));
        }
    }

    /// Runs `f`, unless a closure has *finished* already: a poisoned `Once` gets
    /// another chance.
    ///
    /// `f` gets the state that this call found, which shows whether a closure failed before.
    ///
    /// # Panics
    ///
    /// When `f` panics (which poisons the `Once`), and when it is called from
    /// within its own closure.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    /// use std::panic::catch_unwind;
    ///
    /// static START: Once = Once::new();
    ///
    /// catch_unwind(|| START.call_once(|| panic!("on purpose"))).unwrap_err();
    /// catch_unwind(|| START.call_once(|| ())).unwrap_err();
    /// START.call_once_force(|state| assert!(state.is_poisoned()));
    /// START.call_once(|| unreachable!());
    /// ```
    #[inline]
    #[track_caller]
    pub fn call_once_force<F: FnOnce(OnceState)>(&self, f: F) {
        if !self.is_completed() {
            let mut f = Some(f);
            self.initialise(OnPoison::Retry, &mut |state| run(&mut f, |f| f(state)));
        }
    }

    /// Returns whether a closure has finished. If so, its writes are visible here.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    ///
    /// let once = Once::new();
    /// once.call_once(|| assert!(!once.is_completed()));
    /// assert!(once.is_completed());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.word.load(Ordering::Acquire) == DONE
    }

    /// Returns the state of this `Once`, which may have changed by the time the caller looks
    /// at the answer.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::{Once, OnceState};
    ///
    /// assert_eq!(Once::new().state(), OnceState::New);
    /// ```
    #[inline]
    #[must_use]
    pub fn state(&self) -> OnceState {
        OnceState::of(self.word.load(Ordering::Acquire))
    }

    /// Waits until a closure has finished. It runs none itself.
    ///
    /// # Panics
    ///
    /// When the `Once` is or becomes poisoned, and when it is called from within
    /// its own closure.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    ///
    /// let ready = Once::new();
    /// std::thread::scope(|s| {
    ///     s.spawn(|| ready.wait());
    ///     ready.call_once(|| ());
    /// });
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait(&self) {
        if !self.is_completed() {
            self.wait_for_outcome(OnPoison::Panic, None);
        }
    }

    /// Waits until a closure has finished, through any number of panics.
    ///
    /// # Panics
    ///
    /// When it is called from within its own closure.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    /// use std::panic::catch_unwind;
    ///
    /// static READY: Once = Once::new();
    ///
    /// std::thread::scope(|s| {
    ///     s.spawn(|| READY.wait_force());
    ///     catch_unwind(|| READY.call_once(|| panic!("not yet"))).unwrap_err();
    ///     READY.call_once_force(|_| ());
    /// });
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait_force(&self) {
        if !self.is_completed() {
            self.wait_for_outcome(OnPoison::Retry, None);
        }
    }

    /// Waits until a closure has finished, for no longer than `timeout`.
    /// Returns whether one has.
    ///
    /// # Panics
    ///
    /// When the `Once` is or becomes poisoned.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    /// use std::time::Duration;
    ///
    /// assert!(!Once::new().wait_timeout(Duration::from_millis(1)));
    /// ```
    #[inline]
    #[track_caller]
    #[must_use = "the time may be up with the closure not finished"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.is_completed() || self.wait_for_outcome(OnPoison::Panic, deadline::after(timeout))
    }

    /// Waits until a closure has finished, for no longer than until `deadline`.
    /// Returns whether one has.
    ///
    /// # Panics
    ///
    /// When the `Once` is or becomes poisoned.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Once;
    /// use std::time::Instant;
    ///
    /// assert!(!Once::new().wait_deadline(Instant::now()));
    /// ```
    #[inline]
    #[track_caller]
    #[must_use = "the time may be up with the closure not finished"]
    #[doc(alias = "wait_until")]
    pub fn wait_deadline(&self, deadline: Instant) -> bool {
        self.wait_for_outcome(OnPoison::Panic, Some(deadline))
    }
}

/// The reaction of a thread to a poisoned `Once`.
#[derive(Clone, Copy)]
pub(super) enum OnPoison {
    /// Carries on as if it were new.
    Retry,
    /// Panics.
    Panic,
}

/// The right, and the duty, to bring a [`Once`] out of `RUNNING`. Dropped
/// without [`complete`](Claim::complete), it poisons the `Once`.
pub(super) struct Claim<'a> {
    once: &'a Once,
    before: u32,
}

impl Claim<'_> {
    /// Returns the state before the claim: `New` or `Poisoned`.
    pub(super) fn before(&self) -> OnceState {
        OnceState::of(self.before)
    }

    /// Publishes the success of the initialisation.
    #[inline]
    pub(super) fn complete(self) {
        self.once.publish(DONE);
        mem::forget(self);
    }
}

impl Drop for Claim<'_> {
    #[inline]
    fn drop(&mut self) {
        self.once.publish(POISONED);
    }
}

// The protocol. The two primitives built on `Once` use these as well.
impl Once {
    /// Claims a new `Once` if that needs no waiting.
    #[inline]
    pub(super) fn try_claim(&self) -> Option<Claim<'_>> {
        let claimed = self.exchange(NEW, RUNNING);
        // Not `then_some`: a claim that is dropped poisons.
        claimed.then(|| self.claimed(NEW))
    }

    /// Returns the claim of a thread that has changed the word to `RUNNING`.
    #[inline]
    fn claimed(&self, before: u32) -> Claim<'_> {
        self.object.acquired();
        Claim { once: self, before }
    }

    /// Claims the `Once`, or returns `None` once it is done.
    #[cold]
    #[track_caller]
    pub(super) fn claim(&self, on_poison: OnPoison) -> Option<Claim<'_>> {
        let mut spin = Spin::EVENT;
        loop {
            let word = self.word.load(Ordering::Acquire);
            match word & !SLEEPERS {
                DONE => return None,
                RUNNING => {
                    if !self.waits_here() && !spin.turn() {
                        self.sleep_while(word, None, Caller::here());
                    }
                }
                before => {
                    self.check_poison(before, on_poison);
                    if self.exchange(word, RUNNING | word & SLEEPERS) {
                        return Some(self.claimed(before));
                    }
                }
            }
        }
    }

    #[cold]
    #[track_caller]
    fn initialise(&self, on_poison: OnPoison, f: &mut dyn FnMut(OnceState)) {
        if let Some(claim) = self.claim(on_poison) {
            scopes::marked(self, || f(claim.before()));
            claim.complete();
        }
    }

    /// Waits for `DONE`. Returns whether that came before `deadline`.
    #[cold]
    #[track_caller]
    pub(super) fn wait_for_outcome(&self, on_poison: OnPoison, deadline: Option<Instant>) -> bool {
        let mut spin = Spin::EVENT;
        loop {
            let word = self.word.load(Ordering::Acquire);
            let state = word & !SLEEPERS;
            if state == DONE {
                return true;
            }
            self.check_poison(state, on_poison);
            if deadline.is_none() && state == RUNNING && self.waits_here() {
                continue;
            }
            if spin.turn() && !deadline::is_past(deadline) {
                continue;
            }
            if self.sleep_while(word, deadline, Caller::here()) == WaitResult::TimedOut {
                return self.is_completed();
            }
        }
    }

    /// Leaves `RUNNING`, and wakes the threads that slept on it. For the claimant.
    #[inline]
    fn publish(&self, outcome: u32) {
        self.object.released();
        if self.word.swap(outcome, Ordering::AcqRel) & SLEEPERS != 0 {
            wake_sleepers(&self.word);
        }
        fiber_waits::ended(self);
    }

    /// Announces a sleeper, then sleeps, if the word is still `seen`.
    #[cold]
    fn sleep_while(&self, seen: u32, deadline: Option<Instant>, caller: Caller) -> WaitResult {
        let announced = seen | SLEEPERS;
        if seen != announced && !self.exchange(seen, announced) {
            return WaitResult::ValueChanged;
        }
        let _waits = Blocking::new(Kind::ThreadOnce, &self.object, caller, deadline.is_some());
        let _record = observe::sleeping(&self.word);
        wait_deadline(&self.word, announced, deadline)
    }

    #[inline]
    fn exchange(&self, from: u32, to: u32) -> bool {
        self.word
            .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[inline]
    #[track_caller]
    fn check_poison(&self, state: u32, on_poison: OnPoison) {
        if let (POISONED, OnPoison::Panic) = (state, on_poison) {
            panic!("Once instance has previously been poisoned");
        }
    }

    /// Handles a thread that found the state `RUNNING` and is about to wait. If a fiber of this thread
    /// has to continue first, waits for that, and returns true.
    #[track_caller]
    fn waits_here(&self) -> bool {
        assert!(
            !scopes::is_in(self),
            "one-time initialisation waits for itself: it was called again by its own closure"
        );
        if scopes::waits_in(self) {
            // After a failed call, another thread may run the next one. This fiber waits for that as a
            // thread does.
            let is_over = || {
                self.word.load(Ordering::Acquire) & !SLEEPERS != RUNNING
                    || !scopes::waits_in(self) && !scopes::is_in(self)
            };
            assert!(
                fiber_waits::wait(self, is_over),
                "one-time initialisation waits for a fiber of this thread, which cannot go on meanwhile"
            );
            return true;
        }
        false
    }
}

#[cold]
fn wake_sleepers(word: &AtomicU32) {
    wake_all(word);
}

/// Calls a closure that can be called once, through a reference.
fn run<F, R>(f: &mut Option<F>, call: impl FnOnce(F) -> R) -> R {
    call(f.take().expect("a claim is made once per call"))
}

default_is_new!(Once);

named!(Once: object);

debug_fields!(impl Once, |this| { state: this.state() });

// A panic leaves a poisoned `Once` behind, which tells the next caller.
impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}
