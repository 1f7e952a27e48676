//! Sockets. Those of the system are refused in a run, apart from TCP sockets that only keep options.
//!
//! A client may make its socket itself, set options, and hand it to [`TcpSocket`](crate::net::TcpSocket) to connect it, as the client
//! of hyper-util does. There it stands for the descriptor and keeps the options of a simulated one. So in a run:
//!
//! 1. A new socket for TCP is one of the system's. All others are refused at once.
//! 2. Such a socket is not connected, has no address, and does not listen. The system's functions that would change this are
//!    refused: `connect`, `bind`, `listen`, and a `sendto`, `sendmsg` or `sendmmsg` that connects (`MSG_FASTOPEN`).
//! 3. By (2), the system itself answers to the other functions at once and always alike: `accept` fails with `EINVAL`,
//!    reads with `ENOTCONN`, writes with `EPIPE`, and `poll` reports that the connection has ended. No such call reaches another
//!    socket, or waits.
//!
//! Sockets of other kinds that were made outside of the run are the system's, as before.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::size_of_val;

use super::{Real, fail, with};

/// Returns `true` for the arguments of a socket for TCP.
fn is_tcp(domain: c_int, kind: c_int, protocol: c_int) -> bool {
    let kind = kind & !(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK);
    matches!(domain, libc::AF_INET | libc::AF_INET6)
        && kind == libc::SOCK_STREAM
        && matches!(protocol, 0 | libc::IPPROTO_TCP)
}

/// Returns an option of a socket, if the descriptor is one.
fn option(socket: c_int, name: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointers are to a number and to its size.
    let result = unsafe {
        let (value, length) = (&raw mut value, &raw mut length);
        libc::getsockopt(socket, libc::SOL_SOCKET, name, value.cast(), length)
    };
    (result == 0).then_some(value)
}

/// Counts a call that would reach the system by a socket for TCP, if this thread is in a run. Returns `true` if it is to be
/// refused.
fn refuses(socket: c_int, function: &'static str) -> bool {
    let refused = with(|run| {
        let is_stream = is_tcp(
            option(socket, libc::SO_DOMAIN)?,
            option(socket, libc::SO_TYPE)?,
            option(socket, libc::SO_PROTOCOL)?,
        );
        is_stream.then(|| run.system().refused.add(function))
    });
    refused.is_some()
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    static REAL: Real<unsafe extern "C" fn(c_int, c_int, c_int) -> c_int> = Real::new(c"socket");
    let refused = with(|run| {
        let is_refused = !is_tcp(domain, kind, protocol);
        is_refused.then(|| run.system().refused.add("socket"))
    });
    if refused.is_some() {
        return fail(libc::EOPNOTSUPP);
    }
    match REAL.get() {
        // SAFETY: the caller's promise.
        Some(socket) => unsafe { socket(domain, kind, protocol) },
        None => fail(libc::ENOSYS),
    }
}

type WithAddress = unsafe extern "C" fn(c_int, *const libc::sockaddr, libc::socklen_t) -> c_int;

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn connect(
    socket: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> c_int {
    static REAL: Real<WithAddress> = Real::new(c"connect");
    match REAL.get() {
        _ if refuses(socket, "connect") => fail(libc::EOPNOTSUPP),
        // SAFETY: the caller's promise.
        Some(connect) => unsafe { connect(socket, address, length) },
        None => fail(libc::ENOSYS),
    }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn bind(
    socket: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> c_int {
    static REAL: Real<WithAddress> = Real::new(c"bind");
    match REAL.get() {
        _ if refuses(socket, "bind") => fail(libc::EOPNOTSUPP),
        // SAFETY: the caller's promise.
        Some(bind) => unsafe { bind(socket, address, length) },
        None => fail(libc::ENOSYS),
    }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn listen(socket: c_int, backlog: c_int) -> c_int {
    static REAL: Real<unsafe extern "C" fn(c_int, c_int) -> c_int> = Real::new(c"listen");
    match REAL.get() {
        _ if refuses(socket, "listen") => fail(libc::EOPNOTSUPP),
        // SAFETY: the caller's promise.
        Some(listen) => unsafe { listen(socket, backlog) },
        None => fail(libc::ENOSYS),
    }
}

/// Returns `true` for flags with which data connects its socket.
#[inline]
fn connects(flags: c_int) -> bool {
    flags & libc::MSG_FASTOPEN != 0
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn sendto(
    socket: c_int,
    data: *const c_void,
    length: usize,
    flags: c_int,
    address: *const libc::sockaddr,
    address_length: libc::socklen_t,
) -> isize {
    type SendTo = unsafe extern "C" fn(
        c_int,
        *const c_void,
        usize,
        c_int,
        *const libc::sockaddr,
        libc::socklen_t,
    ) -> isize;
    static REAL: Real<SendTo> = Real::new(c"sendto");
    match REAL.get() {
        _ if connects(flags) && refuses(socket, "sendto") => fail(libc::EOPNOTSUPP) as isize,
        // SAFETY: the caller's promise.
        Some(sendto) => unsafe { sendto(socket, data, length, flags, address, address_length) },
        None => fail(libc::ENOSYS) as isize,
    }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn sendmsg(
    socket: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> isize {
    type SendMsg = unsafe extern "C" fn(c_int, *const libc::msghdr, c_int) -> isize;
    static REAL: Real<SendMsg> = Real::new(c"sendmsg");
    match REAL.get() {
        _ if connects(flags) && refuses(socket, "sendmsg") => fail(libc::EOPNOTSUPP) as isize,
        // SAFETY: the caller's promise.
        Some(sendmsg) => unsafe { sendmsg(socket, message, flags) },
        None => fail(libc::ENOSYS) as isize,
    }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn sendmmsg(
    socket: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    type SendMmsg = unsafe extern "C" fn(c_int, *mut libc::mmsghdr, c_uint, c_int) -> c_int;
    static REAL: Real<SendMmsg> = Real::new(c"sendmmsg");
    match REAL.get() {
        _ if connects(flags) && refuses(socket, "sendmmsg") => fail(libc::EOPNOTSUPP),
        // SAFETY: the caller's promise.
        Some(sendmmsg) => unsafe { sendmmsg(socket, messages, count, flags) },
        None => fail(libc::ENOSYS),
    }
}
