//! Child processes, as in `tokio::process`.
//!
//! ```
//! use blitz_io::process::Command;
//!
//! # #[blitz_io::main]
//! # async fn main() -> std::io::Result<()> {
//! let output = Command::new("echo").arg("hello").output().await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"hello\n");
//! # Ok(())
//! # }
//! ```

mod child;
mod command;
#[cfg(unix)]
mod exit;
#[cfg(unix)]
mod orphan;
#[cfg(unix)]
mod pipes;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use orphan::Waiting;
#[cfg(windows)]
use windows::waiting::Waiting;

pub use child::Child;
pub use command::Command;
#[cfg(unix)]
pub use pipes::{ChildStderr, ChildStdin, ChildStdout};
#[cfg(windows)]
pub use windows::pipes::{ChildStderr, ChildStdin, ChildStdout};
