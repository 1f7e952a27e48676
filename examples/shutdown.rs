//! How the examples that are servers are told to end.

use std::future::Future;
use std::io;

#[cfg(unix)]
use blitz_io::signal::unix::{SignalKind, signal};
#[cfg(windows)]
use blitz_io::signal::windows::{ctrl_c, ctrl_close};

/// Calls `requested` each time that the program is asked to end: by Ctrl-C, by `SIGTERM`,
/// or because its console is closed.
pub fn on_request(program: &str, requested: impl FnMut() + Send + 'static) {
    match requests(requested) {
        Ok(requests) => drop(blitz_io::spawn(requests)),
        Err(error) => eprintln!("{program}: Ctrl-C will not be heard: {error}"),
    }
}

fn requests(mut requested: impl FnMut()) -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    let (mut interrupt, mut end) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    );
    #[cfg(windows)]
    let (mut interrupt, mut end) = (ctrl_c()?, ctrl_close()?);
    Ok(async move {
        loop {
            blitz_io::select! {
                _ = interrupt.recv() => {}
                _ = end.recv() => {}
            }
            requested();
        }
    })
}
