//! The status of a file in memory, in the kernel's forms.

use crate::state::sim;
use crate::sys;
use crate::time;
use crate::tree::{self, Id, Kind};

/// `struct stat`.
pub type Status = [u64; 18];

/// Number of the device that all files in memory are on.
const DEVICE: u64 = 0x51;
/// Numbers of nodes begin here: those of the real files below are smaller.
const NUMBERS: u64 = 1 << 40;
const BLOCK: u64 = 512;
const SECOND: u64 = 1_000_000_000;

/// Returns the time of a change that happens now.
pub unsafe fn now() -> u64 {
    time::calendar(sim().now)
}

/// Returns the status of a node.
pub unsafe fn of(id: Id) -> Status {
    const GETUID: usize = 102;
    const GETGID: usize = 104;
    let tree = &mut *sim().files;
    let mut names = tree.names_of(id) as u64;
    let node = &tree.nodes[&id];
    let length = match &node.kind {
        Kind::File(file) => file.length(),
        Kind::Link(target) => target.len() as u64,
        Kind::Folder(_) => {
            names = 2;
            4096
        }
    };
    let (user, group) = (sys::call(GETUID, [0; 6]), sys::call(GETGID, [0; 6]));
    let mut status = [0; 18];
    status[0] = DEVICE;
    status[1] = NUMBERS + id;
    status[2] = names;
    status[3] = u64::from(node.mode) | (user as u64) << 32;
    status[4] = group as u64;
    status[6] = length;
    status[7] = 4096;
    status[8] = length.div_ceil(BLOCK);
    for time in [9, 11, 13] {
        status[time] = node.modified / SECOND;
        status[time + 1] = node.modified % SECOND;
    }
    status
}

/// Writes a status as `struct statx`: all but the time of creation.
pub unsafe fn write_extended(status: &Status, to: *mut u8) {
    const BASIC: u32 = 0x7ff;
    core::slice::from_raw_parts_mut(to, 256).fill(0);
    let put32 = |at: usize, value: u64| to.add(at).cast::<u32>().write_unaligned(value as u32);
    let put64 = |at: usize, value: u64| to.add(at).cast::<u64>().write_unaligned(value);
    put32(0, BASIC.into());
    put32(4, status[7]);
    put32(16, status[2]);
    put32(20, status[3] >> 32);
    put32(24, status[4]);
    to.add(28)
        .cast::<u16>()
        .write_unaligned(tree::mode_of(status) as u16);
    put64(32, status[1]);
    put64(40, status[6]);
    put64(48, status[8]);
    // Access, change of the status, change of the bytes.
    for (at, time) in [(64, 9), (96, 13), (112, 11)] {
        put64(at, status[time]);
        put32(at + 8, status[time + 1]);
    }
    let device = |number: u64| (number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xfff00);
    let ((major, minor), (own_major, own_minor)) = (device(status[5]), device(status[0]));
    put32(128, major);
    put32(132, minor);
    put32(136, own_major);
    put32(140, own_minor);
}

/// Appends an entry of a folder as `getdents64` has it. Returns `false` if it does not fit into `room`.
pub fn add_entry(
    to: &mut Vec<u8>,
    room: usize,
    (number, kind): (u64, u32),
    next: u64,
    name: &[u8],
) -> bool {
    let length = (19 + name.len() + 1).next_multiple_of(8);
    if to.len() + length > room {
        return false;
    }
    let end = to.len() + length;
    to.extend_from_slice(&number.to_ne_bytes());
    to.extend_from_slice(&next.to_ne_bytes());
    to.extend_from_slice(&(length as u16).to_ne_bytes());
    // The kind is the upper bits of a mode.
    to.push((kind >> 12) as u8);
    to.extend_from_slice(name);
    to.resize(end, 0);
    true
}

/// Returns the number of a node as a status shows it.
pub fn number_of(id: Id) -> u64 {
    NUMBERS + id
}
