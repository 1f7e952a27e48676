//! How a pipeline is put together: sources, and stages one after the other.
//!
//! No stage of an item has to wait for another worker, so one worker runs all stages of an
//! item in one go: each passes its results directly to the next.

use std::fmt;

use crate::async_ends::{AsyncSink, AsyncSource};
use crate::closures::{MakeWork, Sink, Source};
use crate::emit::Emit;
use crate::pipeline::Pipeline;

/// A pipeline without its sink: sources of `P`, and stages that make `T` of them.
///
/// Made by [`source`], [`iter`], [`batches`] and [`joined`]; for tasks, by
/// [`async_source`], [`async_joined`] and [`on_tasks`](Stages::on_tasks).
#[must_use = "a pipeline does nothing until it runs"]
pub struct Stages<'a, P, T, E, S = Source<'a, P, E>> {
    sources: Vec<S>,
    work: MakeWork<'a, P, T, E>,
}

/// Begins a pipeline with a closure that returns the next item, or `None` at the end.
///
/// No two threads call it at once, but different threads may call it one after the other.
///
/// ```
/// use std::io::{self, Read};
/// use blitz_io::pipeline;
///
/// let mut input = &b"a rather short input"[..];
/// let mut upper = Vec::new();
/// pipeline::source(|| {
///     let mut block = vec![0; 8];
///     let read = input.read(&mut block)?;
///     block.truncate(read);
///     Ok::<_, io::Error>((read != 0).then_some(block))
/// })
/// .map(|block| block.to_ascii_uppercase())
/// .for_each(|block| upper.extend(block))
/// .run()?;
/// assert_eq!(upper, b"A RATHER SHORT INPUT");
/// # Ok::<_, pipeline::Error<io::Error>>(())
/// ```
pub fn source<'a, T, E>(
    next: impl FnMut() -> Result<Option<T>, E> + Send + 'a,
) -> Stages<'a, T, T, E>
where
    T: Send + 'a,
    E: Send + 'a,
{
    one(Box::new(next))
}

/// Begins a pipeline that runs on tasks.
///
/// ```
/// use std::convert::Infallible;
/// use blitz_io::pipeline::{self, AsyncSink, AsyncSource};
///
/// # blitz_io::runtime::Runtime::new().unwrap().block_on(async {
/// let source = AsyncSource::unfold(3, |n| async move {
///     Ok::<_, Infallible>((n > 0).then_some((n, n - 1)))
/// });
/// let progress = pipeline::async_source(source)
///     .map(|n| n * 10)
///     .async_sink(AsyncSink::ready(|n| {
///         assert!([30, 20, 10].contains(&n));
///         Ok(())
///     }))
///     .run_tasks(|task| drop(blitz_io::spawn(task)))
///     .await
///     .unwrap();
/// assert_eq!(progress.written, 3);
/// # });
/// ```
pub fn async_source<'a, T, E>(
    source: AsyncSource<'a, T, E>,
) -> Stages<'a, T, T, E, AsyncSource<'a, T, E>>
where
    T: Send + 'a,
    E: Send + 'a,
{
    one(source)
}

fn one<'a, T, E, S>(source: S) -> Stages<'a, T, T, E, S> {
    Stages {
        sources: vec![source],
        work: Box::new(|| {
            Box::new(|take, emit| {
                emit.push(take(0));
                Ok(())
            })
        }),
    }
}

/// Begins a pipeline with the items of an iterator.
///
/// Each item costs about as much as a lock; see [`batches`] for small items.
///
/// `E` is the type of errors. If neither a stage nor the sink says it, the program does, as in
/// `iter::<_, Infallible>(…)`.
///
/// ```
/// use blitz_io::pipeline;
///
/// let mut sum = 0;
/// pipeline::iter(1..=100_u64)
///     .try_map(|n| n.checked_mul(n).ok_or("too large"))
///     .for_each(|square| sum += square)
///     .run()
///     .unwrap();
/// assert_eq!(sum, 338_350);
/// ```
pub fn iter<'a, I, E>(items: I) -> Stages<'a, I::Item, I::Item, E>
where
    I: IntoIterator,
    I::IntoIter: Send + 'a,
    I::Item: Send + 'a,
    E: Send + 'a,
{
    let mut items = items.into_iter().fuse();
    source(move || Ok(items.next()))
}

