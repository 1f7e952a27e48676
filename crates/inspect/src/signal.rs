//! The actions of two signals: the process prints the report, as programs in Go and Java do, or writes the
//! events of its recorder.

use std::ffi::c_int;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;

use blitz_io_observe::trace;

use crate::flight::write_recording;
use crate::process;
use crate::reader::judged_with_stacks;
use crate::report::report;
use crate::spare_memory::give_back;
use crate::stacks::Way;

/// Prints the report to standard error each time the process gets `signal`, and replaces the signal's
/// default action. Takes a number, or a `SignalKind` of `blitz_io::signal`.
///
/// A thread of its own writes the report. It takes no lock that a thread may hold while it waits.
///
/// # Errors
///
/// Fails if a program cannot handle this signal, or the system has no thread or socket.
///
/// # Examples
///
/// ```
/// blitz_io_inspect::on_signal(libc::SIGQUIT)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn on_signal(signal: impl Into<c_int>) -> io::Result<()> {
    blitz_io_observe::keep_time();
    on_each(signal.into(), || {
        let (snapshot, findings) = judged_with_stacks(Way::Outside);
        // Standard error may be closed.
        _ = io::stderr().write_all(report(&snapshot, &findings).as_bytes());
        drop((snapshot, findings));
        give_back();
    })
}

/// Switches the recorder of `blitz trace` on, and writes the last events into `folder` each time the process gets
/// `signal`: `PID-1.blitz`, `PID-2.blitz` and so on, which `blitz trace report` reads. Replaces the signal's default
/// action. Takes a number, or a `SignalKind` of `blitz_io::signal`.
///
/// A thread of its own writes the file, under another name first. It takes no lock that a thread may hold while it
/// waits. If the file cannot be written, it says so on standard error.
///
/// # Errors
///
/// Fails if a program cannot handle this signal, or the system has no thread or socket.
///
/// # Examples
///
/// ```
/// blitz_io_inspect::trace_on_signal(libc::SIGUSR2, std::env::temp_dir())?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn trace_on_signal(signal: impl Into<c_int>, folder: impl Into<PathBuf>) -> io::Result<()> {
    let folder = folder.into();
    let mut number = 0;
    on_each(signal.into(), move || {
        number += 1;
        write_recording(&folder, number);
    })?;
    trace::start();
    Ok(())
}

/// Calls a function in a thread of its own each time the process gets a signal.
fn on_each(signal: c_int, mut work: impl FnMut() + Send + 'static) -> io::Result<()> {
    if signal_hook_registry::FORBIDDEN.contains(&signal) {
        let message = format!("a program cannot handle signal {signal}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let (mut signals, sender) = UnixStream::pair()?;
    sender.set_nonblocking(true)?;
    thread::Builder::new()
        .name("blitz-inspect".into())
        .spawn(move || {
            blitz_io_observe::serves_process();
            // The sender is never dropped.
            while signals.read_exact(&mut [0]).is_ok() {
                work();
            }
        })?;
    let action = move || {
        let byte = 0_u8;
        // SAFETY: the descriptor is open, as this closure has it, and the pointer is to one byte. A
        // signal handler may call `send`. If the buffer is full, a report is due anyway.
        unsafe { libc::send(sender.as_raw_fd(), (&raw const byte).cast(), 1, 0) };
    };
    // SAFETY: the action calls nothing that a signal handler may not call; the registry restores
    // `errno`.
    unsafe { signal_hook_registry::register(signal, action) }?;
    process::own_signal(signal);
    Ok(())
}
