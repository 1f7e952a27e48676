//! `CancellationToken`: asks any number of tasks to stop.
//!
//! `tree.rs` says how tokens are linked, and why no waiter is forgotten.

mod guard;
mod tree;
mod wait;

use blitz_io_core::deadline::after;
use blitz_io_core::{coop, debug_fields, default_is_new};
use blitz_io_observe::{Caller, Kind, decisions};
use std::future::{Future, poll_fn};
use std::hash::{Hash, Hasher};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tree::{Handle, Node};

pub use guard::{DropGuard, DropGuardRef};
pub use wait::{WaitForCancellationFuture, WaitForCancellationFutureOwned};

/// Asks tasks and threads to stop.
///
/// All clones are the same token: if one is cancelled, all are. A
/// [child](CancellationToken::child_token) is cancelled with its parent, but can also
/// be cancelled alone. Dropping a token cancels nothing; see
/// [`drop_guard`](CancellationToken::drop_guard) for that.
///
/// The names and the behaviour are those of tokio-util. It works with any runtime, and
/// without one. Asking whether a token is cancelled is one load; waiting allocates
/// nothing; a token is one allocation, and the first child of a token without a parent
/// makes one more.
///
/// ```
/// use blitz_io::sync::CancellationToken;
///
/// # pollster::block_on(async {
/// let service = CancellationToken::new();
/// let request = service.child_token();
/// let clone = service.clone();
/// std::thread::spawn(move || clone.cancel());
/// request.cancelled().await;
/// assert!(service.is_cancelled());
/// # });
/// ```
#[derive(Clone)]
pub struct CancellationToken {
    handle: Handle,
}

// A panic cannot leave it in a broken state: wakers are called without a lock.
impl UnwindSafe for CancellationToken {}
impl RefUnwindSafe for CancellationToken {}

