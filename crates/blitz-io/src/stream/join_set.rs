//! The results of tasks as a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::task::{JoinError, JoinSet};

/// A stream of the results of a [`JoinSet`], in the order in which the tasks end. It ends when
/// the set is empty.
///
/// # Examples
///
/// With `StreamExt` of the crate `futures-util`:
///
/// ```
/// use blitz_io::stream::wrappers::JoinSetStream; // was: tokio_stream::wrappers
/// use blitz_io::task::JoinSet;
/// use futures_util::TryStreamExt;
///
/// # blitz_io::runtime::Runtime::new().unwrap().block_on(async {
/// let squares: JoinSet<u32> = (1..=3).map(|number| async move { number * number }).collect();
/// let mut squares: Vec<u32> = JoinSetStream::new(squares).try_collect().await?;
/// squares.sort();
/// assert_eq!(squares, [1, 4, 9]);
/// # Ok::<(), blitz_io::task::JoinError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct JoinSetStream<T> {
    inner: JoinSet<T>,
}

impl<T> JoinSetStream<T> {
    /// Creates a stream from a set.
    #[must_use]
    pub fn new(join_set: JoinSet<T>) -> Self {
        Self { inner: join_set }
    }

    /// Returns the set.
    #[must_use]
    pub fn into_inner(self) -> JoinSet<T> {
        self.inner
    }
}

impl<T: 'static> Stream for JoinSetStream<T> {
    type Item = Result<T, JoinError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.inner.poll_join_next(context)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let tasks = self.inner.len();
        (tasks, Some(tasks))
    }
}

impl<T> AsRef<JoinSet<T>> for JoinSetStream<T> {
    fn as_ref(&self) -> &JoinSet<T> {
        &self.inner
    }
}

impl<T> AsMut<JoinSet<T>> for JoinSetStream<T> {
    fn as_mut(&mut self) -> &mut JoinSet<T> {
        &mut self.inner
    }
}

impl<T> From<JoinSet<T>> for JoinSetStream<T> {
    fn from(join_set: JoinSet<T>) -> Self {
        Self::new(join_set)
    }
}
