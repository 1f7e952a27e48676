//! Structured concurrency: children that end before their parent continues.
//!
//! # Why this is sound
//!
//! A child borrows from its parent. So a child must not be polled or dropped after the
//! borrow has ended. With threads, a function guarantees that by waiting before it returns.
//! A future cannot: its owner may leak it at any point of waiting (`mem::forget`), and then
//! the borrow ends without any code of the future having run. So it would be unsound to let
//! the runtime's workers poll the children while the future only holds the right to wait
//! for them.
//!
//! The three forms here are sound.
//!
//! [`scope`]: the children are polled *by the scope's own future* alone, when that is
//! polled, and dropped by it alone, when that is dropped. Other code only has a
//! child's waker, which uses a flag and a list, and never accesses the child's future.
//! [`Scope::abort_all`] too only sets a flag and uses that list: the scope's future then drops
//! the children.
//! Leaking the scope's future leaks its children: they stay where they are, and are not
//! polled or dropped any more. They run concurrently, but
//! not in parallel: all belong to one task.
//!
//! [`blocking_scope`]: the children are tasks of the runtime and run in parallel, and
//! the function that starts them *blocks its thread* until each of them has been
//! dropped. It cannot be leaked, as it is not a future. If a child is never dropped, for
//! instance because the runtime is leaked, the function never returns, which is sound too.
//!
//! [`parallel_scope`]: the children are tasks of the runtime and run in parallel, and a future waits
//! for them. They are `'static`, so they borrow nothing.
//!
//! # Lifetimes
//!
//! The values that a child of [`scope`] borrows live for `'env`, and so does the scope's
//! future, which has `'env` in its type and in a field with a `Drop`. So the compiler
//! ensures that all borrowed values live until the future has been dropped or leaked. The
//! closure's own variables live shorter. A [`Scope`] may leave the closure, and live as
//! long as `'env`; if the scope has ended, it drops the children it is given.
//!
//! `scope` has no lifetime `'scope` as `std::thread::scope` does. A future that holds
//! such a lifetime could not be sent to another thread: the compiler cannot yet see that
//! it is `Send`.
//!
//! In [`blocking_scope`], `'scope` is a lifetime that the closure cannot choose, as in
//! `std::thread::scope`: a value with it in its type cannot leave the closure, and ends
//! before the function does.

mod blocking;
mod children;
mod handle;
mod member;
mod parallel;
mod recorded;

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use blitz_io_core::debug_is_name;
use blitz_io_observe::{Caller, Kind, Wait, WaitKind, decisions, number_of_child};

use crate::kernel::ready_list::ReadyList;
use crate::kernel::task::Id;
use children::{Child, Children};
use handle::Abort;
use member::{Member, Shared, erase};
use recorded::Recorded;

pub use blocking::{BlockingScope, blocking_scope};
pub use handle::ScopedJoinHandle;
pub use parallel::{ParallelScope, parallel_scope};

/// Starts children of a [`scope`]. All clones start children of the same one.
///
/// ```
/// use blitz_io::task::{Scope, scope};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// fn count<'env>(s: &Scope<'env>, sum: &'env AtomicU32) {
///     s.spawn(async { _ = sum.fetch_add(1, Ordering::Relaxed) });
/// }
///
/// # pollster::block_on(async {
/// let sum = AtomicU32::new(0);
/// scope(async |s| {
///     count(&s, &sum);
///     count(&s, &sum);
/// })
/// .await;
/// assert_eq!(sum.into_inner(), 2);
/// # });
/// ```
#[derive(Clone)]
pub struct Scope<'env> {
    ready: Arc<ReadyList>,
    shared: Arc<Shared>,
    // Invariant: neither shorter nor longer.
    _env: PhantomData<&'env mut &'env ()>,
}

