//! Structured concurrency: children that borrow, and end before their parent goes on.
//!
//! # Why this is sound
//!
//! A child borrows what its parent has. So nothing may poll or drop a child when what
//! it borrows is gone. With threads a function can make sure of that by waiting:
//! it does not return before. A future cannot: its owner may leak it at any
//! point of waiting (`mem::forget`), and then the borrow ends while nothing of the
//! future's has run. So a form in which the runtime's workers poll the children
//! while the future only holds the right to wait for them cannot be sound.
//!
//! There are two forms here that are.
//!
//! [`scope`]: the children are polled *by the scope's own future* alone, when that is
//! polled, and dropped by it alone, when that is dropped. What others have of a child
//! is its waker, which knows a flag and a list, and never looks at the child's
//! future. Leaking the scope's future leaks its children: they stay where
//! they are, and nothing polls or drops them any more. They run concurrently, but
//! not in parallel: all belong to one task.
//!
//! [`scope_blocking`]: the children are tasks of the runtime and run in parallel, and
//! the function that starts them *blocks its thread* until each of them has been
//! dropped. It cannot be leaked, as it is no future. If a child is never dropped, say
//! because the runtime is leaked, it never returns, and that is sound too.
//!
//! # Lifetimes
//!
//! What a child of [`scope`] borrows lives for `'env`, and so does the scope's future,
//! which has `'env` in its type and in something that is dropped with it: the compiler
//! sees to it that all of that is there until the future has been dropped or leaked. The
//! closure's own variables live shorter. A [`Scope`] may get out of the closure, and
//! live as long as `'env`; if the scope has ended, it drops what it is given. (That
//! `scope` does without the lifetime `'scope`, which `std::thread::scope` has, is for a
//! reason: a future that holds it could not be sent to another thread, as the
//! compiler cannot yet see that it is `Send`.)
//!
//! In [`scope_blocking`], `'scope` is a lifetime that the closure cannot choose, as in
//! `std::thread::scope`: what has it in its type cannot leave the closure, and ends
//! before the function does.

mod blocking;
mod children;
mod handle;
mod member;

use std::any::Any;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use blitz_sync::thread::Mutex;

use super::join_set::ready::Ready;
use crate::core::Id;
use children::{Child, Children};
use handle::Abort;
use member::Member;

pub use blocking::{BlockingScope, scope_blocking};
pub use handle::ScopedJoinHandle;

/// What the first of the children panicked with if its result was not asked for.
type Unclaimed = Arc<Mutex<Option<Box<dyn Any + Send>>>>;

/// Starts children of a [`scope`]. Clones are the same.
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
/// scope(|s| {
///     count(&s, &sum);
///     count(&s, &sum);
///     async {}
/// })
/// .await;
/// assert_eq!(sum.into_inner(), 2);
/// # });
/// ```
pub struct Scope<'env> {
    ready: Arc<Ready>,
    unclaimed: Unclaimed,
    // Neither shorter nor longer.
    _env: PhantomData<&'env mut &'env ()>,
}

/// Lets an async function have children that borrow from it. Ends when the closure's
/// future and all children have ended; its output is the closure's.
///
/// The children run concurrently within the task that awaits the scope: each is
/// polled when it was woken, and only by this future. So they need not be `'static`,
/// and a scope is sound also if its future is leaked. For children that run on
/// several threads at once see [`scope_blocking`]. Works with any runtime, and
/// allocates for each child.
///
/// # Panics
///
/// If the closure's future does: the children are dropped then. If a child does, and
/// its handle is not awaited: when all others have ended.
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
/// let (words, found) = (&words, &mut longest);
/// let letters = scope(|s| async move {
///     let count = s.spawn(async { words.iter().map(|word| word.len()).sum::<usize>() });
///     s.spawn(async { *found = words.iter().max_by_key(|word| word.len()).unwrap() });
///     count.await.unwrap()
/// })
/// .await;
/// assert_eq!((letters, longest), (9, "not"));
/// # });
/// ```
///
/// What the closure itself owns is gone before the children are, so they must not
/// borrow it:
///
/// ```compile_fail,E0373
/// use blitz_io::task::scope;
///
/// # pollster::block_on(async {
/// scope(|s| async move {
///     let inside = String::from("gone too soon");
///     s.spawn(async { println!("{inside}") });
/// })
/// .await;
/// # });
/// ```
///
/// What they borrow must live as long as the scope's future:
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
/// That is so also for a future that is only dropped, and if the scope has got out:
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
/// And what a child borrows mutably is its own as long:
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
/// Only what may be sent to another thread can be in a child:
///
/// ```compile_fail,E0277
/// use blitz_io::task::scope;
/// use std::rc::Rc;
///
/// # pollster::block_on(async {
/// let number = Rc::new(1);
/// scope(|s| async move {
///     s.spawn(async move { drop(number) });
/// })
/// .await;
/// # });
/// ```
pub fn scope<'env, F, Fut>(f: F) -> impl Future<Output = Fut::Output> + use<'env, F, Fut>
where
    F: FnOnce(Scope<'env>) -> Fut,
    Fut: Future,
{
    let ready = Arc::new(Ready::new());
    let unclaimed = Unclaimed::default();
    let scope = Scope {
        ready: ready.clone(),
        unclaimed: unclaimed.clone(),
        _env: PhantomData,
    };
    // Here, and not within the future, so that the future visibly owns it.
    let children = Children::<'env>::new(ready);
    async move {
        let mut body = pin!(Some(f(scope)));
        // Dropped before the body.
        let mut children = children;
        let mut output = None;
        let output = poll_fn(|context| {
            if let Some(running) = body.as_mut().as_pin_mut() {
                if let Poll::Ready(ready) = running.poll(context) {
                    output = Some(ready);
                    body.set(None);
                }
            }
            match children.poll(context) {
                Poll::Ready(()) => output.take().map_or(Poll::Pending, Poll::Ready),
                Poll::Pending => Poll::Pending,
            }
        });
        let output = output.await;
        let panic = unclaimed.lock().take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        output
    }
}

impl<'env> Scope<'env> {
    /// Starts a child. It is polled for the first time when the scope's future is polled
    /// next, or goes on.
    ///
    /// If the scope has ended or is just being dropped, so is the child, at once.
    ///
    /// ```
    /// use blitz_io::task::scope;
    ///
    /// # pollster::block_on(async {
    /// let numbers = [1, 2, 3];
    /// let numbers = &numbers;
    /// let sum = scope(|s| async move {
    ///     let child = s.spawn(async { numbers.iter().sum::<i32>() });
    ///     child.await.unwrap()
    /// })
    /// .await;
    /// assert_eq!(sum, 6);
    /// # });
    /// ```
    pub fn spawn<F>(&self, future: F) -> ScopedJoinHandle<'env, F::Output>
    where
        F: Future + Send + 'env,
        F::Output: Send + 'env,
    {
        let id = Id::next();
        let (member, result) = Member::new(future, id, self.unclaimed.clone());
        // SAFETY: it is polled and dropped by `Children<'env>` alone, which is in the
        // scope's future: until that is dropped or leaked, `'env` lasts. Or it is
        // dropped here, if that has happened. So it is not used after `'env`.
        let member = unsafe { member.erase() };
        let child = Child::spawn(&self.ready, member);
        ScopedJoinHandle::new(id, result, Abort::Child(child))
    }
}

impl Clone for Scope<'_> {
    fn clone(&self) -> Self {
        Self {
            ready: self.ready.clone(),
            unclaimed: self.unclaimed.clone(),
            _env: PhantomData,
        }
    }
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
