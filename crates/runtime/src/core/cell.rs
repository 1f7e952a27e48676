//! The memory of a task: one allocation for all there is.
//!
//! What the future or the output may be used for follows from the state: whoever set
//! `RUNNING` has them until it gives `RUNNING` back or completes the task; after that,
//! the join handle has them if it exists, else the completer.

use std::any::Any;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use super::error::JoinError;
use super::header::{Header, Stage};
use super::schedule::Schedule;
use blitz_sync::internals::Watched;

/// A task. The header comes first, so that a pointer to it is one to the task.
#[repr(C)]
pub(super) struct Cell<F: Future, S> {
    pub(super) header: Header,
    pub(super) scheduler: S,
    contents: Watched<Contents<F>>,
}

/// The future or what came of it. The header's `stage` says which.
union Contents<F: Future> {
    future: ManuallyDrop<F>,
    value: ManuallyDrop<F::Output>,
    panic: ManuallyDrop<Box<dyn Any + Send>>,
}

impl<F: Future, S: Schedule> Cell<F, S> {
    /// A new task with a token, as a pointer to its header.
    pub(super) fn allocate(header: Header, future: F, scheduler: S) -> NonNull<Header> {
        let cell = Box::new(Self {
            header,
            scheduler,
            contents: Watched::new(Contents {
                future: ManuallyDrop::new(future),
            }),
        });
        NonNull::from(Box::leak(cell)).cast()
    }

    /// Gives the memory back.
    ///
    /// # Safety
    ///
    /// Nobody else has a reference to the task, which is complete, and neither future
    /// nor output are there any more.
    pub(super) unsafe fn free(cell: NonNull<Self>) {
        // SAFETY: the memory comes from a box, and is the caller's.
        let cell = unsafe { Box::from_raw(cell.as_ptr()) };
        #[cfg(not(loom))]
        drop(cell);
        // The checker wants to see who uses it nevertheless.
        #[cfg(loom)]
        {
            cell.header.state.freed();
            assert!(
                matches!(cell.stage(), Stage::Empty | Stage::Cancelled),
                "an output was left behind"
            );
            let cell = Box::leak(cell);
            // SAFETY: nobody uses it any more.
            unsafe { std::ptr::drop_in_place(&raw mut cell.scheduler) };
        }
    }

    fn stage(&self) -> Stage {
        // SAFETY: whoever asks has the contents.
        self.header.stage.with(|stage| unsafe { *stage })
    }

    fn set_stage(&self, new: Stage) {
        // SAFETY: whoever changes the contents has them.
        self.header.stage.with_mut(|stage| unsafe { *stage = new });
    }

    /// Polls the future.
    ///
    /// # Safety
    ///
    /// The caller has the contents, and they are the future.
    pub(super) unsafe fn poll(&self, context: &mut Context<'_>) -> Poll<F::Output> {
        debug_assert!(self.stage() == Stage::Future);
        #[cfg(loom)]
        assert_eq!(self.stage(), Stage::Future);
        self.contents.with_mut(|contents| {
            // SAFETY: the future is there, as the caller promises, and stays at its place
            // until it is dropped.
            let future = unsafe { Pin::new_unchecked(&mut *(*contents).future) };
            future.poll(context)
        })
    }

    /// Drops the future or the output, if one is there. If the drop panics, it is not
    /// there any more either.
    ///
    /// # Safety
    ///
    /// The caller has the contents.
    pub(super) unsafe fn drop_contents(&self) {
        let stage = self.stage();
        self.set_stage(Stage::Empty);
        self.contents.with_mut(|contents| {
            // SAFETY: the stage says what is there, and nobody will see it again.
            unsafe {
                match stage {
                    Stage::Future => ManuallyDrop::drop(&mut (*contents).future),
                    Stage::Value => ManuallyDrop::drop(&mut (*contents).value),
                    Stage::Panic => ManuallyDrop::drop(&mut (*contents).panic),
                    Stage::Cancelled | Stage::Empty => {}
                }
            }
        });
    }

    /// Puts the output where the future was.
    ///
    /// # Safety
    ///
    /// The caller has the contents, which are empty.
    pub(super) unsafe fn put_value(&self, value: F::Output) {
        self.contents.with_mut(|contents| {
            let value = ManuallyDrop::new(value);
            // SAFETY: the caller has the place, and nothing is there.
            unsafe { (&raw mut (*contents).value).write(value) };
        });
        self.set_stage(Stage::Value);
    }

    /// Puts what came instead of an output where the future was: the panic, or that
    /// the task was cancelled.
    ///
    /// # Safety
    ///
    /// As for [`put_value`](Self::put_value).
    pub(super) unsafe fn put_failure(&self, panic: Option<Box<dyn Any + Send>>) {
        let Some(panic) = panic else {
            return self.set_stage(Stage::Cancelled);
        };
        self.contents.with_mut(|contents| {
            let panic = ManuallyDrop::new(panic);
            // SAFETY: as above.
            unsafe { (&raw mut (*contents).panic).write(panic) };
        });
        self.set_stage(Stage::Panic);
    }

    /// Takes the output.
    ///
    /// # Safety
    ///
    /// The caller has the contents, and the task is complete.
    #[track_caller]
    pub(super) unsafe fn take(&self) -> Result<F::Output, JoinError> {
        let stage = self.stage();
        self.set_stage(Stage::Empty);
        let id = self.header.id();
        // SAFETY: the stage said what is there, and says now that it is gone.
        self.contents.with_mut(|contents| unsafe {
            match stage {
                Stage::Value => Ok(ManuallyDrop::take(&mut (*contents).value)),
                Stage::Panic => {
                    let panic = ManuallyDrop::take(&mut (*contents).panic);
                    Err(JoinError::panic(id, panic))
                }
                Stage::Cancelled => Err(JoinError::cancelled(id)),
                Stage::Future | Stage::Empty => panic!("JoinHandle polled after completion"),
            }
        })
    }
}
