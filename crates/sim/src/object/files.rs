//! Files in memory (`--fs memory`): the calls on descriptors. Those with paths are in `paths`.
//!
//! The tree is in `tree`, crashes are in `disk`. Every call on a file in memory is a point.
//! Faults are decisions at these calls: `enospc` (or only a half is written), `eio`, and `crash`.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::baton::{self, fault_of, has_fault};
use crate::c::{EBADF, EINVAL, EMFILE, Iovec, Raw, nr};
use crate::descriptors::{Description, Kind};
use crate::disk::{self, CRASHES};
use crate::end;
use crate::metadata::{self, Status};
use crate::paths;
use crate::progress;
use crate::shared::region::fault;
use crate::shared::unsynced::Change;
use crate::state::sim;
use crate::sys;
use crate::tree::{Content, ENOTDIR, Id, What};

/// The variable that puts files into memory.
pub const VARIABLE: &core::ffi::CStr = c"BLITZ_SIM_FS";

pub const EIO: i32 = 5;
pub const ENOSPC: i32 = 28;
pub const EISDIR: i32 = 21;
/// Numbers of nodes as objects of calls, apart from addresses.
const OBJECTS: usize = 1 << 60;
const APPEND: usize = 0o2000;
const SYNC: usize = 0o10000;
const MAP_SHARED: usize = 1;

/// Calls that are harmless on real files. The filter lets none of them pass if files are in memory.
pub const CALLS: &[u16] = &[
    // By name: stat, lstat, access, truncate, getcwd, chdir, rename, mkdir, rmdir, link, unlink, symlink,
    // readlink, chmod, chown, lchown, statfs, their relatives with a folder, statx, utime.
    4, 6, 21, 76, 79, 80, 82, 83, 84, 86, 87, 88, 89, 90, 92, 94, 132, 137, 235, 258, 260, 261, 262,
    263, 264, 265, 266, 267, 268, 269, 280, 316, 332, 439,
    // By descriptor: fstat, lseek, pread, pwrite, preadv, pwritev, flush, ftruncate, folders, allocation,
    // advice, attributes, copies.
    5, 8, 17, 18, 295, 296, 327, 328, 74, 75, 77, 78, 217, 81, 91, 93, 138, 221, 285, 277, 306, 162,
    326, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199,
    // Mappings of files: msync. (mmap has a rule of its own.)
    26,
];

static IN_MEMORY: AtomicBool = AtomicBool::new(false);

/// Puts files into memory.
pub fn turn_on() {
    IN_MEMORY.store(true, Ordering::Relaxed);
}

/// Returns `true` if files are in memory.
pub fn is_on() -> bool {
    IN_MEMORY.load(Ordering::Relaxed)
}

/// A folder that is open.
pub struct Listing {
    pub id: Id,
    names: Vec<(Vec<u8>, What)>,
    at: usize,
}

impl Listing {
    pub fn new(id: Id) -> Listing {
        Listing {
            id,
            names: vec![],
            at: 0,
        }
    }
}

/// Returns the file of a descriptor, if it is in memory.
pub unsafe fn file(fd: usize) -> Option<Id> {
    match sim().descriptors.get(fd)?.kind {
        Kind::File(id) => Some(id),
        _ => None,
    }
}

/// Returns the folder of a descriptor.
pub unsafe fn folder(fd: usize) -> Option<&'static mut Listing> {
    let description: &mut Description = sim().descriptors.get(fd)?;
    match &mut description.kind {
        Kind::Folder(listing) => Some(listing),
        _ => None,
    }
}

/// Begins a call on a node. The machine may lose its power here.
pub unsafe fn begin(call: &'static str, id: Id) {
    baton::point(call, OBJECTS + id as usize);
    if sim().region().crashes < CRASHES && has_fault(fault::CRASH) {
        disk::crash(call);
    }
}

/// Returns the error of a device that fails, if it does now.
unsafe fn broken() -> Option<Raw> {
    has_fault(fault::EIO).then_some(-(EIO as Raw))
}

/// Returns the error of a disk without room, if it has none now.
pub unsafe fn full() -> Option<Raw> {
    has_fault(fault::ENOSPC).then_some(-(ENOSPC as Raw))
}

/// Ends the uses of files whose last descriptor was closed.
pub unsafe fn closed() {
    let s = sim();
    while let Some(id) = s.descriptors.closed.pop() {
        s.files.close(id);
    }
}

/// Executes a call, if it is about files in memory. `None`: it is the real system's matter.
pub unsafe fn call(number: usize, a: [usize; 6], from: usize) -> Option<Raw> {
    let fd = a[0];
    match number {
        nr::MMAP => return map(a),
        MSYNC => return Some(sync_mappings(a)),
        SYNC_ALL => {
            begin("sync", 0);
            disk::sync_all(&mut sim().files);
            return Some(0);
        }
        COPY => return copy(a),
        _ => {}
    }
    if let Some(id) = file(fd) {
        if let Some(result) = on_file(number, a, id, from) {
            return Some(result);
        }
    } else if folder(fd).is_some() {
        if let Some(result) = on_folder(number, a) {
            return Some(result);
        }
    }
    paths::call(number, a, from)
}

