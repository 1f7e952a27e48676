//! A child's future, with the channel for its result.

use std::any::Any;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};

use blitz_io_channel::oneshot::{self, Receiver, Sender};
use blitz_io_observe::{Members, decisions, ends_with};
use blitz_io_sync::thread::Mutex;
use pin_project_lite::pin_project;

use crate::kernel::task::{Id, JoinError};

/// The state that the children of a scope share.
pub(super) struct Shared {
    /// The payload of the first panic of a child whose result was not taken.
    pub(super) unclaimed: Mutex<Option<Box<dyn Any + Send>>>,
    /// `true` once [`Scope::abort_all`](super::Scope::abort_all) has been called. From then on the scope's future drops
    /// children instead of polling them.
    pub(super) aborts: AtomicBool,
    /// The children, for records. The key of a child is its id.
    pub(super) members: Members,
}

impl Shared {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            unclaimed: Mutex::new(None),
            aborts: AtomicBool::new(false),
            members: Members::new(true),
        })
    }
}

/// The result of a child.
pub(super) type Outcome<T> = Result<T, Failure>;

/// The error of a child. If it is dropped unclaimed, its panic goes to the scope.
pub(super) struct Failure {
    error: Option<JoinError>,
    scope: Arc<Shared>,
}

impl Failure {
    /// Takes the error, for the handle.
    pub(super) fn claim(mut self) -> JoinError {
        self.error.take().expect("it is claimed once")
    }
}

impl Drop for Failure {
    fn drop(&mut self) {
        if let Some(Ok(panic)) = self.error.take().map(JoinError::try_into_panic) {
            self.scope.unclaimed.lock().get_or_insert(panic);
        }
    }
}

/// A child's future without the lifetime of its borrows.
pub(super) type Erased = Pin<Box<dyn Future<Output = ()> + Send>>;

pin_project! {
    /// Runs a child and sends its result. It does not panic.
    pub(super) struct Member<F: Future> {
        // `None` when it has ended.
        #[pin]
        future: Option<F>,
        end: End<F::Output>,
    }

    impl<F: Future> PinnedDrop for Member<F> {
        /// Drops the future before it tells the handle that the child was cancelled.
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_none() {
                return;
            }
            let id = this.end.id;
            this.end.send(match catch_unwind(AssertUnwindSafe(|| this.future.set(None))) {
                Ok(()) => Err(JoinError::cancelled(id)),
                Err(panic) => Err(JoinError::panic(id, panic)),
            });
        }
    }
}

/// The sending end for a child's result.
struct End<T> {
    id: Id,
    sender: Option<Sender<Outcome<T>>>,
    scope: Arc<Shared>,
}

impl<T> Drop for End<T> {
    /// The child's future has been dropped.
    #[inline]
    fn drop(&mut self) {
        self.scope.members.remove(self.id.as_u64());
    }
}

impl<T> End<T> {
    fn send(&mut self, result: Result<T, JoinError>) {
        let outcome = result.map_err(|error| Failure {
            error: Some(error),
            scope: self.scope.clone(),
        });
        if let Some(sender) = self.sender.take() {
            drop(sender.send_as_part(outcome));
        }
    }
}

impl<F: Future> Member<F> {
    /// Makes a child with this id, and the receiver of its result. `task`: the number of its task, if that is known. The caller's
    /// location is that of waits for the result.
    #[track_caller]
    pub(super) fn new(
        future: F,
        id: Id,
        scope: Arc<Shared>,
        task: Option<u64>,
    ) -> (Self, Receiver<Outcome<F::Output>>) {
        scope.members.add_as(id.as_u64(), task);
        let (sender, result) = oneshot::channel();
        let end = End {
            id,
            sender: Some(sender),
            scope,
        };
        let future = Some(future);
        (Self { future, end }, result)
    }
}

/// Erases the lifetime of a child's borrows.
///
/// # Safety
///
/// The returned future is neither used nor dropped after `'a`.
pub(super) unsafe fn erase<'a>(child: impl Future<Output = ()> + Send + 'a) -> Erased {
    let child: Pin<Box<dyn Future<Output = ()> + Send + 'a>> = Box::pin(child);
    // SAFETY: only the lifetime changes, and the caller upholds it.
    unsafe { mem::transmute(child) }
}

impl<F: Future> Future for Member<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let Some(future) = this.future.as_mut().as_pin_mut() else {
                return Poll::Pending;
            };
            future.poll(context).map(|output| {
                // The future is dropped before the result is sent.
                this.future.set(None);
                output
            })
        }));
        let result = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => {
                ends_with::<F::Output>(None);
                Ok(output)
            }
            Err(panic) => {
                decisions::child_panicked();
                // Drops the rest of the future. A panic of that drop is ignored.
                let _ = catch_unwind(AssertUnwindSafe(|| this.future.set(None)));
                Err(JoinError::panic(this.end.id, panic))
            }
        };
        this.end.send(result);
        Poll::Ready(())
    }
}
