//! Reading and writing for tasks, with the names of `tokio::io`.
//!
//! ```
//! use blitz_io::io::{self, AsyncBufReadExt, AsyncWriteExt, BufReader}; // was: tokio::io
//!
//! # pollster::block_on(async {
//! let (mut client, server) = io::duplex(64);
//! client.write_all(b"first\nsecond\n").await?;
//! client.shutdown().await?;
//!
//! let mut lines = BufReader::new(server).lines();
//! assert_eq!(lines.next_line().await?.as_deref(), Some("first"));
//! assert_eq!(lines.next_line().await?.as_deref(), Some("second"));
//! assert_eq!(lines.next_line().await?, None);
//! # io::Result::Ok(()) }).unwrap();
//! ```

pub use blitz_io_aio::*;
#[cfg(feature = "io-std")]
pub use blitz_io_os::io::{Stderr, Stdin, Stdout, stderr, stdin, stdout};

/// Items that only Unix has.
#[cfg(all(unix, feature = "net"))]
#[cfg_attr(docsrs, doc(cfg(feature = "net")))]
pub mod unix {
    pub use blitz_io_driver::{
        AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard, AsyncFdRegisterError, TryIoError,
    };

    /// The former name of [`AsyncFdRegisterError`].
    #[doc(hidden)]
    #[deprecated(note = "use `AsyncFdRegisterError`")]
    pub type AsyncFdTryNewError<T> = AsyncFdRegisterError<T>;
}
