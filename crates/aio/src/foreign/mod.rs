//! The traits of other packages on our types, and ours on theirs.
//!
//! `also_read!` and its kin give a concrete type the traits of every package whose feature
//! is on. They are used by the crates above this one as well, so what they name is reached
//! through this crate.

use std::io::SeekFrom;
use std::pin::Pin;

use pin_project_lite::pin_project;

use crate::forward::{forward_buf_read, forward_read, forward_seek, forward_write};
use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};

#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(feature = "hyper")]
mod hyper;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(any(feature = "tokio", feature = "futures-io", feature = "hyper"))]
mod types;

#[cfg(feature = "futures-io")]
pub use futures_io::FromFutures;
#[cfg(feature = "hyper")]
pub use hyper::FromHyper;
#[cfg(feature = "tokio")]
pub use tokio::FromTokio;

/// What the macros name.
#[doc(hidden)]
pub mod packages {
    #[cfg(feature = "hyper")]
    pub use super::hyper::read_into_hyper;
    #[cfg(feature = "tokio")]
    pub use super::tokio::read_into_tokio;
    #[cfg(feature = "futures-io")]
    pub use ::futures_io;
    #[cfg(feature = "hyper")]
    pub use ::hyper;
    #[cfg(feature = "tokio")]
    pub use ::tokio;
}

pin_project! {
    /// Has the traits of other packages for whatever type has ours.
    ///
    /// With the feature `tokio` these are `tokio::io::{AsyncRead, AsyncWrite, AsyncBufRead,
    /// AsyncSeek}`, with `futures-io` the traits of the package of that name (and so of
    /// `futures`), with `hyper` `hyper::rt::{Read, Write}`.
    ///
    /// The types of this crate have them without it.
    ///
    /// ```
    /// use blitz_io::io::Compat;
    ///
    /// let stream = Compat::new(&b"bytes"[..]);
    /// assert_eq!(stream.get_ref(), &b"bytes");
    /// assert_eq!(stream.into_inner(), b"bytes");
    /// ```
    #[derive(Debug)]
    #[cfg_attr(not(feature = "futures-io"), allow(dead_code, reason = "the place is for that"))]
    pub struct Compat<T> {
        #[pin]
        inner: T,
        // With `futures-io`, the place that a move under way goes to.
        seeking: Option<SeekFrom>,
    }
}

impl<T> Compat<T> {
    /// Wraps a stream.
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            seeking: None,
        }
    }
}

/// The methods that all wrappers have.
macro_rules! wrapper {
    ($type:ident) => {
        impl<T> $type<T> {
            /// Returns the stream.
            pub fn get_ref(&self) -> &T {
                &self.inner
            }

            /// Returns the stream, to change it.
            pub fn get_mut(&mut self) -> &mut T {
                &mut self.inner
            }

            /// Returns the stream, pinned.
            pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut T> {
                self.project().inner
            }

            /// Returns the stream.
            pub fn into_inner(self) -> T {
                self.inner
            }
        }
    };
}

#[cfg(any(feature = "tokio", feature = "futures-io", feature = "hyper"))]
use wrapper;
wrapper!(Compat);

forward_read!([T: AsyncRead] Compat<T>, inner);
forward_buf_read!([T: AsyncBufRead] Compat<T>, inner);
forward_write!([T: AsyncWrite] Compat<T>, inner);
forward_seek!([T: AsyncSeek] Compat<T>, inner);

/// Gives a type that has some of our traits (`read`, `buf_read`, `write`, `seek`) those of
/// other packages that say the same: `foreign_traits!([T: AsyncRead] Wrapper<T>: read)`.
///
/// (`AsyncSeek` of `futures-io` needs memory, so only `Compat` has it.)
#[doc(hidden)]
#[macro_export]
macro_rules! foreign_traits {
    ($generics:tt $type:ty: $($trait:ident),*) => {$(
        $crate::__tokio_trait! { $trait $generics $type }
        $crate::__futures_trait! { $trait $generics $type }
        $crate::__hyper_trait! { $trait $generics $type }
    )*};
}

#[cfg(not(feature = "tokio"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __tokio_trait {
    ($($any:tt)*) => {};
}

#[cfg(not(feature = "futures-io"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __futures_trait {
    ($($any:tt)*) => {};
}

#[cfg(not(feature = "hyper"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __hyper_trait {
    ($($any:tt)*) => {};
}
