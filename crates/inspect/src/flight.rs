//! The flight recorder: the recorder of `blitz trace` is on, and its last events are written into a file when something
//! was slow.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

use blitz_io_observe::trace::{self, Ended};

/// The most files that [`trace_when`] writes.
const FILES: u32 = 16;

/// Switches the recorder of `blitz trace` on, and writes the last events into `folder` each time a request ends for
/// which `predicate` returns `true`: `PID-1.blitz`, `PID-2.blitz` and so on, which `blitz trace report` reads.
///
/// A thread of its own writes the file, under another name first. It writes 16 files at most. All requests that end while
/// it writes one have the next file together. If a file cannot be written, it says so on standard error.
///
/// The predicate is called in the thread in which the request ends. It must not block.
///
/// # Errors
///
/// Fails if the system has no thread.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// let is_slow = |request: &blitz_io_inspect::trace::Ended<'_>| {
///     request.name.starts_with("GET ") && request.duration > Duration::from_millis(100)
/// };
/// blitz_io_inspect::trace_when(std::env::temp_dir(), is_slow)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn trace_when(
    folder: impl Into<PathBuf>,
    predicate: impl Fn(&Ended<'_>) -> bool + Send + Sync + 'static,
) -> io::Result<()> {
    let folder = folder.into();
    // Room for one: the next file, while the thread writes one.
    let (fire, fired) = sync_channel(1);
    thread::Builder::new()
        .name("blitz-inspect".into())
        .spawn(move || {
            blitz_io_observe::serves_process();
            for number in 1..=FILES {
                // The function that has the other end is never dropped.
                if fired.recv().is_err() {
                    return;
                }
                write_recording(&folder, number);
            }
        })?;
    trace::watch(move |ended| {
        if predicate(ended) {
            // The next file may be due already, or all are written.
            _ = fire.try_send(());
        }
    });
    trace::start();
    Ok(())
}

/// Writes the events that are in memory into a folder, under another name first.
pub(crate) fn write_recording(folder: &Path, number: u32) {
    let pid = std::process::id();
    let part = folder.join(format!("{pid}-{number}.part"));
    let whole = folder.join(format!("{pid}-{number}.blitz"));
    let written = fs::write(&part, trace::recording()).and_then(|()| fs::rename(part, whole));
    if let Err(error) = written {
        // Standard error may be closed.
        _ = writeln!(io::stderr(), "blitz-io: cannot write a recording: {error}");
    }
}