const PREAD: usize = 17;
const PWRITE: usize = 18;
const LSEEK: usize = 8;
const FSTAT: usize = 5;
const MSYNC: usize = 26;
const FSYNC: usize = 74;
const FDATASYNC: usize = 75;
const FCHDIR: usize = 81;
const FCHMOD: usize = 91;
const FCHOWN: usize = 93;
const SYNC_ALL: usize = 162;
const GETDENTS64: usize = 217;
const SYNC_RANGE: usize = 277;
const FALLOCATE: usize = 285;
const PREADV: usize = 295;
const PWRITEV: usize = 296;
const SYNCFS: usize = 306;
const COPY: usize = 326;
const PREADV2: usize = 327;
const PWRITEV2: usize = 328;
const FLOCK: usize = 73;

unsafe fn on_file(number: usize, a: [usize; 6], id: Id, from: usize) -> Option<Raw> {
    let fd = a[0];
    let one = [Iovec {
        base: a[1] as *mut u8,
        len: a[2],
    }];
    let many = || core::slice::from_raw_parts(a[1] as *const Iovec, a[2]);
    Some(match number {
        nr::READ | nr::READV | PREAD | PREADV | PREADV2 => {
            begin("read", id);
            broken().unwrap_or_else(|| progress::transferred(sys::call(number, a)))
        }
        nr::WRITE => write(fd, id, &one, None),
        nr::WRITEV => write(fd, id, many(), None),
        PWRITE => write(fd, id, &one, Some(a[3])),
        PWRITEV => write(fd, id, many(), Some(a[3])),
        PWRITEV2 => write(fd, id, many(), Some(a[3]).filter(|at| *at != usize::MAX)),
        LSEEK => sys::call(number, a),
        FSTAT => {
            *(a[1] as *mut Status) = metadata::of(id);
            0
        }
        nr::FTRUNCATE => resize(fd, id, a[1]),
        FALLOCATE => allocate(a, id),
        FSYNC | FDATASYNC => sync(id),
        SYNCFS => {
            begin("syncfs", id);
            disk::sync_all(&mut sim().files);
            0
        }
        // It promises nothing.
        SYNC_RANGE => 0,
        FCHMOD => paths::set_mode(id, a[1]),
        FCHOWN => 0,
        FLOCK => lock(a, from),
        GETDENTS64 | FCHDIR => -(ENOTDIR as Raw),
        _ => return None,
    })
}

unsafe fn on_folder(number: usize, a: [usize; 6]) -> Option<Raw> {
    let listing = folder(a[0])?;
    let id = listing.id;
    Some(match number {
        nr::READ | nr::READV | PREAD | PREADV | PREADV2 => -(EISDIR as Raw),
        nr::WRITE | nr::WRITEV | PWRITE | PWRITEV | PWRITEV2 => -(EBADF as Raw),
        nr::FTRUNCATE => -(EINVAL as Raw),
        FSTAT => {
            *(a[1] as *mut Status) = metadata::of(id);
            0
        }
        // To a place that a listing has told.
        LSEEK if a[2] == 0 => {
            listing.at = a[1];
            a[1] as Raw
        }
        LSEEK => listing.at as Raw,
        GETDENTS64 => entries(listing, a[1] as *mut u8, a[2]),
        FSYNC | FDATASYNC => {
            begin("fsync of a folder", id);
            broken().unwrap_or_else(|| {
                disk::sync_folder(&mut sim().files, id);
                0
            })
        }
        SYNCFS => {
            begin("syncfs", id);
            disk::sync_all(&mut sim().files);
            0
        }
        FCHDIR => {
            sim().files.current = id;
            0
        }
        FCHMOD => paths::set_mode(id, a[1]),
        FCHOWN => 0,
        FLOCK => 0,
        _ => return None,
    })
}

/// Returns the flags of a descriptor.
unsafe fn flags(fd: usize) -> usize {
    const GET: usize = 3;
    sys::call(nr::FCNTL, [fd, GET, 0, 0, 0, 0]).max(0) as usize
}

/// Notes a change of a file that the kernel has made.
unsafe fn changed(fd: usize, id: Id, change: Change) {
    let time = metadata::now();
    let is_synced = flags(fd) & SYNC != 0;
    let tree = &mut *sim().files;
    if let Some(node) = tree.nodes.get_mut(&id) {
        node.modified = time;
    }
    if let Some(file) = tree.file(id) {
        file.unsynced.push(change);
        if is_synced {
            disk::sync(file);
        }
    }
}