/// Begins a pipeline with the items of an iterator, in vectors of `size` items (the last
/// one may have fewer).
///
/// # Panics
///
/// Panics if `size` is 0.
///
/// ```
/// use std::convert::Infallible;
/// use blitz_io::pipeline;
///
/// let mut sums = Vec::new();
/// pipeline::batches::<_, Infallible>(0..10, 4)
///     .map(|batch| batch.iter().sum::<i32>())
///     .for_each(|sum| sums.push(sum))
///     .run()
///     .unwrap();
/// assert_eq!(sums, [6, 22, 17]);
/// ```
#[track_caller]
pub fn batches<'a, I, E>(items: I, size: usize) -> Stages<'a, Vec<I::Item>, Vec<I::Item>, E>
where
    I: IntoIterator,
    I::IntoIter: Send + 'a,
    I::Item: Send + 'a,
    E: Send + 'a,
{
    assert!(size > 0, "a batch has at least one item");
    let mut items = items.into_iter().fuse();
    source(move || {
        let batch: Vec<_> = items.by_ref().take(size).collect();
        Ok((!batch.is_empty()).then_some(batch))
    })
}

/// Begins a pipeline with several sources that are read in step: item `n` has the `n`th
/// part of each. Different workers may read them at the same time.
///
/// The run fails with [`Error::Uneven`](crate::Error::Uneven) if one source ends before
/// another.
///
/// ```
/// use std::convert::Infallible;
/// use blitz_io::pipeline;
///
/// let mut one = 0..3;
/// let mut two = 10..13;
/// let next = |numbers: &mut std::ops::Range<i32>| Ok::<_, Infallible>(numbers.next());
/// let mut sums = Vec::new();
/// pipeline::joined([
///     Box::new(|| next(&mut one)) as Box<dyn FnMut() -> _ + Send>,
///     Box::new(|| next(&mut two)),
/// ])
/// .map(|[a, b]| a + b)
/// .for_each(|sum| sums.push(sum))
/// .run()
/// .unwrap();
/// assert_eq!(sums, [10, 12, 14]);
/// ```
///
/// # Panics
///
/// Panics if there are no sources.
#[track_caller]
pub fn joined<'a, P, E, F, const N: usize>(sources: [F; N]) -> Stages<'a, P, [P; N], E>
where
    F: FnMut() -> Result<Option<P>, E> + Send + 'a,
    P: Send + 'a,
    E: Send + 'a,
{
    let sources = sources
        .into_iter()
        .map(|next| Box::new(next) as Source<'a, P, E>);
    many::<_, _, _, N>(sources.collect())
}

/// Begins a pipeline that runs on tasks, with several sources that are read in step: see
/// [`joined`].
///
/// # Panics
///
/// Panics if there are no sources.
#[track_caller]
pub fn async_joined<'a, P, E, const N: usize>(
    sources: [AsyncSource<'a, P, E>; N],
) -> Stages<'a, P, [P; N], E, AsyncSource<'a, P, E>>
where
    P: Send + 'a,
    E: Send + 'a,
{
    many(sources.into())
}

#[track_caller]
fn many<'a, P, E, S, const N: usize>(sources: Vec<S>) -> Stages<'a, P, [P; N], E, S> {
    assert!(N > 0, "a pipeline has at least one source");
    Stages {
        sources,
        work: Box::new(|| {
            Box::new(|take, emit| {
                emit.push(std::array::from_fn(take));
                Ok(())
            })
        }),
    }
}

impl<'a, P, T, E, Src> Stages<'a, P, T, E, Src>
where
    P: Send + 'a,
    T: 'a,
    E: Send + 'a,
{
    /// Adds a stage that makes one value of each.
    pub fn map<U: 'a>(self, stage: impl Fn(T) -> U + Send + Sync + 'a) -> Stages<'a, P, U, E, Src> {
        self.flat_map_with(
            || (),
            move |(), value, emit| {
                emit.push(stage(value));
                Ok(())
            },
        )
    }

    /// Adds a stage that makes one value of each, or fails.
    pub fn try_map<U: 'a>(
        self,
        stage: impl Fn(T) -> Result<U, E> + Send + Sync + 'a,
    ) -> Stages<'a, P, U, E, Src> {
        self.flat_map_with(
            || (),
            move |(), value, emit| {
                emit.push(stage(value)?);
                Ok(())
            },
        )
    }

    /// Adds a stage that makes one value of each, or fails, with a state that each worker
    /// makes once, when it begins: a buffer, a compressor, a counter.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use blitz_io::pipeline;
    ///
    /// let mut lines = Vec::new();
    /// pipeline::iter::<_, Infallible>([3, 1, 2])
    ///     .map_with(String::new, |buffer, n| {
    ///         buffer.clear();
    ///         for _ in 0..n {
    ///             buffer.push('x');
    ///         }
    ///         Ok(buffer.len())
    ///     })
    ///     .for_each(|length| lines.push(length))
    ///     .run()
    ///     .unwrap();
    /// assert_eq!(lines, [3, 1, 2]);
    /// ```
    pub fn map_with<S: Send + 'a, U: 'a>(
        self,
        state: impl Fn() -> S + Send + Sync + 'a,
        stage: impl Fn(&mut S, T) -> Result<U, E> + Send + Sync + 'a,
    ) -> Stages<'a, P, U, E, Src> {
        self.flat_map_with(state, move |state, value, emit| {
            emit.push(stage(state, value)?);
            Ok(())
        })
    }

    /// Adds a stage that makes no value, one or many of each, or fails.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use blitz_io::pipeline;
    ///
    /// let mut words = Vec::new();
    /// pipeline::iter::<_, Infallible>(["one two", "", "three"])
    ///     .flat_map(|line: &str, emit| {
    ///         line.split_whitespace().for_each(|word| emit.push(word));
    ///         Ok(())
    ///     })
    ///     .for_each(|word| words.push(word))
    ///     .run()
    ///     .unwrap();
    /// assert_eq!(words, ["one", "two", "three"]);
    /// ```
    pub fn flat_map<U: 'a>(
        self,
        stage: impl Fn(T, &mut Emit<'_, U>) -> Result<(), E> + Send + Sync + 'a,
    ) -> Stages<'a, P, U, E, Src> {
        self.flat_map_with(|| (), move |(), value, emit| stage(value, emit))
    }

    /// Adds a stage that makes no value, one or many of each, or fails, with a state for
    /// each worker.
    pub fn flat_map_with<S: Send + 'a, U: 'a>(
        self,
        state: impl Fn() -> S + Send + Sync + 'a,
        stage: impl Fn(&mut S, T, &mut Emit<'_, U>) -> Result<(), E> + Send + Sync + 'a,
    ) -> Stages<'a, P, U, E, Src> {
        let (before, stage) = (self.work, std::sync::Arc::new(stage));
        let work: MakeWork<'a, P, U, E> = Box::new(move || {
            let (mut before, mut state, stage) = (before(), state(), stage.clone());
            Box::new(move |take, emit| {
                let (mut failed, sinks) = (Ok(()), emit.sinks());
                let mut next = |_, value| {
                    if failed.is_ok() {
                        failed = stage(&mut state, value, emit);
                    }
                };
                before(take, &mut Emit::new(sinks, &mut next))?;
                failed
            })
        });
        Stages {
            sources: self.sources,
            work,
        }
    }
}

