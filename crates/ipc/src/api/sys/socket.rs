//! A descriptor that is passed over a Unix socket.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// Room for one descriptor, aligned as the system requires.
#[repr(C)]
union Control {
    header: libc::cmsghdr,
    bytes: [u8; 64],
}

/// One byte of data goes with it, because a message without data looks like the end of the
/// stream.
const DATA: u8 = b'B';

/// Sends `fd` over `socket`.
pub(crate) fn send(socket: BorrowedFd<'_>, fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut data = DATA;
    let mut control = Control { bytes: [0; 64] };
    let mut vector = libc::iovec {
        iov_base: ptr::from_mut(&mut data).cast(),
        iov_len: 1,
    };
    let message = message(&mut vector, &mut control);
    // SAFETY: the control buffer is large enough for one descriptor and is aligned.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(mem::size_of::<i32>() as u32) as _;
        let place = libc::CMSG_DATA(header).cast::<i32>();
        place.write_unaligned(fd.as_raw_fd());
    }
    retry(|| {
        // SAFETY: `message` and the buffers to which it points are alive.
        unsafe { libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL) }
    })
    .map(drop)
}

/// Receives a descriptor from `socket`.
pub(crate) fn receive(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut data = 0_u8;
    let mut control = Control { bytes: [0; 64] };
    let mut vector = libc::iovec {
        iov_base: ptr::from_mut(&mut data).cast(),
        iov_len: 1,
    };
    let mut message = message(&mut vector, &mut control);
    let count = retry(|| {
        // SAFETY: `message` and the buffers to which it points are alive.
        unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) }
    })?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut received = take(&message);
    let is_cut = message.msg_flags & libc::MSG_CTRUNC != 0;
    match received.pop() {
        Some(fd) if received.is_empty() && !is_cut => Ok(fd),
        found => {
            let text = match (found, is_cut) {
                (None, false) => "the message on the socket carries no descriptor",
                _ => "the message on the socket carries more than one descriptor",
            };
            Err(io::Error::new(io::ErrorKind::InvalidData, text))
        }
    }
}

/// Takes all descriptors that `message` carries, so that none stays open unowned. The
/// kernel has filled its control buffer.
fn take(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut owned = Vec::new();
    // SAFETY: the control buffer is alive, and its length is in `message`.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: null, or a header in the buffer.
    while let Some(found) = unsafe { header.as_ref() } {
        if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: it only computes a number.
            let begin = u64::from(unsafe { libc::CMSG_LEN(0) });
            let bytes = (found.cmsg_len as u64).saturating_sub(begin) as usize;
            let count = bytes / mem::size_of::<i32>();
            // SAFETY: the data after the header are that many descriptors.
            let data = unsafe { libc::CMSG_DATA(header) }.cast::<i32>();
            owned.extend((0..count).map(|index| {
                // SAFETY: `index` is below `count`, so this is one of the descriptors in
                // the buffer. The kernel has made it for this message, so this is its only
                // owner.
                unsafe { OwnedFd::from_raw_fd(data.add(index).read_unaligned()) }
            }));
        }
        // SAFETY: a header in the buffer of `message`.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    owned
}

fn message(vector: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all zeros is a valid `msghdr`, which has padding on some systems.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = vector;
    message.msg_iovlen = 1;
    message.msg_control = ptr::from_mut(control).cast();
    // SAFETY: it only computes a number.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(mem::size_of::<i32>() as u32) } as _;
    message
}

fn retry(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(count) => return Ok(count),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}
