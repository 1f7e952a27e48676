//! `ScopedJoinHandle`: the right to a child's result.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use blitz_io_channel::oneshot::Receiver;
use blitz_io_core::debug_fields;
use blitz_io_observe::{Caller, Kind, WaitKind, number_of_child, trace};

use super::children::ChildHandle;
use super::member::{Failure, Outcome};
use crate::kernel::task::{Id, JoinError, ScopeHandle};

/// The right to the result of a child of a [`scope`](super::scope) or a
/// [`blocking_scope`](super::blocking_scope). Dropping it does not stop the child.
///
/// # Errors
///
/// Awaiting it gives an error if the child panicked or was aborted. In
/// [`blocking_scope`](crate::task::blocking_scope), [`BlockingScope::block_on`](crate::task::BlockingScope::block_on)
/// waits for it.
///
/// # Panics
///
/// If it is polled after it was ready.
///
/// # Cancel safety
///
/// Awaiting `&mut handle` is cancel safe: the result stays until it is taken.
///
/// ```
/// use blitz_io::task::scope;
///
/// # pollster::block_on(async {
/// let words = ["a", "b"];
/// let text = scope(async |s| {
///     let child = s.spawn(async { words.concat() });
///     child.await.unwrap()
/// })
/// .await;
/// assert_eq!(text, "ab");
/// # });
/// ```
pub struct ScopedJoinHandle<'scope, T> {
    id: Id,
    result: Receiver<Outcome<T>>,
    abort: Abort,
    _scope: PhantomData<&'scope mut &'scope ()>,
}

pub(super) enum Abort {
    /// A child that the scope's future polls.
    Child(ChildHandle),
    /// A task of the runtime.
    Task(ScopeHandle),
}

impl<T> ScopedJoinHandle<'_, T> {
    pub(super) fn new(id: Id, result: Receiver<Outcome<T>>, abort: Abort) -> Self {
        Self {
            id,
            result,
            abort,
            _scope: PhantomData,
        }
    }

    /// Asks for the child to be dropped. If it has not ended by then, awaiting its handle
    /// returns an error for which [`JoinError::is_cancelled`] holds.
    ///
    /// ```
    /// use blitz_io::task::scope;
    /// use std::future::pending;
    ///
    /// # pollster::block_on(async {
    /// scope(async |s| {
    ///     let child = s.spawn(pending::<()>());
    ///     child.abort();
    ///     assert!(child.await.unwrap_err().is_cancelled());
    /// })
    /// .await;
    /// # });
    /// ```
    #[track_caller]
    pub fn abort(&self) {
        let (why, at) = (trace::Abort::Called, Caller::here());
        match &self.abort {
            Abort::Child(child) => {
                trace::aborted(number_of_child(self.id.as_u64()), why, at);
                child.abort();
            }
            Abort::Task(task) => task.abort_as(why, at),
        }
    }

    /// Returns whether the child has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.result.is_terminated() || !self.result.is_empty()
    }

    /// Returns the child's id, which differs from the ids of all tasks.
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }
}

impl<T> Future for ScopedJoinHandle<'_, T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(
            !self.result.is_terminated(),
            "JoinHandle polled after completion"
        );
        let number = match &self.abort {
            Abort::Child(_) => number_of_child(self.id.as_u64()),
            Abort::Task(task) => task.id().as_u64(),
        };
        let kind = WaitKind::new(Kind::Join);
        let outcome = ready!(Pin::new(&mut self.result).poll_as(context, kind, number));
        let outcome = outcome.expect("a child sends its result");
        Poll::Ready(outcome.map_err(Failure::claim))
    }
}

debug_fields!(impl<T> ScopedJoinHandle<'_, T>, |this| { id: this.id(), .. });
