//! Wait until all others have left.
//!
//! A [`Countdown`] of the members, shared by all of them. Zero is final: when the last member has
//! left, there is no member left that could be cloned. The one way to come back, after a wait
//! that timed out, checks that in the same step in which it counts.

use super::countdown::Countdown;
use blitz_io_core::deadline;
use blitz_io_core::{debug_fields, default_is_new};
use blitz_io_observe::Kind;
use blitz_io_observe::named;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A group of threads that can be waited for.
///
/// Each clone is a member; dropping it leaves the group, also when a panic does the dropping.
/// [`wait`](WaitGroup::wait) leaves and waits for the others. Threads that have waited see the
/// work that each member did before it left.
///
/// This is the interface of `crossbeam_utils::sync::WaitGroup`, and timed waits.
/// It is the one primitive of this family that allocates: once, in `new`.
///
/// # Examples
///
/// ```
/// use blitz_io::thread::WaitGroup;
///
/// let group = WaitGroup::new();
/// for _ in 0..4 {
///     let member = group.clone();
///     std::thread::spawn(move || {
///         // do some work
///         drop(member);
///     });
/// }
/// group.wait();
/// ```
pub struct WaitGroup {
    members: Arc<Countdown>,
}

impl WaitGroup {
    /// Creates a group with one member.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::WaitGroup;
    ///
    /// WaitGroup::new().wait(); // it has no other member
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            members: Arc::new(Countdown::new(1)),
        }
    }

    /// Leaves the group and waits until all members have left.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::WaitGroup;
    ///
    /// let group = WaitGroup::new();
    /// let other = group.clone();
    /// let thread = std::thread::spawn(move || other.wait());
    /// group.wait(); // both go on only when both have come this far
    /// thread.join().unwrap();
    /// ```
    #[track_caller]
    pub fn wait(self) {
        self.leave().wait(None, Kind::ThreadWaitGroup);
    }

    /// Leaves the group and waits until all members have left, for no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// After the timeout, joins the group again and returns that membership. This happens only
    /// if the group has never been empty, so no other wait can have ended because all had left.
    ///
    /// # Panics
    ///
    /// When it joins again: see [`clone`](WaitGroup::clone).
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::WaitGroup;
    /// use std::time::Duration;
    ///
    /// let group = WaitGroup::new();
    /// let other = group.clone();
    /// let group = group.wait_timeout(Duration::from_millis(1)).unwrap_err();
    /// drop(other);
    /// assert!(group.wait_timeout(Duration::from_millis(1)).is_ok());
    /// ```
    #[track_caller]
    pub fn wait_timeout(self, timeout: Duration) -> Result<(), Self> {
        self.wait_or_rejoin(deadline::after(timeout))
    }

    /// Leaves the group and waits until all members have left, for no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// See [`wait_timeout`](WaitGroup::wait_timeout).
    ///
    /// # Panics
    ///
    /// When it joins again: see [`clone`](WaitGroup::clone).
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::WaitGroup;
    /// use std::time::Instant;
    ///
    /// let group = WaitGroup::new();
    /// assert!(group.wait_deadline(Instant::now()).is_ok());
    /// ```
    #[track_caller]
    #[doc(alias = "wait_until")]
    pub fn wait_deadline(self, deadline: Instant) -> Result<(), Self> {
        self.wait_or_rejoin(Some(deadline))
    }

    #[track_caller]
    fn wait_or_rejoin(self, deadline: Option<Instant>) -> Result<(), Self> {
        let members = self.leave();
        if members.wait(deadline, Kind::ThreadWaitGroup) {
            return Ok(());
        }
        match members.add_unless_zero() {
            Ok(()) => Err(Self { members }),
            // The others left at the last moment, so the wait has succeeded.
            Err(()) if members.is_zero() => Ok(()),
            Err(()) => too_many(),
        }
    }

    fn leave(self) -> Arc<Countdown> {
        Arc::clone(&self.members)
    }
}

impl Clone for WaitGroup {
    /// Returns a new member of the same group.
    ///
    /// # Panics
    ///
    /// When the group has 2³¹ − 1 members.
    #[track_caller]
    fn clone(&self) -> Self {
        if self.members.add_unless_zero().is_err() {
            too_many();
        }
        Self {
            members: Arc::clone(&self.members),
        }
    }
}

#[cold]
#[track_caller]
fn too_many() -> ! {
    panic!("too many members in a wait group");
}

impl Drop for WaitGroup {
    fn drop(&mut self) {
        let left = self.members.subtract(1);
        debug_assert!(left.is_ok(), "a member leaves once");
    }
}

default_is_new!(WaitGroup);

named!(WaitGroup: members.object);

debug_fields!(impl WaitGroup, |this| { count: this.members.count() });