/// Writes at an offset, or at the descriptor's own.
pub unsafe fn write(fd: usize, id: Id, parts: &[Iovec], at: Option<usize>) -> Raw {
    begin("write", id);
    if let Some(error) = broken() {
        return error;
    }
    let mut bytes = vec![];
    for part in parts.iter().filter(|part| part.len > 0) {
        bytes.extend_from_slice(core::slice::from_raw_parts(part.base, part.len));
    }
    match fault_of(fault::ENOSPC, 2) {
        0 => {}
        // A part of it finds room.
        1 if bytes.len() > 1 => bytes.truncate(bytes.len() / 2),
        _ => return -(ENOSPC as Raw),
    }
    let end = match sim().files.file(id) {
        Some(file) => file.length() as usize,
        None => return -(EBADF as Raw),
    };
    let (from, length) = (bytes.as_ptr() as usize, bytes.len());
    let result = match at {
        Some(at) => sys::call(PWRITE, [fd, from, length, at, 0, 0]),
        None => sys::call(nr::WRITE, [fd, from, length, 0, 0, 0]),
    };
    if result <= 0 {
        return result;
    }
    bytes.truncate(result as usize);
    let start = match at {
        _ if flags(fd) & APPEND != 0 => end,
        Some(at) => at,
        None => {
            const CURRENT: usize = 1;
            let now = sys::call(LSEEK, [fd, 0, CURRENT, 0, 0, 0]);
            now as usize - bytes.len()
        }
    };
    changed(fd, id, Change::Write { at: start, bytes });
    progress::transferred(result)
}

/// `ftruncate`.
pub unsafe fn resize(fd: usize, id: Id, length: usize) -> Raw {
    begin("ftruncate", id);
    let result = sys::call(nr::FTRUNCATE, [fd, length, 0, 0, 0, 0]);
    if result == 0 {
        changed(fd, id, Change::Length(length));
    }
    result
}

/// `fallocate`: more room, or a hole.
unsafe fn allocate(a: [usize; 6], id: Id) -> Raw {
    const KEEP_SIZE: usize = 1;
    const PUNCH_HOLE: usize = 2;
    let [fd, mode, at, length, ..] = a;
    begin("fallocate", id);
    if let Some(error) = full() {
        return error;
    }
    let end = match sim().files.file(id) {
        Some(file) => file.length() as usize,
        None => return -(EBADF as Raw),
    };
    let result = sys::call(FALLOCATE, a);
    if result == 0 {
        let stop = (at + length).min(end);
        if mode & PUNCH_HOLE != 0 && at < stop {
            let bytes = vec![0; stop - at];
            changed(fd, id, Change::Write { at, bytes });
        } else if mode & KEEP_SIZE == 0 && at + length > end {
            changed(fd, id, Change::Length(at + length));
        }
    }
    result
}

/// `fsync` and `fdatasync`. If it fails, what was not synced never will be.
unsafe fn sync(id: Id) -> Raw {
    begin("fsync", id);
    let error = broken();
    if let Some(file) = sim().files.file(id) {
        match error {
            None => disk::sync(file),
            Some(_) => file.unsynced.clear(),
        }
    }
    error.unwrap_or(0)
}

/// `flock`. Descriptions of the same file exclude each other in the kernel.
unsafe fn lock(a: [usize; 6], from: usize) -> Raw {
    const NO_WAIT: usize = 4;
    let result = sys::call(FLOCK, [a[0], a[1] | NO_WAIT, 0, 0, 0, 0]);
    if result == -(crate::c::EAGAIN as Raw) && a[1] & NO_WAIT == 0 {
        end::escaped("flock that waits", from);
    }
    result
}

/// `getdents64`: the names as they were at the start of the listing.
unsafe fn entries(listing: &mut Listing, to: *mut u8, room: usize) -> Raw {
    let tree = &mut *sim().files;
    if listing.at == 0 {
        let parent = tree.folder(listing.id).map_or(listing.id, |it| it.parent);
        listing.names = vec![
            (b".".to_vec(), What::Node(listing.id)),
            (b"..".to_vec(), What::Node(parent)),
        ];
        listing.names.extend(tree.list(listing.id));
    }
    let mut all = vec![];
    while let Some((name, what)) = listing.names.get(listing.at) {
        let number = match what {
            What::Node(id) => (metadata::number_of(*id), tree.nodes[id].mode),
            What::Lower(path, mode) => {
                let status = crate::tree::real_status(path);
                (status.map_or(1, |status| status[1]), *mode)
            }
            What::Nothing => (1, 0),
        };
        let next = listing.at as u64 + 1;
        if !metadata::add_entry(&mut all, room, number, next, name) {
            break;
        }
        listing.at += 1;
    }
    if all.is_empty() && listing.at < listing.names.len() {
        return -(EINVAL as Raw);
    }
    core::ptr::copy_nonoverlapping(all.as_ptr(), to, all.len());
    all.len() as Raw
}

