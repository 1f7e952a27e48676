//! The record of a task, with the feature `inspect`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_observe::{
    About, AboutRef, Caller, Origin, TaskFacts, TaskReading, Wait, decisions, trace,
};
use pin_project_lite::pin_project;

use crate::api::runtime_id;
use crate::api::trace::SpawnMeta;
use crate::kernel::context;
use crate::kernel::task::{Header, Id};

pin_project! {
    /// A task's future with its record, which a task without a name gets when it first waits. The task
    /// drops it, and so the record, before its header.
    pub(crate) struct Inspected<F> {
        // Dropped first: the fields of the future may take long.
        record: Wait,
        id: Id,
        runtime: runtime_id::Id,
        origin: Origin,
        is_pinned: bool,
        // The record has the task's header.
        is_complete: bool,
        #[pin]
        future: F,
    }

    impl<F> PinnedDrop for Inspected<F> {
        fn drop(this: Pin<&mut Self>) {
            trace::ended(this.id.as_u64());
        }
    }
}

/// Adds the record to a task's future. `is_pinned`: the task stays on the thread of its first poll.
#[inline]
pub(crate) fn inspected<F>(
    future: F,
    id: Id,
    meta: SpawnMeta<'_>,
    runtime: runtime_id::Id,
    is_pinned: bool,
) -> Inspected<F> {
    trace::spawned(id.as_u64(), meta.spawned_at, false);
    let mut record = Wait::new(Caller::at(meta.spawned_at));
    let origin = Origin::of_task();
    if let Some(name) = meta.name {
        decisions::named(id.as_u64(), name);
        begin(&mut record, id, (runtime, origin, is_pinned), name, None);
    }
    Inspected {
        record,
        id,
        runtime,
        origin,
        is_pinned,
        is_complete: false,
        future,
    }
}

/// The runtime of a task, its origin, and whether it stays on the thread of its first poll.
type Spawned = (runtime_id::Id, Origin, bool);

#[cold]
fn begin(
    record: &mut Wait,
    id: Id,
    (runtime, origin, is_pinned): Spawned,
    given: &str,
    job: Option<AboutRef>,
) {
    let mut name = [0; 32];
    let length = given.len().min(name.len());
    name[..length].copy_from_slice(&given.as_bytes()[..length]);
    let facts = TaskFacts {
        state,
        name,
        is_root: false,
        is_pinned,
        job,
        runtime: runtime.number(),
        origin,
    };
    record.begin_task(id.as_u64(), facts);
}

/// The first poll of a task ends without a result.
#[cold]
fn complete(record: &mut Wait, id: Id, spawned: Spawned) {
    if !record.is_recorded() {
        begin(record, id, spawned, "", None);
    }
    record.set_header(context::with(context::Context::task));
}

pin_project! {
    /// A closure for a thread for blocking work, with its record. A task drops it, and so the record.
    pub(crate) struct InspectedJob<F> {
        // Dropped first: it has a pointer to the description.
        record: Wait,
        about: About,
        id: Id,
        #[pin]
        future: F,
    }

    impl<F> PinnedDrop for InspectedJob<F> {
        fn drop(this: Pin<&mut Self>) {
            if this.about.for_record().is_some() {
                trace::ended(this.id.as_u64());
            }
        }
    }
}

/// Adds the record to the future of such a closure, if it is described.
pub(crate) fn job<F>(
    future: F,
    id: Id,
    meta: SpawnMeta<'_>,
    runtime: runtime_id::Id,
    about: About,
) -> InspectedJob<F> {
    let mut record = Wait::new(Caller::at(meta.spawned_at));
    if let Some(job) = about.for_record() {
        trace::spawned(id.as_u64(), meta.spawned_at, true);
        if let Some(name) = meta.name {
            decisions::named(id.as_u64(), name);
        }
        let spawned = (runtime, Origin::of_task(), false);
        begin(&mut record, id, spawned, "", Some(job));
    }
    InspectedJob {
        record,
        about,
        id,
        future,
    }
}

impl<F: Future> Future for InspectedJob<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // A worker is no job: its thread is named in reports.
        let id = this.id.as_u64();
        let _entered = this.about.for_record().map(|_| this.record.enter(id));
        this.future.poll(cx)
    }
}

/// # Safety
///
/// The pointer is to the header of a task that exists.
unsafe fn state(header: *const ()) -> TaskReading {
    // SAFETY: the pointer is to the header of a task that exists.
    unsafe { &*header.cast::<Header>() }.inspect()
}

impl<F: Future> Future for Inspected<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = this.record.enter(this.id.as_u64());
        let result = this.future.poll(cx);
        if result.is_pending() && !*this.is_complete {
            *this.is_complete = true;
            let spawned = (*this.runtime, *this.origin, *this.is_pinned);
            complete(this.record, *this.id, spawned);
        }
        result
    }
}
