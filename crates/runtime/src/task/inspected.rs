//! The record of a task, with the feature `inspect`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_core::inspect::{Caller, Kind, TaskFacts, TaskState, Wait, Waiter, enter};
use pin_project_lite::pin_project;

use crate::context;
use crate::task::raw::{Header, Id};
use crate::trace::SpawnMeta;

pin_project! {
    /// A task's future with its record. The task drops it, and so the record, before its header.
    pub(crate) struct Inspected<F> {
        // Dropped first: the fields of the future may take long.
        record: Wait,
        id: Id,
        is_known: bool,
        #[pin]
        future: F,
    }
}

/// Gives a task's future its record.
pub(crate) fn inspected<F>(future: F, id: Id, meta: SpawnMeta<'_>) -> Inspected<F> {
    let mut name = [0; 32];
    let given = meta.name.unwrap_or_default().as_bytes();
    let length = given.len().min(name.len());
    name[..length].copy_from_slice(&given[..length]);
    let mut record = Wait::new(Kind::Task, Caller::at(meta.spawned_at));
    let facts = TaskFacts {
        state,
        name,
        is_root: false,
    };
    record.begin_task(id.as_u64(), facts);
    Inspected {
        record,
        id,
        is_known: false,
        future,
    }
}

/// # Safety
///
/// The pointer is to the header of a task that exists.
unsafe fn state(header: *const ()) -> (TaskState, usize) {
    // SAFETY: as this function's caller promises.
    unsafe { &*header.cast::<Header>() }.inspect()
}

impl<F: Future> Future for Inspected<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if !*this.is_known {
            *this.is_known = true;
            let header = context::with(context::Context::task);
            this.record.set_header(header);
        }
        let _entered = enter(Waiter::task(this.id.as_u64()));
        this.record.poll_begins();
        let result = this.future.poll(cx);
        this.record.poll_ends();
        result
    }
}
