//! `ctrl_c`.

use std::future::Future;
use std::io;

#[cfg(unix)]
use super::unix::{SignalKind, listen};

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
#[track_caller]
pub fn ctrl_c() -> impl Future<Output = io::Result<()>> {
    let caller = blitz_io_observe::Caller::here();
    async move {
        #[cfg(unix)]
        listen(SignalKind::interrupt(), caller)?.recv().await;
        #[cfg(windows)]
        super::windows::ctrl_c_at(caller)?.recv().await;
        Ok(())
    }
}
