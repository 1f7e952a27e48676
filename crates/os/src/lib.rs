//! The facilities of an operating system besides sockets: [files](fs) and the [standard
//! streams](io), and with the features `process` and `signal` child processes and signals.
//! Names, errors, panics and cancel safety are Tokio's.
//!
//! Operations on files and standard streams run on threads of the runtime's pool for
//! blocking work or, on Linux, in an io_uring of the worker. So they panic outside of a
//! runtime. Processes and signals need a runtime with I/O, except on Windows.
//!
//! ```
//! use blitz_io::fs;
//!
//! # #[blitz_io::main]
//! # async fn main() -> std::io::Result<()> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("greeting");
//! fs::write(&path, "hello").await?;
//! assert_eq!(fs::read_to_string(&path).await?, "hello");
//! # Ok(())
//! # }
//! ```

// Nothing here is model-checked.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod blocking;
mod buffer;
pub mod fs;
pub mod io;
#[cfg(unix)]
mod operation;
#[cfg(all(any(unix, windows), feature = "process"))]
pub mod process;
#[cfg(all(any(unix, windows), feature = "signal"))]
pub mod signal;
#[cfg(feature = "sim")]
#[doc(hidden)]
pub mod simulation;

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
