//! The standard streams of the process, as in `tokio::io`.

pub(crate) mod blocking;
mod console;
mod stderr;
mod stdin;
mod stdout;

pub use stderr::{Stderr, stderr};
pub use stdin::{Stdin, stdin};
pub use stdout::{Stdout, stdout};
