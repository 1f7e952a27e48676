//! Streams (feature `stream`), with the names of `tokio_stream`.
//!
//! The receivers of [`mpsc`](crate::sync::mpsc) and [`mpmc`](crate::sync::mpmc) are streams
//! themselves. [`wrappers`] makes streams of the others, and has `tokio_stream`'s names.

mod broadcast;
#[cfg(feature = "rt")]
mod interval;
mod mpsc;
mod reusable;
mod watch;

pub use futures_core::Stream;

/// Types that make a stream of something else.
pub mod wrappers {
    pub use super::broadcast::BroadcastStream;
    #[cfg(feature = "rt")]
    pub use super::interval::IntervalStream;
    pub use super::mpsc::{ReceiverStream, UnboundedReceiverStream};
    pub use super::watch::WatchStream;

    /// The errors of the wrappers.
    pub mod errors {
        pub use super::super::broadcast::BroadcastStreamRecvError;
    }
}
