//! Streams of bytes: TCP, Unix sockets, and the pipes of child processes.

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};

use blitz_io::net::unix::pipe;
use blitz_io::net::{TcpStream, UnixStream};

use super::address::{blitz_address, lookup};
use crate::args::{arg, bytes, bytes_mut, check, os_text, put, put_if_wanted, text};
use crate::error::{
    BLITZ_EEOF, BLITZ_EINVAL, Outcome, entry, entry_or, in_process, invalid, of_io, record,
    returned,
};
use crate::fork::{self, OfProcess, Process};
use crate::handle::handle;
use crate::runtime;
use crate::time::BLITZ_NEVER;
use crate::wait::Limit;

/// Ends the direction in which bytes are received.
pub const BLITZ_SHUTDOWN_READ: u32 = 1;
/// Ends the direction in which bytes are sent: the other side reads the end of the stream.
pub const BLITZ_SHUTDOWN_WRITE: u32 = 2;

/// A stream of bytes: a connection of TCP or of a Unix socket, or a pipe to a child process. Any
/// thread or fiber may use it. One may read while another writes; two readers at the same time
/// share the bytes.
pub struct blitz_stream {
    kind: Kind,
    process: Process,
}

impl OfProcess for blitz_stream {
    fn process(&self) -> Process {
        self.process
    }

    fn fd(&self) -> Option<RawFd> {
        Some(self.fd())
    }
}

enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
    PipeOut(pipe::Receiver),
    PipeIn(pipe::Sender),
}

/// Runs `$body` with the socket.
macro_rules! each {
    ($kind:expr, $socket:ident => $body:expr) => {
        match $kind {
            Kind::Tcp($socket) => $body,
            Kind::Unix($socket) => $body,
            Kind::PipeOut($socket) => $body,
            Kind::PipeIn($socket) => $body,
        }
    };
}

fn wrong_direction<R>() -> io::Result<R> {
    Err(io::Error::from_raw_os_error(libc::EBADF))
}

impl blitz_stream {
    fn new(kind: Kind) -> *mut Self {
        handle(Self {
            kind,
            process: Process::current(),
        })
    }

    pub(super) fn tcp(stream: TcpStream) -> *mut Self {
        Self::new(Kind::Tcp(stream))
    }

    pub(super) fn unix(stream: UnixStream) -> *mut Self {
        Self::new(Kind::Unix(stream))
    }

    pub(super) fn pipe_out(pipe: pipe::Receiver) -> *mut Self {
        Self::new(Kind::PipeOut(pipe))
    }

    pub(super) fn pipe_in(pipe: pipe::Sender) -> *mut Self {
        Self::new(Kind::PipeIn(pipe))
    }

    fn try_read(&self, to: &mut [u8]) -> io::Result<usize> {
        // The system would wait for bytes even with an empty buffer.
        if to.is_empty() {
            return Ok(0);
        }
        match &self.kind {
            Kind::Tcp(stream) => stream.try_read(to),
            Kind::Unix(stream) => stream.try_read(to),
            Kind::PipeOut(pipe) => pipe.try_read(to),
            Kind::PipeIn(_) => wrong_direction(),
        }
    }

    fn try_write(&self, from: &[u8]) -> io::Result<usize> {
        if from.is_empty() {
            return Ok(0);
        }
        match &self.kind {
            Kind::Tcp(stream) => stream.try_write(from),
            Kind::Unix(stream) => stream.try_write(from),
            Kind::PipeIn(pipe) => pipe.try_write(from),
            Kind::PipeOut(_) => wrong_direction(),
        }
    }

