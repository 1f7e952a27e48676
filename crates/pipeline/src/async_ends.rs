//! `AsyncSource` and `AsyncSink`: the ends of a pipeline that runs on tasks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A source that may have to wait for its next item.
pub struct AsyncSource<'a, P, E>(Box<dyn Next<P, E> + 'a>);

/// A sink that may have to wait until an item is written.
pub struct AsyncSink<'a, T, E>(Box<dyn Write<T, E> + 'a>);

trait Next<P, E>: Send {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<P>, E>>;
}

trait Write<T, E>: Send {
    /// Starts to write a value. The previous one has been written.
    fn write(&mut self, value: T);
    /// Completes when the last value has been written.
    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>>;
    /// Ends the sink after everything has been written.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>>;
}

impl<'a, P, E> AsyncSource<'a, P, E>
where
    P: Send + 'a,
    E: Send + 'a,
{
    /// Creates a source from a state and a closure that returns a future of the next item
    /// and the state after it, or of `None` at the end. It works like `try_unfold` of the
    /// crate `futures`.
    ///
    /// ```
    /// use std::io;
    /// use blitz_io::io::{AsyncRead, AsyncReadExt};
    /// use blitz_io::pipeline::AsyncSource;
    ///
    /// /// Blocks of 64 KiB of a file or a socket.
    /// fn blocks<R>(input: R) -> AsyncSource<'static, Vec<u8>, io::Error>
    /// where
    ///     R: AsyncRead + Unpin + Send + 'static,
    /// {
    ///     AsyncSource::unfold(input, |mut input| async move {
    ///         let mut block = Vec::with_capacity(1 << 16);
    ///         let read = (&mut input).take(1 << 16).read_to_end(&mut block).await?;
    ///         Ok((read > 0).then_some((block, input)))
    ///     })
    /// }
    /// # drop(blocks(blitz_io::io::empty()));
    /// ```
    pub fn unfold<S, F>(state: S, next: impl FnMut(S) -> F + Send + 'a) -> Self
    where
        S: Send + 'a,
        F: Future<Output = Result<Option<(P, S)>, E>> + Send + 'a,
    {
        Self(Box::new(Unfold {
            state: Some(state),
            next,
            future: Box::pin(None),
        }))
    }

    /// Creates a source from a closure that polls, like Tokio's `poll_` functions or a
    /// `Stream`: when it returns `Pending`, it has arranged a wake-up. It is not called
    /// again after `None` or an error.
    pub fn poll_fn(
        next: impl FnMut(&mut Context<'_>) -> Poll<Result<Option<P>, E>> + Send + 'a,
    ) -> Self {
        Self(Box::new(PollNext(next)))
    }

    /// Creates a source from a closure that never has to wait.
    pub fn ready(mut next: impl FnMut() -> Result<Option<P>, E> + Send + 'a) -> Self {
        Self::poll_fn(move |_| Poll::Ready(next()))
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<P>, E>> {
        self.0.poll_next(cx)
    }
}

struct PollNext<F>(F);

impl<P, E, F> Next<P, E> for PollNext<F>
where
    F: FnMut(&mut Context<'_>) -> Poll<Result<Option<P>, E>> + Send,
{
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<P>, E>> {
        (self.0)(cx)
    }
}

struct Unfold<S, N, F> {
    /// The state between two items, or `None` at the end.
    state: Option<S>,
    next: N,
    future: Pin<Box<Option<F>>>,
}

impl<P, E, S, N, F> Next<P, E> for Unfold<S, N, F>
where
    S: Send,
    N: FnMut(S) -> F + Send,
    F: Future<Output = Result<Option<(P, S)>, E>> + Send,
{
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<P>, E>> {
        if let Some(state) = self.state.take() {
            self.future.set(Some((self.next)(state)));
        }
        let Some(future) = self.future.as_mut().as_pin_mut() else {
            return Poll::Ready(Ok(None));
        };
        let next = ready!(future.poll(cx));
        self.future.set(None);
        Poll::Ready(next.map(|next| {
            let (item, state) = next?;
            self.state = Some(state);
            Some(item)
        }))
    }
}

impl<'a, T, E> AsyncSink<'a, T, E>
where
    T: Send + 'a,
    E: Send + 'a,
{
    /// Creates a sink from a state and a closure that writes an item and returns the state.
    ///
    /// After an error the closure is not called again, not even for earlier items if the
    /// pipeline is [`unordered`](crate::Pipeline::unordered).
    ///
    /// The state is dropped when the run has ended. If something must be flushed, use
    /// [`fold_with_end`](Self::fold_with_end).
    pub fn fold<S, F>(state: S, write: impl FnMut(S, T) -> F + Send + 'a) -> Self
    where
        S: Send + 'a,
        F: Future<Output = Result<S, E>> + Send + 'a,
    {
        Self::fold_with_end(state, write, |_| std::future::ready(Ok(())))
    }

    /// Creates a sink from a state and two closures. `write` writes an item and returns the
    /// state. `end` takes the state after everything has been written, to flush it or to
    /// pass it on; it is not called if the run fails or is cancelled.
    ///
    /// ```
    /// use std::io;
    /// use blitz_io::io::{AsyncWrite, AsyncWriteExt};
    /// use blitz_io::pipeline::AsyncSink;
    ///
    /// fn write_to<W>(output: W) -> AsyncSink<'static, Vec<u8>, io::Error>
    /// where
    ///     W: AsyncWrite + Unpin + Send + 'static,
    /// {
    ///     AsyncSink::fold_with_end(
    ///         output,
    ///         |mut output, block: Vec<u8>| async move {
    ///             output.write_all(&block).await?;
    ///             Ok(output)
    ///         },
    ///         |mut output| async move { output.flush().await },
    ///     )
    /// }
    /// # drop(write_to(blitz_io::io::sink()));
    /// ```
    pub fn fold_with_end<S, F, G>(
        state: S,
        write: impl FnMut(S, T) -> F + Send + 'a,
        end: impl FnOnce(S) -> G + Send + 'a,
    ) -> Self
    where
        S: Send + 'a,
        F: Future<Output = Result<S, E>> + Send + 'a,
        G: Future<Output = Result<(), E>> + Send + 'a,
    {
        Self(Box::new(Fold {
            state: Some(state),
            write,
            future: Box::pin(None),
            end: Some(end),
            ending: Box::pin(None),
        }))
    }

    /// Creates a sink from a closure that never has to wait.
    pub fn ready(write: impl FnMut(T) -> Result<(), E> + Send + 'a) -> Self {
        Self(Box::new(Ready { value: None, write }))
    }

    pub(crate) fn write(&mut self, value: T) {
        self.0.write(value);
    }

    pub(crate) fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.0.poll_written(cx)
    }

    pub(crate) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.0.poll_end(cx)
    }
}

struct Ready<T, F> {
    value: Option<T>,
    write: F,
}

impl<T, E, F> Write<T, E> for Ready<T, F>
where
    T: Send,
    F: FnMut(T) -> Result<(), E> + Send,
{
    fn write(&mut self, value: T) {
        self.value = Some(value);
    }

    fn poll_written(&mut self, _: &mut Context<'_>) -> Poll<Result<(), E>> {
        Poll::Ready(self.value.take().map_or(Ok(()), &mut self.write))
    }

    fn poll_end(&mut self, _: &mut Context<'_>) -> Poll<Result<(), E>> {
        Poll::Ready(Ok(()))
    }
}

struct Fold<S, W, F, D, G> {
    /// The state between two items.
    state: Option<S>,
    write: W,
    future: Pin<Box<Option<F>>>,
    end: Option<D>,
    ending: Pin<Box<Option<G>>>,
}

impl<T, E, S, W, F, D, G> Write<T, E> for Fold<S, W, F, D, G>
where
    S: Send,
    W: FnMut(S, T) -> F + Send,
    F: Future<Output = Result<S, E>> + Send,
    D: FnOnce(S) -> G + Send,
    G: Future<Output = Result<(), E>> + Send,
{
    fn write(&mut self, value: T) {
        // Without a state it has failed: then the run only ends what has begun.
        if let Some(state) = self.state.take() {
            self.future.set(Some((self.write)(state, value)));
        }
    }

    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        let Some(future) = self.future.as_mut().as_pin_mut() else {
            return Poll::Ready(Ok(()));
        };
        let written = ready!(future.poll(cx));
        self.future.set(None);
        Poll::Ready(written.map(|state| self.state = Some(state)))
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        if let (Some(end), Some(state)) = (self.end.take(), self.state.take()) {
            self.ending.set(Some(end(state)));
        }
        let Some(ending) = self.ending.as_mut().as_pin_mut() else {
            return Poll::Ready(Ok(()));
        };
        let ended = ready!(ending.poll(cx));
        self.ending.set(None);
        Poll::Ready(ended)
    }
}

impl<P, E> fmt::Debug for AsyncSource<'_, P, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncSource").finish_non_exhaustive()
    }
}

impl<T, E> fmt::Debug for AsyncSink<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncSink").finish_non_exhaustive()
    }
}
