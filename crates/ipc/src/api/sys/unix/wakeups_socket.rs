//! A participant is woken by a datagram to a socket with an abstract address: Linux. No
//! file stays behind, and the address disappears with the process. The number of the
//! address is in the participant's record.
//!
//! Any process on the machine can send datagrams to such a socket; they only make its owner
//! look at the ring.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::SegmentFile;

/// The end from which a participant takes its wake-ups.
#[derive(Debug)]
pub(crate) struct Wakeups {
    socket: UnixDatagram,
    /// The number of the address.
    number: u64,
}

impl Wakeups {
    pub(crate) fn new(_: &SegmentFile, _: Option<&Path>, _: usize) -> io::Result<Self> {
        let (socket, number) = bind()?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, number })
    }

    /// Returns the number by which [`wake`] finds the socket.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Takes out all wake-ups.
    pub(crate) fn empty(&self) {
        /// The number of wake-ups that one call takes out: a waiter gets one each time that
        /// it arms.
        const MOST: usize = 4;
        // SAFETY: all zeros are valid, empty headers.
        let mut headers: [libc::mmsghdr; MOST] = unsafe { std::mem::zeroed() };
        let socket = self.socket.as_raw_fd();
        loop {
            let most = MOST as libc::c_uint;
            // SAFETY: there is room for `most` headers, whose buffers are empty.
            let received = unsafe {
                libc::recvmmsg(socket, headers.as_mut_ptr(), most, 0, std::ptr::null_mut())
            };
            if received < MOST as libc::c_int {
                return;
            }
        }
    }
}

impl AsFd for Wakeups {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Makes the socket `number` readable, wherever its owner is.
pub(crate) fn wake(_: Option<&Path>, _: usize, number: u64) {
    static SOCKET: OnceLock<Option<UnixDatagram>> = OnceLock::new();
    let socket = SOCKET.get_or_init(|| {
        let socket = UnixDatagram::unbound().ok()?;
        socket.set_nonblocking(true).ok().map(|()| socket)
    });
    if let (Some(socket), Ok(address)) = (socket, address(number)) {
        // A full socket is readable. A refused send means that its owner has left.
        _ = socket.send_to_addr(&[0], &address);
    }
}

/// Nothing is left behind.
pub(crate) fn remove_wakeups(_: Option<&Path>, _: usize) {}

fn address(number: u64) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("blitz-io-ipc-{number:016x}"))
}

/// Binds a socket to a free address.
fn bind() -> io::Result<(UnixDatagram, u64)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos() as u64);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let number = now ^ u64::from(std::process::id()).rotate_left(40) ^ count.rotate_left(20);
        match UnixDatagram::bind_addr(&address(number)?) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            other => return other.map(|socket| (socket, number)),
        }
    }
}