    async fn readable(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Tcp(stream) => stream.readable().await,
            Kind::Unix(stream) => stream.readable().await,
            Kind::PipeOut(pipe) => pipe.readable().await,
            Kind::PipeIn(_) => wrong_direction(),
        }
    }

    async fn writable(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Tcp(stream) => stream.writable().await,
            Kind::Unix(stream) => stream.writable().await,
            Kind::PipeIn(pipe) => pipe.writable().await,
            Kind::PipeOut(_) => wrong_direction(),
        }
    }

    fn fd(&self) -> RawFd {
        each!(&self.kind, socket => socket.as_raw_fd())
    }

    fn tcp_only(&self) -> Outcome<&TcpStream> {
        match &self.kind {
            Kind::Tcp(stream) => Ok(stream),
            _ => Err(record(
                BLITZ_EINVAL,
                "this stream is not a connection of TCP",
            )),
        }
    }

    fn read(&self, to: &mut [u8], limit: impl Fn() -> Limit) -> Outcome<usize> {
        in_process(self.process)?;
        super::repeat(limit, || self.try_read(to), async || self.readable().await)
    }

    fn write(&self, from: &[u8], limit: impl Fn() -> Limit) -> Outcome<usize> {
        in_process(self.process)?;
        super::repeat(
            limit,
            || self.try_write(from),
            async || self.writable().await,
        )
    }
}

/// Connects to a host with a port, such as "example.org:80" or "[::1]:80". Tries the addresses of
/// a name in their order. Suspends the calling fiber, or blocks the calling thread, until
/// `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or `BLITZ_NEVER`).
///
/// The caller frees the stream with `blitz_stream_free`. Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`,
/// `BLITZ_ECANCELED`, `BLITZ_EINVAL` for NULL or a text without a port, `BLITZ_EHOST` if the resolver has
/// no address of the host, or an error of the system, as `-ECONNREFUSED`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_tcp_connect(
    host: *const c_char,
    deadline_ns: u64,
    stream: *mut *mut blitz_stream,
) -> c_int {
    entry(|| {
        check(stream)?;
        let host = text(host)?;
        let connect = async { TcpStream::connect(&*lookup(host).await?).await };
        let connected = runtime::inside(|| super::on(connect, Limit::at(deadline_ns)))?;
        put(stream, blitz_stream::tcp(connected))
    })
}

/// Connects to an address, as `blitz_tcp_connect` does to a host.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_tcp_connect_address(
    address: *const blitz_address,
    deadline_ns: u64,
    stream: *mut *mut blitz_stream,
) -> c_int {
    entry(|| {
        check(stream)?;
        let connect = TcpStream::connect(arg(address)?.to_rust()?);
        let connected = runtime::inside(|| super::on(connect, Limit::at(deadline_ns)))?;
        put(stream, blitz_stream::tcp(connected))
    })
}

/// Connects to a Unix socket at a path, as `blitz_tcp_connect` does to a host.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_unix_connect(
    path: *const c_char,
    deadline_ns: u64,
    stream: *mut *mut blitz_stream,
) -> c_int {
    entry(|| {
        check(stream)?;
        let connect = UnixStream::connect(os_text(path)?);
        let connected = runtime::inside(|| super::on(connect, Limit::at(deadline_ns)))?;
        put(stream, blitz_stream::unix(connected))
    })
}

/// Makes two streams that are connected to each other. The caller frees both with
/// `blitz_stream_free`.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL, or an error of the system. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_unix_pair(
    one: *mut *mut blitz_stream,
    other: *mut *mut blitz_stream,
) -> c_int {
    entry(|| {
        check(one)?;
        check(other)?;
        let pair = runtime::inside(|| UnixStream::pair().map_err(|error| of_io(&error)))?;
        put(one, blitz_stream::unix(pair.0))?;
        put(other, blitz_stream::unix(pair.1))
    })
}

/// Receives up to `len` bytes to `buffer`. Suspends the calling fiber, or blocks the calling
/// thread, until there are some.
///
/// `count` gets the number of bytes; 0 is the end of the stream. With a `len` of 0 it does nothing.
/// Returns `BLITZ_OK`, `BLITZ_ECANCELED`, `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`, or an error of
/// the system.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_read(
    stream: *mut blitz_stream,
    buffer: *mut c_void,
    len: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_stream_read_until(stream, buffer, len, BLITZ_NEVER, count) }
}

