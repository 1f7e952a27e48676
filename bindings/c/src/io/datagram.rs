//! Datagrams of UDP.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsRawFd, RawFd};

use blitz_io::net::UdpSocket;

use super::address::{blitz_address, lookup};
use super::stream::tried;
use crate::args::{arg, bytes, bytes_mut, check, put, put_if_wanted, text};
use crate::error::{BLITZ_EINVAL, Outcome, entry, entry_or, in_process, of_io, returned};
use crate::fork::{self, OfProcess, Process};
use crate::handle::handle;
use crate::runtime;
use crate::wait::Limit;

/// A socket of UDP. Any thread or fiber may use it, several at once.
pub struct blitz_udp {
    socket: UdpSocket,
    process: Process,
}

impl OfProcess for blitz_udp {
    fn process(&self) -> Process {
        self.process
    }

    fn fd(&self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }
}

fn socket<'a>(udp: *mut blitz_udp) -> Outcome<&'a UdpSocket> {
    let udp = arg(udp)?;
    in_process(udp.process)?;
    Ok(&udp.socket)
}

/// Makes a socket of UDP at a host with a port, such as "0.0.0.0:0"; port 0 lets the system choose.
/// May wait for the lookup of a name.
///
/// The caller frees it with `blitz_udp_free`. Returns `BLITZ_OK`, `BLITZ_ECANCELED`, `BLITZ_EINVAL`
/// for NULL or a text without a port, `BLITZ_EHOST` if the resolver has no address of the host, or an
/// error of the system.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_udp_bind(host: *const c_char, udp: *mut *mut blitz_udp) -> c_int {
    entry(|| {
        check(udp)?;
        let host = text(host)?;
        let bind = async { UdpSocket::bind(&*lookup(host).await?).await };
        let socket = runtime::inside(|| super::on(bind, Limit::Never))?;
        put(
            udp,
            handle(blitz_udp {
                socket,
                process: Process::current(),
            }),
        )
    })
}

/// Sends a datagram of `len` bytes to an address, until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`, or `BLITZ_NEVER`). Suspends the calling fiber, or blocks the calling thread,
/// while the system has no room. With a deadline of 0 it does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_ETIMEDOUT`, `BLITZ_ECANCELED`, `BLITZ_EINVAL` for NULL,
/// `BLITZ_EFORKED`, or an error of the system.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_udp_send(
    udp: *mut blitz_udp,
    buffer: *const c_void,
    len: usize,
    address: *const blitz_address,
    deadline_ns: u64,
) -> c_int {
    entry(|| {
        let socket = socket(udp)?;
        let from = bytes(buffer.cast(), len)?;
        let address = arg(address)?.to_rust()?;
        super::repeat(
            || Limit::at(deadline_ns),
            || socket.try_send_to(from, address),
            async || socket.writable().await,
        )
        .map(drop)
    })
}

/// Receives a datagram, until `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or
/// `BLITZ_NEVER`). Suspends the calling fiber, or blocks the calling thread. Bytes beyond
/// `len` are lost.
///
/// `count` gets the number of bytes, and `address` the sender's address; it may be NULL. Returns
/// `BLITZ_OK`, `BLITZ_ETIMEDOUT`, `BLITZ_ECANCELED`, `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`, or
/// an error of the system.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_udp_recv(
    udp: *mut blitz_udp,
    buffer: *mut c_void,
    len: usize,
    deadline_ns: u64,
    count: *mut usize,
    address: *mut blitz_address,
) -> c_int {
    entry(|| {
        check(count)?;
        let socket = socket(udp)?;
        let to = bytes_mut(buffer.cast(), len)?;
        let (n, from) = super::repeat(
            || Limit::at(deadline_ns),
            || socket.try_recv_from(to),
            async || socket.readable().await,
        )?;
        put_if_wanted(address, blitz_address::from_rust(from));
        put(count, n)
    })
}

/// Receives a datagram that has arrived, without waiting.
///
/// Returns what `blitz_udp_recv` returns, or `BLITZ_EAGAIN`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_udp_try_recv(
    udp: *mut blitz_udp,
    buffer: *mut c_void,
    len: usize,
    count: *mut usize,
    address: *mut blitz_address,
) -> c_int {
    entry(|| {
        check(count)?;
        let (n, from) = tried(socket(udp)?.try_recv_from(bytes_mut(buffer.cast(), len)?))?;
        put_if_wanted(address, blitz_address::from_rust(from));
        put(count, n)
    })
}

/// Writes the address of a socket. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL, or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_udp_address(
    udp: *const blitz_udp,
    address: *mut blitz_address,
) -> c_int {
    entry(|| {
        let local = arg(udp)?
            .socket
            .local_addr()
            .map_err(|error| of_io(&error))?;
        put(address, blitz_address::from_rust(local))
    })
}

/// Returns the descriptor of a socket, for options of the system, or `BLITZ_EINVAL` for NULL. The
/// socket keeps it: do not close it. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_udp_fd(udp: *const blitz_udp) -> c_int {
    entry_or(BLITZ_EINVAL, || {
        arg(udp).map_or_else(returned, |udp| udp.socket.as_raw_fd())
    })
}

/// Closes a socket and frees it. NULL is fine. No other call may use it, now or later. Does not
/// wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_udp_free(udp: *mut blitz_udp) {
    entry_or((), || fork::free(udp));
}
