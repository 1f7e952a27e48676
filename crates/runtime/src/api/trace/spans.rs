//! The spans of tasks, of closures for blocking work, and of futures that block a thread.

use std::any::type_name;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tracing::instrument::{Instrument, Instrumented};
use tracing::{Span, trace_span};

use super::{SpawnMeta, spawn_meta};
use crate::api::root_waker::RootWakers;
use crate::kernel::context;
use crate::kernel::task::{Header, Id};

/// Calls a function of this file, which gives a future its span.
macro_rules! traced {
    ($function:ident $(::<$closure:ty>)? ($future:expr $(, $argument:expr)*)) => {
        $crate::api::trace::$function$(::<$closure, _>)?($future $(, $argument)*)
    };
}

pub(crate) use traced;

impl SpawnMeta<'_> {
    /// Returns the original size, if the task's is another one.
    fn if_not(&self, size: usize) -> Option<usize> {
        (self.original_size != size).then_some(self.original_size)
    }
}

pin_project! {
    /// The future of a task, whose header knows the span.
    pub(crate) struct Traced<F> {
        is_known: bool,
        #[pin]
        future: Instrumented<F>,
    }
}

impl<F: Future> Future for Traced<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if !*this.is_known {
            *this.is_known = true;
            make_known(this.future.as_ref().get_ref().span());
        }
        this.future.poll(cx)
    }
}

pin_project! {
    /// A future that a thread blocks for, and that makes its wakers known.
    pub(crate) struct Blocking<F> {
        wakers: RootWakers,
        #[pin]
        future: Instrumented<F>,
    }
}

impl<F: Future> Future for Blocking<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let span = this.future.as_ref().get_ref().span().id();
        match span {
            Some(span) => {
                let poll = |cx: &mut Context<'_>| this.future.poll(cx);
                this.wakers.poll(span.into_u64(), cx.waker(), poll)
            }
            None => this.future.poll(cx),
        }
    }
}

/// Lets the current task know its span.
#[cold]
fn make_known(span: &Span) {
    let header = context::with(context::Context::task).cast_mut();
    let header = NonNull::new(header.cast::<Header>());
    if let Some((header, span)) = header.zip(span.id()) {
        // SAFETY: the task is being polled, and so exists.
        unsafe { header.as_ref() }.span.set(span.into_u64());
    }
}

/// Polls and drops the future of a task within its span.
pub(crate) fn task<F>(future: F, kind: &'static str, meta: SpawnMeta<'_>, id: Id) -> Traced<F> {
    Traced {
        is_known: false,
        future: within_span(future, kind, meta, id),
    }
}

fn within_span<F>(future: F, kind: &'static str, meta: SpawnMeta<'_>, id: Id) -> Instrumented<F> {
    let size = size_of::<F>();
    future.instrument(trace_span!(
        target: "tokio::task",
        parent: None,
        "runtime.spawn",
        %kind,
        task.name = %meta.name.unwrap_or_default(),
        task.id = id.as_u64(),
        original_size.bytes = meta.if_not(size),
        size.bytes = size,
        loc.file = meta.spawned_at.file(),
        loc.line = meta.spawned_at.line(),
        loc.col = meta.spawned_at.column(),
    ))
}

/// Polls and drops a future that a thread blocks for within its span.
#[track_caller]
pub(crate) fn block_on<F>(future: F) -> Blocking<F> {
    Blocking {
        wakers: RootWakers::new(),
        future: within_span(future, "block_on", spawn_meta!(F), Id::next()),
    }
}

/// Polls and drops the future of a closure `F`, which a thread of the pool runs, within its span.
pub(crate) fn blocking<F, Fut>(future: Fut, meta: SpawnMeta<'_>, id: Id) -> Instrumented<Fut> {
    let size = size_of::<F>();
    future.instrument(trace_span!(
        target: "tokio::task::blocking",
        "runtime.spawn",
        kind = %"blocking",
        task.name = %meta.name.unwrap_or_default(),
        task.id = id.as_u64(),
        "fn" = %type_name::<F>(),
        original_size.bytes = meta.if_not(size),
        size.bytes = size,
        loc.file = meta.spawned_at.file(),
        loc.line = meta.spawned_at.line(),
        loc.col = meta.spawned_at.column(),
    ))
}
