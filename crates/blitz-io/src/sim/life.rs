//! `Life`: one life of a host, whose end others may await.

use std::cell::{OnceCell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use blitz_io_inspect::Named;

use crate::sync::Notify;

/// How a host's code has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HostEnd {
    /// It has returned. Tasks that it has spawned may go on.
    Returned,
    /// It has returned this error, which also fails the run.
    Failed(String),
    /// It has panicked. That fails the run, too, but for
    /// [`allow_panics`](crate::sim::Builder::allow_panics).
    Panicked,
    /// The host has crashed, or was killed.
    Stopped,
}

/// The end of a host's code, in one of its lives.
#[derive(Default)]
pub(super) struct Life {
    end: RefCell<Option<HostEnd>>,
    /// Made by the first call of [`wait`](Self::wait), so that a host that is not awaited has no object.
    ended: OnceCell<Arc<Notify>>,
}

impl Life {
    /// The code has ended. Only the first end counts.
    pub(super) fn end(&self, end: HostEnd) {
        if self.end.borrow_mut().get_or_insert_with(|| end.clone()) == &end {
            if let Some(ended) = self.ended.get() {
                ended.notify_waiters_as_part();
            }
        }
    }

    /// Waits until the code has ended.
    #[track_caller]
    pub(super) fn wait(self: Rc<Self>) -> impl Future<Output = HostEnd> + use<> {
        let made = || Arc::new(Notify::new().named("the end of a host"));
        // No end is missed: the future counts as waiting from here on.
        let notified = self.ended.get_or_init(made).clone().notified_owned();
        async move {
            if self.end.borrow().is_none() {
                notified.await;
            }
            let end = self.end.borrow();
            end.clone().unwrap_or(HostEnd::Stopped)
        }
    }
}

/// Ends a life when the future of its code is dropped, if it has not ended before.
pub(super) struct Guard(pub(super) Rc<Life>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.end(if thread::panicking() {
            HostEnd::Panicked
        } else {
            HostEnd::Stopped
        });
    }
}
