//! `ctrl_c`.

use std::io;

use super::unix::{SignalKind, signal};

/// Waits for the next Ctrl-C, which is `SIGINT`.
///
/// The first poll puts the handler in place: one that comes before ends the process.
///
/// # Errors
///
/// Those of [`signal`].
///
/// # Panics
///
/// Outside of a runtime, and in one without I/O.
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
    signal(SignalKind::interrupt())?.recv().await;
    Ok(())
}
