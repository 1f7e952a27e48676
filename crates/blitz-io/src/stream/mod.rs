//! Streams (feature `stream`), with the names of `tokio_stream`.
//!
//! The receivers of [`mpsc`](crate::sync::mpsc) and [`mpmc`](crate::sync::mpmc) are streams
//! themselves. [`wrappers`] has those that need a type of their own.

#[cfg(feature = "rt")]
mod interval;

pub use futures_core::Stream;

/// Types that make a stream of something else.
pub mod wrappers {
    #[cfg(feature = "rt")]
    pub use super::interval::IntervalStream;
}