/// Lets an async function have children that borrow from it, and run concurrently within its task: not
/// in parallel.
///
/// The future polls one child after the other. For children that run on several threads see [`parallel_scope`], whose
/// children are `'static`, and [`blocking_scope`], which blocks its thread.
///
/// The future is ready when the closure's future and all children have ended. Its output is
/// that of the closure's future. So a `?` in the closure waits for the children too: to end them first, see
/// [`Scope::abort_all`].
///
/// Each child is polled after it has been woken, and only by this future. So the children need not be
/// `'static`, and a scope is sound even if its future is leaked. Works with any runtime, and allocates
/// for each child.
///
/// # Panics
///
/// If the closure's future panics. If a child panics and its handle has been dropped, then or later. In both cases
/// the rest is dropped at once, the closure's future and all children, and the panic continues. A handle that is kept returns the
/// panic as its error, and the scope does not end.
///
/// # Cancel safety
///
/// If the future is dropped, the closure's future and all children are dropped.
///
/// ```
/// use blitz_io::task::scope;
///
/// # pollster::block_on(async {
/// let words = vec!["to", "be", "or", "not"];
/// let mut longest = "";
///
/// let letters = scope(async |s| {
///     let count = s.spawn(async { words.iter().map(|word| word.len()).sum::<usize>() });
///     s.spawn(async { longest = words.iter().max_by_key(|word| word.len()).unwrap() });
///     count.await.unwrap()
/// })
/// .await;
/// assert_eq!((letters, longest), (9, "not"));
/// # });
/// ```
///
/// Write `async |s| { … }`, which borrows the variables that it uses. `|s| async move { … }` moves them into the
/// closure's future, where they end before the children (error E0597, "does not live long enough"): so it takes
/// references that were made outside.
///
/// ```compile_fail,E0597
/// use blitz_io::task::scope;
///
/// # pollster::block_on(async {
/// let words = vec!["to", "be"];
/// scope(|s| async move {
///     for word in &words {
///         s.spawn(async move { println!("{word}") });
///     }
/// })
/// .await;
/// # });
/// ```
///
/// The closure's own variables are dropped before the children are, so they must not
/// borrow these:
///
/// ```compile_fail,E0373
/// use blitz_io::task::scope;
///
/// # pollster::block_on(async {
/// scope(async |s| {
///     let inside = String::from("gone too soon");
///     s.spawn(async { println!("{inside}") });
/// })
/// .await;
/// # });
/// ```
///
/// Borrowed values must live as long as the scope's future:
///
/// ```compile_fail,E0597
/// use blitz_io::task::scope;
///
/// let future = {
///     let inside = String::from("gone too soon");
///     let inside = &inside;
///     scope(move |s| async move {
///         s.spawn(async move { println!("{inside}") });
///     })
/// };
/// pollster::block_on(future); // the crate pollster
/// ```
///
/// This also holds for a future that is only dropped, and if the `Scope` has left the
/// closure:
///
/// ```compile_fail,E0597
/// use blitz_io::task::scope;
///
/// let mut escaped = None;
/// {
///     let inside = String::from("gone too soon");
///     let (inside, out) = (&inside, &mut escaped);
///     drop(scope(move |s| async move {
///         *out = Some(s.clone());
///         s.spawn(async move { println!("{inside}") });
///     }));
/// }
/// drop(escaped);
/// ```
///
/// A value that a child borrows mutably cannot be used while the scope's future exists:
///
/// ```compile_fail,E0503
/// use blitz_io::task::scope;
///
/// let mut number = 0;
/// let child = &mut number;
/// let future = scope(move |s| async move {
///     s.spawn(async move { *child += 1 });
/// });
/// number += 1;
/// drop(future);
/// ```
///
/// A child must be `Send`:
///
/// ```compile_fail,E0277
/// use blitz_io::task::scope;
/// use std::rc::Rc;
///
/// # pollster::block_on(async {
/// let number = Rc::new(1);
/// scope(async |s| {
///     s.spawn(async move { drop(number) });
/// })
/// .await;
/// # });
/// ```
#[track_caller]
pub fn scope<'env, F, Fut>(f: F) -> impl Future<Output = Fut::Output> + use<'env, F, Fut>
where
    F: FnOnce(Scope<'env>) -> Fut,
    Fut: Future,
{
    let ready = Arc::new(ReadyList::new());
    let shared = Shared::new();
    let scope = Scope {
        ready: ready.clone(),
        shared: shared.clone(),
        _env: PhantomData,
    };
    // Here, and not within the future, so that the compiler sees that the future owns it.
    let children = Children::<'env>::new(ready, shared.clone());
    let mut record = Wait::new(Caller::here());
    async move {
        let mut body = pin!(Some(f(scope)));
        // Dropped before the body.
        let mut children = children;
        let mut ended = None;
        let output = poll_fn(|context| {
            shared.members.awaited();
            if let Some(running) = body.as_mut().as_pin_mut() {
                if let Poll::Ready(ready) = running.poll(context) {
                    ended = Some(ready);
                    body.set(None);
                }
            }
            let polled = children.poll(context);
            if let Some(panic) = shared.unclaimed.lock().take() {
                return Poll::Ready(Err(panic));
            }
            match polled {
                Poll::Ready(()) => {
                    record.end();
                    let output = ended.take();
                    output.map_or(Poll::Pending, |output| Poll::Ready(Ok(output)))
                }
                Poll::Pending => {
                    let kind = WaitKind::new(Kind::Scope);
                    record.begin(kind, shared.members.object(), context.waker());
                    Poll::Pending
                }
            }
        });
        match output.await {
            Ok(output) => output,
            Err(panic) => {
                // In the order of a scope that is dropped. A second panic, of a destructor, is ignored:
                // it would end the process.
                _ = catch_unwind(AssertUnwindSafe(|| drop(children)));
                _ = catch_unwind(AssertUnwindSafe(|| body.set(None)));
                _ = catch_unwind(AssertUnwindSafe(|| drop(ended)));
                resume_unwind(panic)
            }
        }
    }
}

impl<'env> Scope<'env> {
    /// Starts a child. It is polled for the first time in the present or the next poll of
    /// the scope's future.
    ///
    /// If the scope has ended or is being dropped, or after [`abort_all`](Self::abort_all), the child is dropped at once.
    ///
    /// ```
    /// use blitz_io::task::scope;
    ///
    /// # pollster::block_on(async {
    /// let numbers = [1, 2, 3];
    /// let sum = scope(async |s| {
    ///     let child = s.spawn(async { numbers.iter().sum::<i32>() });
    ///     child.await.unwrap()
    /// })
    /// .await;
    /// assert_eq!(sum, 6);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> ScopedJoinHandle<'env, F::Output>
    where
        F: Future + Send + 'env,
        F::Output: Send + 'env,
    {
        let id = Id::next();
        decisions::child_spawned(id.as_u64());
        let number = number_of_child(id.as_u64());
        let (member, result) = Member::new(future, id, self.shared.clone(), Some(number));
        let child = Recorded::new(member, id, Caller::here());
        // SAFETY: it is polled and dropped by `Children<'env>` alone, which is in the
        // scope's future: until that is dropped or leaked, `'env` lasts. Or it is
        // dropped here, if that has happened. So it is not used after `'env`.
        let child = unsafe { erase(child) };
        let child = Child::spawn(&self.ready, child, id, &self.shared);
        ScopedJoinHandle::new(id, result, Abort::Child(child))
    }

    /// Aborts all children: those that exist, and those that are started later. The closure's future continues.
    ///
    /// No child is polled after the call. The scope's future drops the children in its present or next poll, so what they
    /// borrow is in use until then. Awaiting the handle of a child that had not ended gives an error for which
    /// [`JoinError::is_cancelled`](crate::task::JoinError::is_cancelled) holds; the result of a child that had ended
    /// stays. A child that calls this ends at its next `.await` that waits. Further calls do nothing.
    ///
    /// After [`JoinSet::abort_all`](crate::task::JoinSet::abort_all) the set may get new tasks. Here children may start
    /// others at any time, and none of these is to be left over.
    ///
    /// # Panics
    ///
    /// Never. If the destructor of a child panics, that is a panic of the child: see [`scope`].
    ///
    /// ```
    /// use blitz_io::task::scope;
    /// use std::future::pending;
    ///
    /// # pollster::block_on(async {
    /// let words = ["1", "two"];
    /// let sum = scope(async |s| {
    ///     s.spawn(pending::<()>()); // without `abort_all`, the scope would wait for it
    ///     let sum = s.spawn(async { words.iter().map(|word| word.parse::<u32>()).sum::<Result<u32, _>>() });
    ///     let sum = sum.await.unwrap();
    ///     if sum.is_err() {
    ///         s.abort_all();
    ///     }
    ///     Ok::<_, std::num::ParseIntError>(sum?)
    /// })
    /// .await;
    /// assert!(sum.is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn abort_all(&self) {
        Child::abort_all(&self.ready, &self.shared, Caller::here());
    }
}

debug_is_name!(impl Scope<'_>);
