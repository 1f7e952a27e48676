//! Streams (feature `stream`), with the names of `tokio_stream`.
//!
//! The receivers of [`mpsc`](crate::sync::mpsc) and [`mpmc`](crate::sync::mpmc) are streams
//! themselves. [`wrappers`] turns the others into streams, and has `tokio_stream`'s names.

mod broadcast;
#[cfg(feature = "fs")]
mod fs;
#[cfg(feature = "rt")]
mod interval;
#[cfg(feature = "rt")]
mod join_set;
#[cfg(feature = "io-util")]
mod lines;
mod mpsc;
#[cfg(feature = "net")]
mod net;
mod reusable;
#[cfg(all(any(unix, windows), feature = "signal"))]
mod signal;
mod watch;
#[cfg(any(feature = "fs", feature = "net", feature = "signal"))]
mod wrapper;

pub use futures_core::Stream;

/// Types that turn another type into a stream.
pub mod wrappers {
    pub use super::broadcast::BroadcastStream;
    #[cfg(feature = "fs")]
    pub use super::fs::ReadDirStream;
    #[cfg(feature = "rt")]
    pub use super::interval::IntervalStream;
    #[cfg(feature = "rt")]
    pub use super::join_set::JoinSetStream;
    #[cfg(feature = "io-util")]
    pub use super::lines::{LinesStream, SplitStream};
    pub use super::mpsc::{ReceiverStream, UnboundedReceiverStream};
    #[cfg(feature = "net")]
    pub use super::net::TcpListenerStream;
    #[cfg(all(unix, feature = "net"))]
    pub use super::net::UnixListenerStream;
    #[cfg(all(unix, feature = "signal"))]
    pub use super::signal::SignalStream;
    #[cfg(all(windows, feature = "signal"))]
    pub use super::signal::{CtrlBreakStream, CtrlCStream};
    pub use super::watch::WatchStream;

    /// The errors of the wrappers.
    pub mod errors {
        pub use super::super::broadcast::BroadcastStreamRecvError;
    }
}