impl<'a, P, T, E> Stages<'a, P, T, E>
where
    P: Send + 'a,
    T: 'a,
    E: Send + 'a,
{
    /// Lets the pipeline run on tasks, although its sources block. This is for sources that
    /// never block for long: an iterator, a buffer in memory.
    pub fn on_tasks(self) -> Stages<'a, P, T, E, AsyncSource<'a, P, E>> {
        Stages {
            sources: self.sources.into_iter().map(AsyncSource::ready).collect(),
            work: self.work,
        }
    }

    /// Ends the pipeline with a closure that takes all results of the stages, in order.
    ///
    /// No two threads call it at once, but different threads may call it one after the other. Its output is
    /// not flushed: do that after the run has ended.
    pub fn sink(self, sink: impl FnMut(T) -> Result<(), E> + Send + 'a) -> Pipeline<'a, P, T, E>
    where
        T: Send,
    {
        Pipeline::new(self.sources, self.work, vec![Box::new(sink)])
    }

    /// Ends the pipeline with a closure that cannot fail.
    pub fn for_each(self, mut sink: impl FnMut(T) + Send + 'a) -> Pipeline<'a, P, T, E>
    where
        T: Send,
    {
        self.sink(move |value| {
            sink(value);
            Ok(())
        })
    }

    /// Ends the pipeline with several sinks, and a last stage that chooses the sink for
    /// each value: see [`Emit::push_to`].
    ///
    /// Different workers may use the sinks at the same time. An item leaves memory when all
    /// sinks have finished it.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use blitz_io::pipeline;
    ///
    /// let (mut even, mut odd) = (Vec::new(), Vec::new());
    /// let mut keep = |numbers: &mut Vec<u32>, n| Ok::<_, Infallible>(numbers.push(n));
    /// pipeline::iter(0..6)
    ///     .sinks(
    ///         |n, emit| Ok(emit.push_to(n as usize % 2, n)),
    ///         [
    ///             Box::new(|n| keep(&mut even, n)) as Box<dyn FnMut(u32) -> _ + Send>,
    ///             Box::new(|n| Ok(odd.push(n))),
    ///         ],
    ///     )
    ///     .run()
    ///     .unwrap();
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3, 5]));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if there are no sinks.
    #[track_caller]
    pub fn sinks<U, F>(
        self,
        split: impl Fn(T, &mut Emit<'_, U>) -> Result<(), E> + Send + Sync + 'a,
        sinks: impl IntoIterator<Item = F>,
    ) -> Pipeline<'a, P, U, E>
    where
        F: FnMut(U) -> Result<(), E> + Send + 'a,
        U: Send + 'a,
    {
        let sinks: Vec<_> = sinks
            .into_iter()
            .map(|sink| Box::new(sink) as Sink<'a, U, E>)
            .collect();
        assert!(!sinks.is_empty(), "a pipeline has at least one sink");
        let stages = self.flat_map(split);
        Pipeline::new(stages.sources, stages.work, sinks)
    }
}

impl<'a, P, T, E> Stages<'a, P, T, E, AsyncSource<'a, P, E>>
where
    P: Send + 'a,
    T: Send + 'a,
    E: Send + 'a,
{
    /// Ends a pipeline that runs on tasks.
    pub fn async_sink(
        self,
        sink: AsyncSink<'a, T, E>,
    ) -> Pipeline<'a, P, T, E, AsyncSource<'a, P, E>, AsyncSink<'a, T, E>> {
        Pipeline::new(self.sources, self.work, vec![sink])
    }

    /// Ends a pipeline that runs on tasks with several sinks: see [`sinks`](Stages::sinks).
    ///
    /// # Panics
    ///
    /// Panics if there are no sinks.
    #[track_caller]
    pub fn async_sinks<U: Send + 'a>(
        self,
        split: impl Fn(T, &mut Emit<'_, U>) -> Result<(), E> + Send + Sync + 'a,
        sinks: impl IntoIterator<Item = AsyncSink<'a, U, E>>,
    ) -> Pipeline<'a, P, U, E, AsyncSource<'a, P, E>, AsyncSink<'a, U, E>> {
        let sinks: Vec<_> = sinks.into_iter().collect();
        assert!(!sinks.is_empty(), "a pipeline has at least one sink");
        let stages = self.flat_map(split);
        Pipeline::new(stages.sources, stages.work, sinks)
    }
}

impl<P, T, E, S> fmt::Debug for Stages<'_, P, T, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stages")
            .field("sources", &self.sources.len())
            .finish_non_exhaustive()
    }
}
