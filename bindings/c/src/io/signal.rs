//! Signals of the system.

use std::ffi::c_int;
use std::io;

use blitz_io::signal::unix::{Signal, SignalKind, signal};

use crate::args::{arg, check, put};
use crate::error::{BLITZ_ECLOSED, entry, entry_or, in_process, invalid, of_io};
use crate::exclusive::Exclusive;
use crate::fork::{self, OfProcess, Process};
use crate::handle::handle;
use crate::runtime;
use crate::wait::{self, Limit};

/// Receives a signal of the system. Any thread or fiber may use it; a second call at the same time
/// returns `BLITZ_EBUSY`.
pub struct blitz_signal {
    signal: Exclusive<Signal>,
    process: Process,
}

impl OfProcess for blitz_signal {
    fn process(&self) -> Process {
        self.process
    }
}

/// Begins to receive a signal, such as `SIGTERM`. From now on it no longer has its default effect
/// in this process, also after `blitz_signal_free`.
///
/// The caller frees it with `blitz_signal_free`. Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL, or an
/// error for a signal that cannot be caught, such as `SIGKILL`. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_signal_new(
    number: c_int,
    listener: *mut *mut blitz_signal,
) -> c_int {
    entry(|| {
        check(listener)?;
        let kind = SignalKind::from_raw(number);
        // A number that no program can wait for is refused before the system sees it.
        let refused = |error: &io::Error| match error.raw_os_error() {
            Some(_) => of_io(error),
            None => invalid(error),
        };
        let new = runtime::inside(|| signal(kind).map_err(|error| refused(&error)))?;
        put(
            listener,
            handle(blitz_signal {
                signal: Exclusive::new(new),
                process: Process::current(),
            }),
        )
    })
}

/// Waits for the signal, until `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or
/// `BLITZ_NEVER`). Suspends the calling fiber, or blocks the calling thread. Signals that came
/// since the last call, or since `blitz_signal_new`, count once.
///
/// Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`, `BLITZ_ECANCELED`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for
/// NULL, `BLITZ_ECLOSED` if the runtime in which it was made has ended, or `BLITZ_EFORKED`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_signal_wait(listener: *mut blitz_signal, deadline_ns: u64) -> c_int {
    entry(|| {
        let listener = arg(listener)?;
        in_process(listener.process)?;
        let mut signal = listener.signal.enter()?;
        let received = runtime::inside(|| wait::on(signal.recv(), Limit::at(deadline_ns)))?;
        received.ok_or(BLITZ_ECLOSED)
    })
}

/// Frees it. NULL is fine. No other call may use it, now or later. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_signal_free(listener: *mut blitz_signal) {
    entry_or((), || fork::free(listener));
}
