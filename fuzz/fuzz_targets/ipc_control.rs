//! Messages of a hostile peer to `Anonymous::receive_from`: any number of descriptors of any kind,
//! in any number of control messages, or none. Each call must return, none may panic, and no
//! descriptor may stay open.

#![no_main]

use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use blitz_io_ipc::{Anonymous, Route};

/// More messages of one input find nothing new.
const MESSAGES: usize = 8;
/// How many descriptors a message has at most, and how many control messages.
const DESCRIPTORS: usize = 20;
const PARTS: usize = 3;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let before = open_descriptors();
    receive(data);
    assert_eq!(open_descriptors(), before);
});

fn receive(mut input: &[u8]) {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    // A message without data is lost on its way.
    ours.set_nonblocking(true).expect("a socket");
    let kept = kinds(&ours);
    for _ in 0..MESSAGES {
        let Some(&first) = input.split_off_first() else {
            break;
        };
        let parts: Vec<Vec<RawFd>> = (0..first as usize % (PARTS + 1))
            .map(|_| descriptors(&kept, &mut input))
            .collect();
        let len = usize::from(first >> 6);
        // The system refuses some of the messages.
        if send(&theirs, &parts, len).is_err() {
            continue;
        }
        if let Ok(segment) = Anonymous::receive_from(&ours) {
            let (_, _) = (segment.sender(), segment.receiver());
        }
    }
    drop(theirs);
    // What is left has an end.
    for _ in 0..MESSAGES {
        let _ = Anonymous::receive_from(&ours);
    }
}

/// Descriptors of several kinds: a segment, sealed memory that is none, memory that is not sealed, a
/// device, a folder, a socket.
fn kinds(socket: &UnixStream) -> Vec<OwnedFd> {
    let segment = Route::builder().capacity(4).max_len(32).anonymous();
    let open = |path| File::open(path).expect("it exists").into();
    vec![
        segment.expect("a segment is made").into(),
        memory(libc::F_SEAL_SHRINK | libc::F_SEAL_GROW),
        memory(0),
        open("/dev/null"),
        open("/"),
        socket.try_clone().expect("a descriptor is copied").into(),
    ]
}

/// Makes an anonymous file with these seals.
fn memory(seals: libc::c_int) -> OwnedFd {
    // SAFETY: the name is a C string, and the new descriptor has no other owner.
    let file = unsafe {
        let fd = libc::memfd_create(c"fuzz".as_ptr(), libc::MFD_ALLOW_SEALING);
        assert!(fd >= 0);
        File::from_raw_fd(fd)
    };
    file.set_len(8192).expect("it is memory");
    // SAFETY: the descriptor is open.
    assert_eq!(
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) },
        0
    );
    file.into()
}

/// The descriptors of one control message.
fn descriptors(kept: &[OwnedFd], input: &mut &[u8]) -> Vec<RawFd> {
    let mut byte = || usize::from(input.split_off_first().copied().unwrap_or(0));
    let count = byte() % (DESCRIPTORS + 1);
    (0..count)
        .map(|_| kept[byte() % kept.len()].as_raw_fd())
        .collect()
}

/// Sends a message of `len` bytes with these control messages.
fn send(socket: &UnixStream, parts: &[Vec<RawFd>], len: usize) -> io::Result<()> {
    let mut control = vec![0_u64; PARTS * (DESCRIPTORS + 8)];
    let bytes = [0_u8; 4];
    let mut data = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: len,
    };
    // SAFETY: all zeros is a valid header.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = &raw mut data;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    let space = |part: &Vec<RawFd>| mem::size_of_val(part.as_slice()) as u32;
    let len_of = |part| {
        // SAFETY: the function only computes.
        unsafe { libc::CMSG_SPACE(space(part)) as usize }
    };
    header.msg_controllen = parts.iter().map(len_of).sum();
    // SAFETY: the buffer has room for the parts, as `msg_controllen` says.
    unsafe {
        let mut place = libc::CMSG_FIRSTHDR(&raw const header);
        for part in parts {
            assert!(!place.is_null());
            (*place).cmsg_level = libc::SOL_SOCKET;
            (*place).cmsg_type = libc::SCM_RIGHTS;
            (*place).cmsg_len = libc::CMSG_LEN(space(part)) as usize;
            libc::CMSG_DATA(place)
                .cast::<RawFd>()
                .copy_from(part.as_ptr(), part.len());
            place = libc::CMSG_NXTHDR(&raw const header, place);
        }
        let sent = libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_DONTWAIT);
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}

fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd")
        .expect("the folder of descriptors")
        .count()
}
