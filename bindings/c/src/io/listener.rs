//! Listeners of TCP and of Unix sockets.

use std::ffi::{c_char, c_int};
use std::future::poll_fn;
use std::os::fd::{AsRawFd, RawFd};
use std::task::{Context, Poll, Waker};

use blitz_io::net::{TcpListener, UnixListener};

use super::address::{blitz_address, lookup};
use super::stream::blitz_stream;
use crate::args::{arg, check, os_text, put, text};
use crate::error::{
    BLITZ_EAGAIN, BLITZ_EINVAL, Outcome, entry, entry_or, in_process, invalid, of_io, returned,
};
use crate::fork::{self, OfProcess, Process};
use crate::handle::handle;
use crate::runtime;
use crate::time::BLITZ_NEVER;
use crate::wait::Limit;

/// A socket that accepts connections. Any thread or fiber may use it, several at once.
pub struct blitz_listener {
    kind: Kind,
    process: Process,
}

impl OfProcess for blitz_listener {
    fn process(&self) -> Process {
        self.process
    }

    fn fd(&self) -> Option<RawFd> {
        Some(self.fd())
    }
}

enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl blitz_listener {
    fn new(kind: Kind) -> *mut Self {
        handle(Self {
            kind,
            process: Process::current(),
        })
    }

    fn fd(&self) -> RawFd {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.as_raw_fd(),
            Kind::Unix(unix) => unix.as_raw_fd(),
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<std::io::Result<*mut blitz_stream>> {
        match &self.kind {
            Kind::Tcp(tcp) => tcp
                .poll_accept(cx)
                .map_ok(|(stream, _)| blitz_stream::tcp(stream)),
            Kind::Unix(unix) => unix
                .poll_accept(cx)
                .map_ok(|(stream, _)| blitz_stream::unix(stream)),
        }
    }
}

/// Listens at a host with a port, such as "127.0.0.1:8080"; port 0 lets the system choose. May
/// wait for the lookup of a name.
///
/// The caller frees the listener with `blitz_listener_free`. Returns `BLITZ_OK`, `BLITZ_ECANCELED`,
/// `BLITZ_EINVAL` for NULL or a text without a port, `BLITZ_EHOST` if the resolver has no address of the
/// host, or an error of the system, as `-EADDRINUSE`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_tcp_listen(
    host: *const c_char,
    listener: *mut *mut blitz_listener,
) -> c_int {
    entry(|| {
        check(listener)?;
        let host = text(host)?;
        let bind = async { TcpListener::bind(&*lookup(host).await?).await };
        let bound = runtime::inside(|| super::on(bind, Limit::Never))?;
        put(listener, blitz_listener::new(Kind::Tcp(bound)))
    })
}

/// Listens at a path with a Unix socket. The file remains when the listener is freed.
///
/// The caller frees the listener with `blitz_listener_free`. Returns `BLITZ_OK`, `BLITZ_EINVAL` for
/// NULL, or an error of the system, as `-EADDRINUSE`. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_unix_listen(
    path: *const c_char,
    listener: *mut *mut blitz_listener,
) -> c_int {
    entry(|| {
        check(listener)?;
        let path = os_text(path)?;
        let bound = runtime::inside(|| UnixListener::bind(path).map_err(|error| of_io(&error)))?;
        put(listener, blitz_listener::new(Kind::Unix(bound)))
    })
}

fn accept(
    listener: *mut blitz_listener,
    stream: *mut *mut blitz_stream,
    wait: impl FnOnce(&blitz_listener) -> Outcome<*mut blitz_stream>,
) -> c_int {
    entry(|| {
        check(stream)?;
        let listener = arg(listener)?;
        in_process(listener.process)?;
        put(stream, runtime::inside(|| wait(listener))?)
    })
}

/// Accepts a connection. Suspends the calling fiber, or blocks the calling thread, until one comes.
///
/// The caller frees the stream with `blitz_stream_free`. Returns `BLITZ_OK`, `BLITZ_ECANCELED`,
/// `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`, or an error of the system, as `-EMFILE`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_listener_accept(
    listener: *mut blitz_listener,
    stream: *mut *mut blitz_stream,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_listener_accept_until(listener, BLITZ_NEVER, stream) }
}

/// Accepts as `blitz_listener_accept` does, but waits until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`).
///
/// Returns what `blitz_listener_accept` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_listener_accept_until(
    listener: *mut blitz_listener,
    deadline_ns: u64,
    stream: *mut *mut blitz_stream,
) -> c_int {
    accept(listener, stream, |listener| {
        super::on(poll_fn(|cx| listener.poll(cx)), Limit::at(deadline_ns))
    })
}

/// Accepts a connection that has arrived, without waiting.
///
/// Returns what `blitz_listener_accept` returns, or `BLITZ_EAGAIN`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_listener_try_accept(
    listener: *mut blitz_listener,
    stream: *mut *mut blitz_stream,
) -> c_int {
    accept(listener, stream, |listener| {
        match listener.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(accepted) => accepted.map_err(|error| of_io(&error)),
            Poll::Pending => Err(BLITZ_EAGAIN),
        }
    })
}

/// Writes the address at which a listener of TCP listens. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL or another listener, or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_listener_address(
    listener: *const blitz_listener,
    address: *mut blitz_address,
) -> c_int {
    entry(|| match &arg(listener)?.kind {
        Kind::Tcp(tcp) => {
            let local = tcp.local_addr().map_err(|error| of_io(&error))?;
            put(address, blitz_address::from_rust(local))
        }
        Kind::Unix(_) => Err(invalid("a listener at a path has no address")),
    })
}

/// Returns the descriptor of a listener, for options of the system, or `BLITZ_EINVAL` for NULL.
/// The listener keeps it: do not close it. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_listener_fd(listener: *const blitz_listener) -> c_int {
    entry_or(BLITZ_EINVAL, || {
        arg(listener).map_or_else(returned, blitz_listener::fd)
    })
}

/// Closes a listener and frees it. NULL is fine. No other call may use it, now or later. Does not
/// wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_listener_free(listener: *mut blitz_listener) {
    entry_or((), || fork::free(listener));
}
