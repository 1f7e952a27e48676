//! The traits of other packages on this crate's types, and this crate's traits on theirs.
//!
//! `also_read!` and similar macros give a concrete type the traits of every package whose
//! feature is on. Crates above this one use them as well, so the packages they name are
//! reached through this crate.

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

/// The packages that the macros name.
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
    /// Implements the traits of other packages for any type that has this crate's.
    ///
    /// With the feature `tokio` these are
    /// `tokio::io::{AsyncRead, AsyncWrite, AsyncBufRead, AsyncSeek}`, with `futures-io` the
    /// traits of the package of that name (and so of `futures`), and with `hyper`
    /// `hyper::rt::{Read, Write}`.
    ///
    /// The types of this crate have these traits without the wrapper.
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
        // With `futures-io`, the target of the seek under way.
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

/// Defines the methods that all wrappers have.
macro_rules! wrapper {
    ($type:ident) => {
        impl<T> $type<T> {
            /// Returns a reference to the stream.
            pub fn get_ref(&self) -> &T {
                &self.inner
            }

            /// Returns a mutable reference to the stream.
            pub fn get_mut(&mut self) -> &mut T {
                &mut self.inner
            }

            /// Returns a pinned reference to the stream.
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

/// Gives a type that has some of this crate's traits (`read`, `buf_read`, `write`, `seek`)
/// the equivalent traits of other packages:
/// `foreign_traits!([T: AsyncRead] Wrapper<T>: read)`.
///
/// (`AsyncSeek` of `futures-io` needs state, so only `Compat` has it.)
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
