//! With the feature `tracing`: a span for each task, with the target, the name and the
//! fields of Tokio's, so that tools which look at those find ours. Without it, all of
//! this compiles to nothing.

#[cfg(feature = "tracing")]
pub(crate) use spans::{SpawnMeta, block_on, blocking, task};

#[cfg(not(feature = "tracing"))]
pub(crate) use nothing::{SpawnMeta, block_on, blocking, task};

#[cfg(feature = "tracing")]
mod spans {
    use std::any::type_name;
    use std::panic::Location;

    use tracing::instrument::{Instrument, Instrumented};
    use tracing::{Span, trace_span};

    use crate::core::Id;

    /// What the span says of a task.
    #[derive(Clone, Copy)]
    pub(crate) struct SpawnMeta<'a> {
        name: Option<&'a str>,
        /// The size of the future or closure that the user gave.
        original_size: usize,
        spawned_at: &'static Location<'static>,
    }

    impl<'a> SpawnMeta<'a> {
        /// A task without a name.
        #[track_caller]
        pub(crate) fn unnamed(original_size: usize) -> Self {
            Self::new(None, original_size)
        }

        /// A task that may have a name.
        #[track_caller]
        pub(crate) fn new(name: Option<&'a str>, original_size: usize) -> Self {
            Self {
                name,
                original_size,
                spawned_at: Location::caller(),
            }
        }

        /// The original size, if the task's is another one.
        fn if_not(&self, size: usize) -> Option<usize> {
            (self.original_size != size).then_some(self.original_size)
        }
    }

    /// Polls and drops `future` within its span.
    pub(crate) fn task<F>(
        future: F,
        kind: &'static str,
        meta: SpawnMeta<'_>,
        id: Id,
    ) -> Instrumented<F> {
        future.instrument(task_span(kind, meta, id, size_of::<F>()))
    }

    /// The same for a future that a thread blocks for.
    #[track_caller]
    pub(crate) fn block_on<F>(future: F) -> Instrumented<F> {
        let meta = SpawnMeta::unnamed(size_of::<F>());
        task(future, "block_on", meta, Id::next())
    }

    fn task_span(kind: &'static str, meta: SpawnMeta<'_>, id: Id, size: usize) -> Span {
        trace_span!(
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
        )
    }

    /// The same for a closure `F` that a thread of the pool runs.
    pub(crate) fn blocking<F, Fut>(future: Fut, meta: SpawnMeta<'_>, id: Id) -> Instrumented<Fut> {
        let size = size_of::<F>();
        let span = trace_span!(
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
        );
        future.instrument(span)
    }
}

#[cfg(not(feature = "tracing"))]
mod nothing {
    use std::marker::PhantomData;

    use crate::core::Id;

    /// Nothing: there are no spans.
    #[derive(Clone, Copy)]
    pub(crate) struct SpawnMeta<'a>(PhantomData<&'a ()>);

    impl SpawnMeta<'_> {
        #[inline(always)]
        pub(crate) fn unnamed(_: usize) -> Self {
            Self(PhantomData)
        }
    }

    #[inline(always)]
    pub(crate) fn block_on<F>(future: F) -> F {
        future
    }

    #[inline(always)]
    pub(crate) fn task<F>(future: F, _: &'static str, _: SpawnMeta<'_>, _: Id) -> F {
        future
    }

    #[inline(always)]
    #[allow(clippy::extra_unused_type_parameters, reason = "the other one uses it")]
    pub(crate) fn blocking<F, Fut>(future: Fut, _: SpawnMeta<'_>, _: Id) -> Fut {
        future
    }
}
