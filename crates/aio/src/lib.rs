//! Reading and writing bytes without blocking a thread: the traits of `tokio::io`, and
//! everything that needs nothing but them.
//!
//! * [`AsyncRead`], [`AsyncWrite`], [`AsyncBufRead`] and [`AsyncSeek`], with [`ReadBuf`], and
//!   the traits with the methods to call: [`AsyncReadExt`], [`AsyncWriteExt`],
//!   [`AsyncBufReadExt`], [`AsyncSeekExt`].
//! * [`BufReader`], [`BufWriter`], [`BufStream`], [`copy`], [`copy_buf`],
//!   [`copy_bidirectional`], [`split`], [`join`], [`duplex`], [`simplex`], [`empty`],
//!   [`repeat`], [`sink`].
//! * [`Interest`] and [`Ready`], the types in which a driver reports readiness.
//!
//! Names, signatures, errors, panics and cancel safety are Tokio's. Nothing here needs a
//! runtime or depends on an operating system.
//!
//! ```
//! use blitz_io::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};
//!
//! # pollster::block_on(async {
//! let (mut client, server) = duplex(64);
//! client.write_all(b"first\nsecond\n").await?;
//! client.shutdown().await?;
//!
//! let mut lines = BufReader::new(server).lines();
//! assert_eq!(lines.next_line().await?.as_deref(), Some("first"));
//! assert_eq!(lines.next_line().await?.as_deref(), Some("second"));
//! assert_eq!(lines.next_line().await?, None);
//! # std::io::Result::Ok(()) }).unwrap();
//! ```
//!
//! # Other traits
//!
//! With the features `tokio`, `futures-io` and `hyper`, the concrete types of this crate
//! implement the traits of those packages as well. Adapters cover all other types:
//!
//! * [`Compat`] implements those traits for every type that has this crate's traits.
//! * `FromTokio`, `FromFutures` and `FromHyper` implement this crate's traits for every
//!   type that has theirs.
//!
//! (The coherence rules forbid one implementation for all types at once: neither the trait
//! nor the type would be local.)
#![cfg_attr(docsrs, feature(doc_cfg))]

mod async_buf_read;
mod async_read;
mod async_seek;
mod async_write;
mod buf_read_ext;
mod buf_reader;
mod buf_stream;
mod buf_writer;
mod chain;
mod copy;
mod copy_buf;
mod endless;
mod foreign;
mod forward;
mod interest;
mod io_buf;
mod join;
mod lines;
mod memory;
mod number;
mod operation;
mod read;
mod read_buf;
mod read_ext;
mod read_to_end;
mod read_until;
mod ready;
mod seek_ext;
mod split;
mod take;
mod utf8;
mod write;
mod write_ext;

pub use async_buf_read::AsyncBufRead;
pub use async_read::AsyncRead;
pub use async_seek::AsyncSeek;
pub use async_write::AsyncWrite;
pub use buf_read_ext::AsyncBufReadExt;
pub use buf_reader::BufReader;
pub use buf_stream::BufStream;
pub use buf_writer::BufWriter;
pub use chain::Chain;
pub use copy::{copy, copy_bidirectional, copy_bidirectional_with_sizes};
pub use copy_buf::copy_buf;
pub use endless::{Empty, Repeat, Sink, empty, repeat, sink};
pub use foreign::Compat;
#[cfg(feature = "futures-io")]
pub use foreign::FromFutures;
#[cfg(feature = "hyper")]
pub use foreign::FromHyper;
#[cfg(feature = "tokio")]
pub use foreign::FromTokio;
#[doc(hidden)]
pub use foreign::packages;
pub use interest::Interest;
pub use io_buf::{BufResult, IoBuf, IoBufMut};
pub use join::{Join, join};
pub use lines::{Lines, Split};
pub use memory::{DuplexStream, SimplexStream, duplex, simplex};
pub use read_buf::ReadBuf;
pub use read_ext::AsyncReadExt;
pub use ready::Ready;
pub use seek_ext::AsyncSeekExt;
pub use split::{ReadHalf, WriteHalf, split};
pub use take::Take;
pub use write_ext::AsyncWriteExt;

#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};

/// The default size of a buffer, in bytes.
const DEFAULT_BUF_SIZE: usize = 8 * 1024;

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
