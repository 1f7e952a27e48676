//! `ctrl_c`.

use std::io;

#[cfg(unix)]
use super::unix::{SignalKind, signal};

/// Waits for the next Ctrl-C, which is `SIGINT` on Unix.
///
/// The first poll installs the handler: a Ctrl-C before that ends the process.
///
/// # Errors
///
/// Returns the system's errors.
///
/// # Panics
///
/// Panics on Unix, outside of a runtime and in a runtime without I/O.
///
/// ```no_run
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// println!("Ctrl-C ends it");
/// blitz_io::signal::ctrl_c().await?;
/// println!("so it ends");
/// # Ok(())
/// # }
/// ```
pub async fn ctrl_c() -> io::Result<()> {
    #[cfg(unix)]
    signal(SignalKind::interrupt())?.recv().await;
    #[cfg(windows)]
    super::windows::ctrl_c()?.recv().await;
    Ok(())
}
