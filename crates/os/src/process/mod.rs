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
mod exit;
mod orphan;
mod pipes;

pub use child::Child;
pub use command::Command;
pub use pipes::{ChildStderr, ChildStdin, ChildStdout};