/// `mmap`. The program may store into a shared mapping without a call, and after the last `close`.
unsafe fn map(a: [usize; 6]) -> Option<Raw> {
    const ANONYMOUS: usize = 0x20;
    let [_, length, _, flags, fd, _] = a;
    if flags & ANONYMOUS != 0 || flags & MAP_SHARED == 0 {
        return None;
    }
    let id = file(fd)?;
    let address = sys::call(nr::MMAP, a);
    if (-4095..0).contains(&address) {
        return Some(address);
    }
    let tree = &mut *sim().files;
    tree.open(id);
    if let Some(file) = tree.file(id) {
        file.is_mapped = true;
    }
    tree.mappings.push((address as usize, length, id));
    Some(address)
}

/// `msync`: the files of the mappings in a range.
unsafe fn sync_mappings(a: [usize; 6]) -> Raw {
    let [start, length, ..] = a;
    let overlaps = |at: usize, size: usize| at < start + length && start < at + size;
    let mappings = sim().files.mappings.iter();
    let mapped: Vec<Id> = mappings
        .filter(|(at, size, _)| overlaps(*at, *size))
        .map(|(.., id)| *id)
        .collect();
    if mapped.is_empty() {
        return sys::call(MSYNC, a);
    }
    begin("msync", mapped[0]);
    if let Some(error) = broken() {
        return error;
    }
    for id in mapped {
        if let Some(file) = sim().files.file(id) {
            disk::sync(file);
        }
    }
    0
}

/// `copy_file_range`, by a read and a write.
unsafe fn copy(a: [usize; 6]) -> Option<Raw> {
    const PART: usize = 1 << 20;
    let [from, from_at, to, to_at, length, _] = a;
    let target = file(to);
    if target.is_none() && file(from).is_none() {
        return None;
    }
    let Some(target) = target else {
        return Some(-(EBADF as Raw));
    };
    let mut bytes = vec![0u8; length.min(PART)];
    let buffer = bytes.as_mut_ptr() as usize;
    let got = match from_at as *mut usize {
        at if at.is_null() => sys::call(nr::READ, [from, buffer, bytes.len(), 0, 0, 0]),
        at => sys::call(PREAD, [from, buffer, bytes.len(), *at, 0, 0]),
    };
    if got <= 0 {
        return Some(got);
    }
    let part = [Iovec {
        base: buffer as *mut u8,
        len: got as usize,
    }];
    let at = to_at as *mut usize;
    let result = write(to, target, &part, (!at.is_null()).then(|| *at));
    if result > 0 {
        for at in [from_at, to_at] {
            let at = at as *mut usize;
            if !at.is_null() {
                *at += result as usize;
            }
        }
        // Its own offset is behind what was read.
        if from_at == 0 && result < got {
            sys::call(LSEEK, [from, (result - got) as usize, 1, 0, 0, 0]);
        }
    }
    Some(result)
}

/// Opens a file for a descriptor of the program, with the kernel's own offset and flags.
pub unsafe fn open_file(id: Id, flags: usize) -> Raw {
    /// Access, append, synchronous writes, close at exec.
    const KEPT: usize = 3 | APPEND | SYNC | 0o2_000_000;
    closed();
    let Some(private) = sim().files.open(id) else {
        return -(EMFILE as Raw);
    };
    let path = format!("/proc/self/fd/{private}\0");
    let arguments = [
        crate::tree::HERE,
        path.as_ptr() as usize,
        flags & KEPT,
        0,
        0,
        0,
    ];
    let fd = sys::call(nr::OPENAT, arguments);
    if fd < 0 {
        sim().files.close(id);
        return fd;
    }
    sim().descriptors.add(fd as usize, Kind::File(id), false);
    fd
}

/// Opens a folder for a descriptor of the program.
pub unsafe fn open_folder(id: Id, flags: usize) -> Raw {
    const FOLDER: usize = 0o200_000;
    let arguments = [
        crate::tree::HERE,
        c"/".as_ptr() as usize,
        FOLDER | flags & 0o2_000_000,
        0,
        0,
        0,
    ];
    let fd = sys::call(nr::OPENAT, arguments);
    if fd >= 0 {
        let listing = Listing::new(id);
        sim()
            .descriptors
            .add(fd as usize, Kind::Folder(listing), false);
    }
    fd
}

/// Returns `true` if a file has no bytes.
pub unsafe fn is_empty(id: Id) -> bool {
    let file = sim().files.file(id);
    file.is_none_or(|file| match &file.content {
        Content::Closed(bytes) => bytes.is_empty(),
        Content::Open(_) => file.length() == 0,
    })
}