/// Receives as `blitz_stream_read` does, but waits until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`). After the deadline nothing was received.
///
/// Returns what `blitz_stream_read` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_read_until(
    stream: *mut blitz_stream,
    buffer: *mut c_void,
    len: usize,
    deadline_ns: u64,
    count: *mut usize,
) -> c_int {
    entry(|| {
        check(count)?;
        let to = bytes_mut(buffer.cast(), len)?;
        put(count, arg(stream)?.read(to, || Limit::at(deadline_ns))?)
    })
}

/// Receives bytes that have arrived, without waiting.
///
/// Returns what `blitz_stream_read` returns, or `BLITZ_EAGAIN` if there is nothing.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_try_read(
    stream: *mut blitz_stream,
    buffer: *mut c_void,
    len: usize,
    count: *mut usize,
) -> c_int {
    entry(|| {
        check(count)?;
        let stream = arg(stream)?;
        in_process(stream.process)?;
        put(
            count,
            tried(stream.try_read(bytes_mut(buffer.cast(), len)?))?,
        )
    })
}

/// Returns the result of an attempt, with this library's number for "would have to wait".
pub(super) fn tried<R>(attempt: io::Result<R>) -> Outcome<R> {
    attempt.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => crate::error::BLITZ_EAGAIN,
        _ => of_io(&error),
    })
}

/// Receives exactly `len` bytes, until `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or
/// `BLITZ_NEVER`). Suspends the calling fiber, or blocks the calling thread.
///
/// `count` gets the number of bytes, also after an error; it may be NULL. Returns what
/// `blitz_stream_read_until` returns, or `BLITZ_EEOF` if the stream ends before.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_read_exact(
    stream: *mut blitz_stream,
    buffer: *mut c_void,
    len: usize,
    deadline_ns: u64,
    count: *mut usize,
) -> c_int {
    entry(|| {
        let stream = arg(stream)?;
        let to = bytes_mut(buffer.cast(), len)?;
        let mut done = 0;
        let result = loop {
            if done == to.len() {
                break Ok(());
            }
            match stream.read(&mut to[done..], || Limit::at(deadline_ns)) {
                Ok(0) => break Err(BLITZ_EEOF),
                Ok(n) => done += n,
                Err(error) => break Err(error),
            }
        };
        put_if_wanted(count, done);
        result
    })
}

/// Sends up to `len` bytes. Suspends the calling fiber, or blocks the calling thread, until there
/// is room for some.
///
/// `count` gets the number of sent bytes. With a `len` of 0 it does nothing. Returns `BLITZ_OK`,
/// `BLITZ_ECANCELED`, `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`, or an error of the system, as
/// `-EPIPE` (no signal is raised).
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_write(
    stream: *mut blitz_stream,
    buffer: *const c_void,
    len: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_stream_write_until(stream, buffer, len, BLITZ_NEVER, count) }
}

/// Sends as `blitz_stream_write` does, but waits until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`). After the deadline nothing was sent.
///
/// Returns what `blitz_stream_write` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_write_until(
    stream: *mut blitz_stream,
    buffer: *const c_void,
    len: usize,
    deadline_ns: u64,
    count: *mut usize,
) -> c_int {
    entry(|| {
        check(count)?;
        let from = bytes(buffer.cast(), len)?;
        put(count, arg(stream)?.write(from, || Limit::at(deadline_ns))?)
    })
}

