//! `trace_with`: a function of the caller's for each operation that a poll reaches.

use std::cell::Cell;
use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

use blitz_io_core::{coop, scopes};
use pin_project_lite::pin_project;

thread_local! {
    /// The address of the function that polls the innermost root, or null.
    static ROOT: Cell<*const c_void> = const { Cell::new(ptr::null()) };
}

/// The bounds of a stack, for the function given to [`trace_with`].
#[non_exhaustive]
#[derive(Debug)]
pub struct TraceMeta {
    /// The function that polls the innermost [`Root`], if there is one. The frames above it are not
    /// the future's.
    pub root_addr: Option<*const c_void>,
    /// A function of this library, in which the caller's is called. The frames above it are the
    /// operation's and the future's.
    pub trace_leaf_addr: *const c_void,
}

/// Runs `f`, which polls a future, and calls `trace_leaf` for each operation of this library that it
/// reaches, on its stack.
///
/// See [`Trace::capture`](super::Trace::capture) for what these operations do.
///
/// # Examples
///
/// ```
/// use blitz_io::runtime::dump::trace_with;
/// use std::pin::pin;
/// use std::task::{Context, Waker};
///
/// let mut future = pin!(async { blitz_io::task::yield_now().await });
/// let mut reached = 0;
/// let context = &mut Context::from_waker(Waker::noop());
/// let result = trace_with(|| future.as_mut().poll(context), |_| reached += 1);
/// assert!(result.is_pending());
/// assert_eq!(reached, 1);
/// ```
pub fn trace_with<FN, FT, R>(f: FN, mut trace_leaf: FT) -> R
where
    FN: FnOnce() -> R,
    FT: FnMut(&TraceMeta),
{
    let mut leaf = || {
        let root = ROOT.get();
        trace_leaf(&TraceMeta {
            root_addr: (!root.is_null()).then_some(root),
            trace_leaf_addr: coop::leaf_address().cast(),
        });
    };
    coop::with_capture(&mut leaf, f)
}

pin_project! {
    /// A future whose stacks in captures end here. Returned by
    /// [`Trace::root`](super::Trace::root).
    #[derive(Clone, Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Root<T> {
        #[pin]
        future: T,
    }
}

impl<T> Root<T> {
    pub(super) fn new(future: T) -> Self {
        Self { future }
    }
}

impl<T: Future> Future for Root<T> {
    type Output = T::Output;

    // Its frame bounds the stack.
    #[inline(never)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T::Output> {
        let poll = || self.project().future.poll(context);
        // SAFETY: it has no destructor.
        unsafe { scopes::with(ROOT.with(ptr::from_ref), Self::poll as *const c_void, poll) }
    }
}
