//! Gives the types of this crate the traits of other packages.

// hyper has neither trait, and no type here gets `AsyncSeek` of `futures-io`.
#[cfg(any(feature = "futures-io", feature = "tokio"))]
use crate::AsyncBufRead;
#[cfg(feature = "tokio")]
use crate::AsyncSeek;
use crate::{
    AsyncRead, AsyncWrite, BufReader, BufStream, BufWriter, Chain, Compat, DuplexStream, Empty,
    Join, ReadHalf, Repeat, SimplexStream, Sink, Take, WriteHalf, foreign_traits,
};

foreign_traits!([R: AsyncRead] BufReader<R>: read, buf_read);
foreign_traits!([R: AsyncRead + AsyncWrite] BufReader<R>: write);
foreign_traits!([R: AsyncRead + AsyncSeek] BufReader<R>: seek);
foreign_traits!([W: AsyncWrite] BufWriter<W>: write);
foreign_traits!([W: AsyncWrite + AsyncRead] BufWriter<W>: read);
foreign_traits!([W: AsyncWrite + AsyncBufRead] BufWriter<W>: buf_read);
foreign_traits!([W: AsyncWrite + AsyncSeek] BufWriter<W>: seek);
foreign_traits!([S: AsyncRead + AsyncWrite] BufStream<S>: read, buf_read, write);
foreign_traits!([S: AsyncRead + AsyncWrite + AsyncSeek] BufStream<S>: seek);
foreign_traits!([T: AsyncRead, U: AsyncRead] Chain<T, U>: read);
foreign_traits!([T: AsyncBufRead, U: AsyncBufRead] Chain<T, U>: buf_read);
foreign_traits!([R: AsyncRead] Take<R>: read);
foreign_traits!([R: AsyncBufRead] Take<R>: buf_read);
foreign_traits!([R: AsyncRead, W] Join<R, W>: read);
foreign_traits!([R: AsyncBufRead, W] Join<R, W>: buf_read);
foreign_traits!([R, W: AsyncWrite] Join<R, W>: write);
foreign_traits!([T: AsyncRead] ReadHalf<T>: read);
foreign_traits!([T: AsyncWrite] WriteHalf<T>: write);
foreign_traits!([] DuplexStream: read, write);
foreign_traits!([] SimplexStream: read, write);
foreign_traits!([] Empty: read, buf_read, write, seek);
foreign_traits!([] Repeat: read);
foreign_traits!([] Sink: write);
foreign_traits!([T: AsyncRead] Compat<T>: read);
foreign_traits!([T: AsyncBufRead] Compat<T>: buf_read);
foreign_traits!([T: AsyncWrite] Compat<T>: write);
foreign_traits!([T: AsyncSeek] Compat<T>: seek);