impl CancellationToken {
    /// Creates a token that is not cancelled.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// assert!(!CancellationToken::new().is_cancelled());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            handle: Handle::root(),
        }
    }

    #[inline]
    fn node(&self) -> &Node {
        self.handle.node()
    }

    /// Creates a token that is cancelled with this one, and can also be cancelled alone.
    ///
    /// A child of a cancelled token is cancelled from the beginning. A child is still
    /// cancelled with the ancestors of this token after this token has been dropped.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// let parent = CancellationToken::new();
    /// let [one, other] = [parent.child_token(), parent.child_token()];
    /// one.cancel();
    /// assert!(!parent.is_cancelled() && !other.is_cancelled());
    /// parent.cancel();
    /// assert!(other.is_cancelled());
    /// ```
    #[must_use]
    pub fn child_token(&self) -> Self {
        Self {
            handle: self.handle.child(),
        }
    }

    /// Cancels this token and all its descendants, and wakes their waiters. Has no effect
    /// if it has been cancelled before.
    ///
    /// # Panics
    ///
    /// If a waker panics; all others have been woken then.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// token.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    #[track_caller]
    pub fn cancel(&self) {
        self.cancel_at(Caller::here());
    }

    /// Cancels it, at this location of the program.
    fn cancel_at(&self, at: Caller) {
        coop::acted();
        if decisions::explains() && !self.is_cancelled() {
            let origin = self.node().origin;
            origin.did(Kind::Cancelled, at, || "cancels {}".to_owned());
        }
        self.handle.cancel();
    }

    /// Returns whether this token or one of its ancestors has been cancelled. If so,
    /// writes before the cancellation are visible to the caller.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// let worker = std::thread::spawn({
    ///     let token = token.clone();
    ///     move || while !token.is_cancelled() { /* a piece of work */ }
    /// });
    /// token.cancel();
    /// worker.join().unwrap();
    /// ```
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.node().is_cancelled()
    }

    /// Waits until the token is cancelled.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// # pollster::block_on(async {
    /// let token = CancellationToken::new();
    /// token.cancel();
    /// token.cancelled().await;
    /// # });
    /// ```
    #[track_caller]
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        WaitForCancellationFuture::new(self)
    }

    /// Waits as [`cancelled`](CancellationToken::cancelled) does, with a future that
    /// owns the token.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// # pollster::block_on(async {
    /// let token = CancellationToken::new();
    /// let cancelled = token.clone().cancelled_owned();
    /// token.cancel();
    /// cancelled.await;
    /// # });
    /// ```
    #[track_caller]
    pub fn cancelled_owned(self) -> WaitForCancellationFutureOwned {
        WaitForCancellationFutureOwned::new(self)
    }

    /// Blocks the thread until the token is cancelled.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| token.blocking_cancelled());
    ///     token.cancel();
    /// });
    /// ```
    #[track_caller]
    pub fn blocking_cancelled(&self) {
        self.cancelled_until(None);
    }

    /// Blocks the thread until the token is cancelled, but no longer than `timeout`. Returns `true` if it is
    /// cancelled.
    ///
    /// For threads: a pause that a cancellation ends early. A task awaits
    /// [`cancelled`](CancellationToken::cancelled) in a `timeout` of its runtime.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    /// use std::time::Duration;
    ///
    /// let token = CancellationToken::new();
    /// let stop = token.clone();
    /// let worker = std::thread::spawn(move || {
    ///     while !stop.blocking_cancelled_timeout(Duration::from_millis(1)) {
    ///         // A round of work.
    ///     }
    /// });
    /// token.cancel();
    /// worker.join().unwrap();
    /// ```
    #[must_use = "the time may be up without a cancellation"]
    #[track_caller]
    pub fn blocking_cancelled_timeout(&self, timeout: Duration) -> bool {
        self.cancelled_until(after(timeout))
    }

    /// Blocks the thread until the token is cancelled, but no longer than until `deadline`. Returns `true` if
    /// it is cancelled.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    /// use std::time::Instant;
    ///
    /// let token = CancellationToken::new();
    /// assert!(!token.blocking_cancelled_deadline(Instant::now()));
    /// token.cancel();
    /// assert!(token.blocking_cancelled_deadline(Instant::now()));
    /// ```
    #[must_use = "the time may be up without a cancellation"]
    #[track_caller]
    pub fn blocking_cancelled_deadline(&self, deadline: Instant) -> bool {
        self.cancelled_until(Some(deadline))
    }

    #[track_caller]
    fn cancelled_until(&self, deadline: Option<Instant>) -> bool {
        coop::assert_may_block();
        wait::block_until(self.node(), deadline, Caller::here())
    }

    /// Returns a guard that cancels the token when it is dropped, also in a panic.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// drop(token.clone().drop_guard());
    /// assert!(token.is_cancelled());
    /// ```
    pub fn drop_guard(self) -> DropGuard {
        DropGuard { inner: Some(self) }
    }

    /// Like [`drop_guard`](CancellationToken::drop_guard), with a guard that borrows the
    /// token.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// drop(token.drop_guard_ref());
    /// assert!(token.is_cancelled());
    /// ```
    pub fn drop_guard_ref(&self) -> DropGuardRef<'_> {
        DropGuardRef { inner: Some(self) }
    }

    /// Awaits a future unless the token is cancelled first: then drops the future and
    /// returns `None`.
    ///
    /// If both happen at once, the output of the future is returned. If the token is
    /// cancelled from the beginning, the future is never polled.
    ///
    /// # Cancel safety
    ///
    /// As the future's own.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    /// use std::future::pending;
    ///
    /// # pollster::block_on(async {
    /// let token = CancellationToken::new();
    /// assert_eq!(token.run_until_cancelled(async { 1 }).await, Some(1));
    /// token.cancel();
    /// assert_eq!(token.run_until_cancelled(pending::<()>()).await, None);
    /// # });
    /// ```
    pub async fn run_until_cancelled<F>(&self, fut: F) -> Option<F::Output>
    where
        F: Future,
    {
        if self.is_cancelled() {
            return None;
        }
        let (mut future, mut cancelled) = (pin!(fut), pin!(self.cancelled()));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => cancelled.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    /// Like [`run_until_cancelled`](CancellationToken::run_until_cancelled), with a
    /// future that owns the token.
    ///
    /// # Cancel safety
    ///
    /// As the future's own.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// # pollster::block_on(async {
    /// let token = CancellationToken::new();
    /// let run = token.clone().run_until_cancelled_owned(std::future::pending::<()>());
    /// token.cancel();
    /// assert_eq!(run.await, None);
    /// # });
    /// ```
    pub async fn run_until_cancelled_owned<F>(self, fut: F) -> Option<F::Output>
    where
        F: Future,
    {
        self.run_until_cancelled(fut).await
    }
}

default_is_new!(CancellationToken);

impl PartialEq for CancellationToken {
    /// Returns whether both are the same token.
    fn eq(&self, other: &Self) -> bool {
        self.handle.as_ptr() == other.handle.as_ptr()
    }
}

impl Eq for CancellationToken {}

impl Hash for CancellationToken {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.handle.as_ptr().hash(state);
    }
}

debug_fields!(impl CancellationToken, |this| { is_cancelled: this.is_cancelled() });