/// Sends all of `len` bytes, until `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or
/// `BLITZ_NEVER`). Suspends the calling fiber, or blocks the calling thread.
///
/// `count` gets the number of sent bytes, also after an error; it may be NULL. Returns what
/// `blitz_stream_write` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_write_all(
    stream: *mut blitz_stream,
    buffer: *const c_void,
    len: usize,
    deadline_ns: u64,
    count: *mut usize,
) -> c_int {
    entry(|| {
        let stream = arg(stream)?;
        let from = bytes(buffer.cast(), len)?;
        let mut done = 0;
        let result = loop {
            if done == from.len() {
                break Ok(());
            }
            match stream.write(&from[done..], || Limit::at(deadline_ns)) {
                Ok(0) => break Err(-libc::EPIPE),
                Ok(n) => done += n,
                Err(error) => break Err(error),
            }
        };
        put_if_wanted(count, done);
        result
    })
}

/// Sends as many bytes as there is room for, without waiting.
///
/// Returns what `blitz_stream_write` returns, or `BLITZ_EAGAIN` if there is no room.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_try_write(
    stream: *mut blitz_stream,
    buffer: *const c_void,
    len: usize,
    count: *mut usize,
) -> c_int {
    entry(|| {
        check(count)?;
        let stream = arg(stream)?;
        in_process(stream.process)?;
        put(count, tried(stream.try_write(bytes(buffer.cast(), len)?))?)
    })
}

/// Ends one or both directions of a socket: `BLITZ_SHUTDOWN_READ`, `BLITZ_SHUTDOWN_WRITE`, or
/// both. Calls that wait for the stream return. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL, another number or a pipe (free it instead), or an
/// error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_shutdown(stream: *mut blitz_stream, how: u32) -> c_int {
    entry(|| {
        let stream = arg(stream)?;
        let how = match how {
            BLITZ_SHUTDOWN_READ => Shutdown::Read,
            BLITZ_SHUTDOWN_WRITE => Shutdown::Write,
            3 => Shutdown::Both,
            _ => return Err(invalid("no such direction")),
        };
        let how = match how {
            Shutdown::Read => libc::SHUT_RD,
            Shutdown::Write => libc::SHUT_WR,
            Shutdown::Both => libc::SHUT_RDWR,
        };
        if matches!(stream.kind, Kind::PipeIn(_) | Kind::PipeOut(_)) {
            return Err(invalid("a pipe has one direction"));
        }
        // SAFETY: the stream owns the descriptor, and lives during the call.
        match unsafe { libc::shutdown(stream.fd(), how) } {
            0 => Ok(()),
            _ => Err(of_io(&io::Error::last_os_error())),
        }
    })
}

/// Lets a connection of TCP send small parts at once (true), or collect them (false, the system's
/// default). Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL or another stream, or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_set_nodelay(
    stream: *mut blitz_stream,
    nodelay: bool,
) -> c_int {
    entry(|| {
        let tcp = arg(stream)?.tcp_only()?;
        tcp.set_nodelay(nodelay).map_err(|error| of_io(&error))
    })
}

/// Writes the addresses of the two sides of a connection of TCP. Each may be NULL. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for a NULL stream or another one, or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_addresses(
    stream: *const blitz_stream,
    local: *mut blitz_address,
    peer: *mut blitz_address,
) -> c_int {
    entry(|| {
        let tcp = arg(stream)?.tcp_only()?;
        if !local.is_null() {
            put(
                local,
                blitz_address::from_rust(tcp.local_addr().map_err(|error| of_io(&error))?),
            )?;
        }
        if !peer.is_null() {
            put(
                peer,
                blitz_address::from_rust(tcp.peer_addr().map_err(|error| of_io(&error))?),
            )?;
        }
        Ok(())
    })
}

/// Returns the descriptor of a stream, for options of the system, or `BLITZ_EINVAL` for NULL. The
/// stream keeps it: do not close it. It is non-blocking. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_fd(stream: *const blitz_stream) -> c_int {
    entry_or(BLITZ_EINVAL, || {
        arg(stream).map_or_else(returned, blitz_stream::fd)
    })
}

/// Closes a stream and frees it. NULL is fine. No other call may use it, now or later. Does not
/// wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_stream_free(stream: *mut blitz_stream) {
    entry_or((), || fork::free(stream));
}
