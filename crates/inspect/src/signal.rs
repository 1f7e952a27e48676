//! Prints the report when the process gets a signal, as programs in Go and Java do.

use std::ffi::c_int;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::thread;

use crate::process;
use crate::reader::judged_with_stacks;
use crate::report::report;
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
    let signal = signal.into();
    if signal_hook_registry::FORBIDDEN.contains(&signal) {
        let message = format!("a program cannot handle signal {signal}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    blitz_io_observe::keep_time();
    let (mut signals, sender) = UnixStream::pair()?;
    sender.set_nonblocking(true)?;
    thread::Builder::new()
        .name("blitz-inspect".into())
        .spawn(move || {
            // The sender is never dropped.
            while signals.read_exact(&mut [0]).is_ok() {
                let (snapshot, findings) = judged_with_stacks(Way::Outside);
                // Standard error may be closed.
                _ = io::stderr().write_all(report(&snapshot, &findings).as_bytes());
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
