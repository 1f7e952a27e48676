//! The lines and the pieces of a reader as streams.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use pin_project_lite::pin_project;

use crate::io::{AsyncBufRead, Lines, Split};

macro_rules! pinned_wrapper {
    ($(#[$doc:meta])* $name:ident, $inner:ident, $argument:ident, $item:ty, $poll:ident) => {
        pin_project! {
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name<R> {
                #[pin]
                inner: $inner<R>,
            }
        }

        impl<R> $name<R> {
            /// Creates a stream from it.
            pub fn new($argument: $inner<R>) -> Self {
                Self { inner: $argument }
            }

            /// Returns the value that the stream was created from.
            pub fn into_inner(self) -> $inner<R> {
                self.inner
            }

            /// Returns a pinned reference to the value that the stream was created from.
            pub fn as_pin_mut(self: Pin<&mut Self>) -> Pin<&mut $inner<R>> {
                self.project().inner
            }
        }

        impl<R: AsyncBufRead> Stream for $name<R> {
            type Item = io::Result<$item>;

            fn poll_next(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<Self::Item>> {
                self.project().inner.$poll(context).map(Result::transpose)
            }
        }

        impl<R> AsRef<$inner<R>> for $name<R> {
            fn as_ref(&self) -> &$inner<R> {
                &self.inner
            }
        }

        impl<R> AsMut<$inner<R>> for $name<R> {
            fn as_mut(&mut self) -> &mut $inner<R> {
                &mut self.inner
            }
        }
    };
}

pinned_wrapper! {
    /// A stream of the lines of a reader.
    ///
    /// # Examples
    ///
    /// With `StreamExt` of the crate `futures-util`:
    ///
    /// ```
    /// use blitz_io::io::AsyncBufReadExt;
    /// use blitz_io::stream::wrappers::LinesStream; // was: tokio_stream::wrappers
    /// use futures_util::TryStreamExt;
    ///
    /// # pollster::block_on(async {
    /// let lines = LinesStream::new(AsyncBufReadExt::lines(&b"one\r\ntwo"[..]));
    /// assert_eq!(lines.try_collect::<Vec<_>>().await?, ["one", "two"]);
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    LinesStream, Lines, lines, String, poll_next_line
}

pinned_wrapper! {
    /// A stream of the pieces of a reader between the occurrences of a byte.
    ///
    /// # Examples
    ///
    /// With `StreamExt` of the crate `futures-util`:
    ///
    /// ```
    /// use blitz_io::io::AsyncBufReadExt;
    /// use blitz_io::stream::wrappers::SplitStream; // was: tokio_stream::wrappers
    /// use futures_util::TryStreamExt;
    ///
    /// # pollster::block_on(async {
    /// let fields = SplitStream::new(AsyncBufReadExt::split(&b"a,b"[..], b','));
    /// assert_eq!(fields.try_collect::<Vec<_>>().await?, [b"a", b"b"]);
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    SplitStream, Split, split, Vec<u8>, poll_next_segment
}
