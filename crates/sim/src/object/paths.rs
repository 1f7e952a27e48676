//! Files in memory: the calls with paths. What is in the real tree is read there and never changed.
//!
//! Permissions are not checked: who may open a real file may change its copy.

use core::ffi::{CStr, c_char};

use crate::c::{EBADF, EINVAL, ENOENT, Raw, nr};
use crate::end;
use crate::files::{self, EISDIR, full};
use crate::identity;
use crate::metadata::{self, Status};
use crate::shared::unsynced::{Change, Operation};
use crate::state::sim;
use crate::sys;
use crate::tree::{
    self, ELOOP, ENOTDIR, FILE, FOLDER, File, Folder, HERE, Id, Kind, LINK, Place, TYPE, What,
    with_zero,
};

const EACCES: i32 = 13;
const EEXIST: i32 = 17;
const EXDEV: i32 = 18;
const ENOTEMPTY: i32 = 39;
const EBUSY: i32 = 16;
const ERANGE: i32 = 34;
const ENODATA: i32 = 61;
const EOPNOTSUPP: i32 = 95;
const EPERM: i32 = 1;

const NO_FOLLOW: usize = 0x100;
const REMOVE_FOLDER: usize = 0x200;
const FOLLOW: usize = 0x400;
const EMPTY_PATH: usize = 0x1000;

/// A call with a path, in the form that names the folder.
pub unsafe fn call(number: usize, a: [usize; 6], from: usize) -> Option<Raw> {
    let [one, two, three, four, five, _] = a;
    let result = match number {
        nr::OPEN => open(HERE, one, two, three),
        nr::OPENAT => open(one, two, three, four),
        // creat
        85 => open(HERE, one, 0o1101, two),
        4 => status(HERE, one, 0).map(|status| write_status(&status, two)),
        6 => status(HERE, one, NO_FOLLOW).map(|status| write_status(&status, two)),
        nr::NEWFSTATAT => status(one, two, four).map(|status| write_status(&status, three)),
        332 => status(one, two, three).map(|status| {
            metadata::write_extended(&status, five as *mut u8);
            0
        }),
        21 => access(HERE, one, two, 0),
        269 => access(one, two, three, 0),
        439 => access(one, two, three, four),
        76 => truncate(one, two),
        79 => current(one, two),
        80 => change_current(one),
        82 => rename((HERE, one), (HERE, two), 0),
        264 => rename((one, two), (three, four), 0),
        316 => rename((one, two), (three, four), five),
        83 => create_folder(HERE, one, two),
        258 => create_folder(one, two, three),
        84 => remove(HERE, one, REMOVE_FOLDER),
        87 => remove(HERE, one, 0),
        263 => remove(one, two, three),
        86 => link((HERE, one), (HERE, two), 0),
        265 => link((one, two), (three, four), five),
        88 => create_link(one, HERE, two),
        266 => create_link(one, two, three),
        89 => read_link(HERE, one, two, three),
        267 => read_link(one, two, three, four),
        90 => change_mode(HERE, one, two),
        268 => change_mode(one, two, three),
        92 | 94 => changed_node(HERE, one, true).map(|_| 0),
        260 => changed_node(one, two, five & NO_FOLLOW == 0).map(|_| 0),
        280 => set_time(a),
        137 => file_system(a),
        188..=199 => attributes(number, a, from),
        // utime and its relatives set the time to one of the program's.
        132 | 235 => changed_node(HERE, one, true).map(|_| 0),
        261 => changed_node(one, two, true).map(|_| 0),
        // A change of a file that is open, and neither in memory nor open for writing.
        91 | 93 if files::file(one).is_none() => {
            end::escaped("a change of a real file's attributes", from)
        }
        nr::BIND if is_path(two, three) => end::escaped("bind of a path with --fs memory", from),
        _ => return None,
    };
    Some(result.unwrap_or_else(|error| error))
}

type Answer = Result<Raw, Raw>;

fn error<T>(number: i32) -> Result<T, Raw> {
    Err(-(number as Raw))
}

/// Returns `true` for the address of a Unix socket with a path.
unsafe fn is_path(address: usize, length: usize) -> bool {
    let bytes = address as *const u8;
    length > 2 && *bytes == 1 && *bytes.add(2) != 0
}

unsafe fn text(path: usize) -> Result<Vec<u8>, Raw> {
    if path == 0 {
        return error(crate::c::EFAULT);
    }
    Ok(CStr::from_ptr(path as *const c_char).to_bytes().to_vec())
}

/// Finds where a path leads from a folder.
unsafe fn find(folder: usize, path: usize, follow: bool) -> Result<Place, Raw> {
    let path = text(path)?;
    let tree = &mut *sim().files;
    let mut start = tree.current;
    if path.first() != Some(&b'/') && folder as i32 != HERE as i32 {
        start = match files::folder(folder) {
            Some(listing) => listing.id,
            None => return beside_real(folder, &path),
        };
    }
    sim().files.find(start, &path, follow)
}

/// Finds a path from a folder of the real system that the program has open: one below `/proc` or `/dev`.
unsafe fn beside_real(folder: usize, path: &[u8]) -> Result<Place, Raw> {
    let name = format!("/proc/self/fd/{folder}\0");
    let mut target = vec![0u8; 4096];
    let (from, to) = (name.as_ptr() as usize, target.as_mut_ptr() as usize);
    let length = sys::call(89, [from, to, target.len(), 0, 0, 0]);
    if length < 0 {
        return error(EBADF);
    }
    target.truncate(length as usize);
    sim()
        .files
        .find(tree::ROOT, &tree::join(&target, path), true)
}

/// Returns the node of a place for a change: a real file gets one.
unsafe fn node_of(folder: Id, name: &[u8], what: &What) -> Result<Id, Raw> {
    match what {
        What::Nothing => error(ENOENT),
        What::Node(id) => Ok(*id),
        What::Lower(path, _) => sim().files.copy_up(folder, name, path),
    }
}

/// Finds the node of a path for a change. Files of the real system cannot be changed.
unsafe fn changed_node(folder: usize, path: usize, follow: bool) -> Result<Id, Raw> {
    match find(folder, path, follow)? {
        Place::Real(_) => error(EPERM),
        Place::At { folder, name, what } => node_of(folder, &name, &what),
    }
}

/// Changes entries of folders, in one step.
unsafe fn set(entries: Vec<(Id, Vec<u8>, Option<Id>)>) {
    let time = metadata::now();
    let tree = &mut *sim().files;
    for (folder, name, entry) in &entries {
        if let Some(folder) = tree.folder(*folder) {
            folder.entries.insert(name.clone(), *entry);
        }
        if let Some(node) = tree.nodes.get_mut(folder) {
            node.modified = time;
        }
    }
    tree.journal.push(Operation(entries));
}

/// `openat`.
unsafe fn open(folder: usize, path: usize, flags: usize, mode: usize) -> Answer {
    const CREATE: usize = 0o100;
    const EXCLUSIVE: usize = 0o200;
    const TRUNCATE: usize = 0o1000;
    const ONLY_FOLDER: usize = 0o200_000;
    const LINK_ITSELF: usize = 0o400_000;
    const WITHOUT_NAME: usize = 0o20_000_000;
    const DIRECT: usize = 0o40000;
    let flags = flags & !DIRECT;
    if flags & WITHOUT_NAME == WITHOUT_NAME {
        // Programs take a name and remove it.
        return error(EOPNOTSUPP);
    }
    let is_exclusive = flags & (CREATE | EXCLUSIVE) == CREATE | EXCLUSIVE;
    let follows = flags & LINK_ITSELF == 0 && !is_exclusive;
    let (folder, name, what) = match find(folder, path, follows)? {
        Place::Real(path) => {
            let path = with_zero(&path);
            return Ok(identity::open(HERE, path.as_ptr() as usize, flags, mode));
        }
        Place::At { folder, name, what } => (folder, name, what),
    };
    if what != What::Nothing && is_exclusive {
        return error(EEXIST);
    }
    let changes = flags & 3 != 0 || flags & TRUNCATE != 0;
    let id = match what {
        What::Nothing if flags & CREATE == 0 => return error(ENOENT),
        What::Nothing if flags & ONLY_FOLDER != 0 || name.is_empty() => return error(EINVAL),
        What::Nothing => return create(folder, &name, flags, mode),
        What::Lower(path, kind) if !changes || kind & TYPE != FILE => {
            let path = with_zero(&path);
            let flags = flags & !CREATE;
            return Ok(sys::call(
                nr::OPENAT,
                [HERE, path.as_ptr() as usize, flags, 0, 0, 0],
            ));
        }
        What::Lower(path, _) => sim().files.copy_up(folder, &name, &path)?,
        What::Node(id) => id,
    };
    match sim().files.nodes[&id].mode & TYPE {
        FOLDER if changes => return error(EISDIR),
        FOLDER => return Ok(files::open_folder(id, flags)),
        LINK => return error(ELOOP),
        _ if flags & ONLY_FOLDER != 0 => return error(ENOTDIR),
        _ => {}
    }
    let fd = files::open_file(id, flags);
    if fd >= 0 && flags & TRUNCATE != 0 && !files::is_empty(id) {
        let result = files::resize(fd as usize, id, 0);
        // The kernel lets no one truncate through a descriptor for reading.
        if result < 0 {
            truncate_node(id, 0);
        }
    }
    Ok(fd)
}

/// Creates a file and opens it.
unsafe fn create(folder: Id, name: &[u8], flags: usize, mode: usize) -> Answer {
    files::begin("creation of a file", folder);
    if let Some(full) = full() {
        return Err(full);
    }
    // Another thread may have been faster.
    let id = match sim().files.look_up(folder, name) {
        What::Nothing => {
            let mode = FILE | with_mask(mode);
            let time = metadata::now();
            let id = sim().files.add(Kind::File(File::new(vec![])), mode, time);
            set(vec![(folder, name.to_vec(), Some(id))]);
            id
        }
        _ if flags & 0o200 != 0 => return error(EEXIST),
        what => node_of(folder, name, &what)?,
    };
    if sim().files.file(id).is_none() {
        return error(EISDIR);
    }
    Ok(files::open_file(id, flags))
}

unsafe fn with_mask(mode: usize) -> u32 {
    const UMASK: usize = 95;
    let mask = sys::call(UMASK, [0o22, 0, 0, 0, 0, 0]) as usize;
    sys::call(UMASK, [mask, 0, 0, 0, 0, 0]);
    (mode & 0o7777 & !mask) as u32
}

/// Returns the status of a path, or of a descriptor if the path is empty.
unsafe fn status(folder: usize, path: usize, flags: usize) -> Result<Status, Raw> {
    let is_empty = path == 0 || *(path as *const u8) == 0;
    if flags & EMPTY_PATH != 0 && is_empty {
        return status_of(folder);
    }
    match find(folder, path, flags & NO_FOLLOW == 0)? {
        Place::Real(path) => real(&path, flags & NO_FOLLOW),
        Place::At { what, .. } => match what {
            What::Nothing => error(ENOENT),
            What::Node(id) => Ok(metadata::of(id)),
            What::Lower(path, _) => real(&path, NO_FOLLOW),
        },
    }
}

unsafe fn status_of(fd: usize) -> Result<Status, Raw> {
    const FSTAT: usize = 5;
    if fd as i32 == HERE as i32 {
        return Ok(metadata::of(sim().files.current));
    }
    if let Some(id) = files::file(fd).or_else(|| files::folder(fd).map(|it| it.id)) {
        return Ok(metadata::of(id));
    }
    let mut status: Status = [0; 18];
    let to = status.as_mut_ptr() as usize;
    match sys::call(FSTAT, [fd, to, 0, 0, 0, 0]) {
        0 => Ok(status),
        error => Err(error),
    }
}

unsafe fn real(path: &[u8], flags: usize) -> Result<Status, Raw> {
    let path = with_zero(path);
    let mut status: Status = [0; 18];
    let (from, to) = (path.as_ptr() as usize, status.as_mut_ptr() as usize);
    match sys::call(nr::NEWFSTATAT, [HERE, from, to, flags, 0, 0]) {
        0 => Ok(status),
        error => Err(error),
    }
}

unsafe fn write_status(status: &Status, to: usize) -> Raw {
    *(to as *mut Status) = *status;
    0
}

/// `faccessat`. Of the permissions, only the one to execute counts.
unsafe fn access(folder: usize, path: usize, wanted: usize, flags: usize) -> Answer {
    const FACCESSAT: usize = 269;
    let lower = match find(folder, path, flags & NO_FOLLOW == 0)? {
        Place::Real(path) => path,
        Place::At { what, .. } => match what {
            What::Nothing => return error(ENOENT),
            What::Node(id) => {
                let mode = sim().files.nodes[&id].mode;
                let refused = wanted & 1 != 0 && mode & 0o111 == 0;
                return if refused { error(EACCES) } else { Ok(0) };
            }
            What::Lower(path, _) => path,
        },
    };
    let path = with_zero(&lower);
    Ok(sys::call(
        FACCESSAT,
        [HERE, path.as_ptr() as usize, wanted, 0, 0, 0],
    ))
}

/// `truncate`.
unsafe fn truncate(path: usize, length: usize) -> Answer {
    let id = changed_node(HERE, path, true)?;
    if sim().files.file(id).is_none() {
        return error(EISDIR);
    }
    files::begin("truncate", id);
    truncate_node(id, length);
    Ok(0)
}

unsafe fn truncate_node(id: Id, length: usize) {
    let time = metadata::now();
    let tree = &mut *sim().files;
    if let Some(node) = tree.nodes.get_mut(&id) {
        node.modified = time;
    }
    let Some(file) = tree.file(id) else { return };
    match &mut file.content {
        tree::Content::Closed(bytes) => bytes.resize(length, 0),
        tree::Content::Open(fd) => {
            sys::call(nr::FTRUNCATE, [*fd, length, 0, 0, 0, 0]);
        }
    }
    file.unsynced.push(Change::Length(length));
}

/// `getcwd`. The result counts the zero at the end.
unsafe fn current(to: usize, room: usize) -> Answer {
    let tree = &mut *sim().files;
    let current = tree.current;
    let Some(path) = tree.path_of(current) else {
        return error(ENOENT);
    };
    let path = with_zero(&path);
    if path.len() > room {
        return error(ERANGE);
    }
    core::ptr::copy_nonoverlapping(path.as_ptr(), to as *mut u8, path.len());
    Ok(path.len() as Raw)
}

/// `chdir`.
unsafe fn change_current(path: usize) -> Answer {
    match find(HERE, path, true)? {
        Place::At { what, .. } if sim().files.is_folder(&what) => {
            if let What::Node(id) = what {
                sim().files.current = id;
            }
            Ok(0)
        }
        Place::At {
            what: What::Nothing,
            ..
        } => error(ENOENT),
        Place::At { .. } => error(ENOTDIR),
        // The current folder is one of the tree.
        Place::Real(_) => error(EACCES),
    }
}

/// A name that can be given or removed, and its node.
struct Entry {
    folder: Id,
    name: Vec<u8>,
    what: What,
}

/// Finds a name. `.`, `..` and `/` are none.
unsafe fn entry((folder, path): (usize, usize)) -> Result<Entry, Raw> {
    match find(folder, path, false)? {
        Place::Real(_) => error(EXDEV),
        Place::At { name, .. } if name.is_empty() => error(EBUSY),
        Place::At { folder, name, what } => Ok(Entry { folder, name, what }),
    }
}

/// `mkdirat`.
unsafe fn create_folder(folder: usize, path: usize, mode: usize) -> Answer {
    // An existing one may be `.` or `/`.
    match find(folder, path, false)? {
        Place::At { what, .. } if what != What::Nothing => return error(EEXIST),
        Place::Real(_) => return error(EPERM),
        Place::At { folder, .. } => files::begin("mkdir", folder),
    }
    if let Some(full) = full() {
        return Err(full);
    }
    let at = entry((folder, path))?;
    if at.what != What::Nothing {
        return error(EEXIST);
    }
    let (mode, time) = (FOLDER | with_mask(mode), metadata::now());
    let new = Folder {
        parent: at.folder,
        ..Folder::default()
    };
    let id = sim().files.add(Kind::Folder(new), mode, time);
    set(vec![(at.folder, at.name, Some(id))]);
    Ok(0)
}

/// `unlinkat`.
unsafe fn remove(folder: usize, path: usize, flags: usize) -> Answer {
    let before = entry((folder, path))?;
    files::begin("unlink", before.folder);
    let at = entry((folder, path))?;
    let is_folder = sim().files.is_folder(&at.what);
    match (is_folder, flags & REMOVE_FOLDER != 0) {
        _ if at.what == What::Nothing => return error(ENOENT),
        (true, false) => return error(EISDIR),
        (false, true) => return error(ENOTDIR),
        (true, true) if !is_empty(&at.what) => return error(ENOTEMPTY),
        _ => {}
    }
    set(vec![(at.folder, at.name, None)]);
    Ok(0)
}

unsafe fn is_empty(what: &What) -> bool {
    match what {
        What::Node(id) => sim().files.list(*id).is_empty(),
        _ => true,
    }
}

/// `renameat2`.
unsafe fn rename(from: (usize, usize), to: (usize, usize), flags: usize) -> Answer {
    const NO_REPLACE: usize = 1;
    const EXCHANGE: usize = 2;
    if flags & !(NO_REPLACE | EXCHANGE) != 0 {
        return error(EINVAL);
    }
    let before = entry(from)?;
    files::begin("rename", before.folder);
    let (old, new) = (entry(from)?, entry(to)?);
    let id = node_of(old.folder, &old.name, &old.what)?;
    let exchanges = flags & EXCHANGE != 0;
    if new.what != What::Nothing && flags & NO_REPLACE != 0 {
        return error(EEXIST);
    }
    if new.what == What::Nothing && exchanges {
        return error(ENOENT);
    }
    if new.what == What::Node(id) {
        return Ok(0);
    }
    let is_folder = sim().files.is_folder(&old.what);
    if is_folder && is_below(new.folder, id) {
        return error(EINVAL);
    }
    let replaces_folder = sim().files.is_folder(&new.what);
    if new.what != What::Nothing && !exchanges {
        match (is_folder, replaces_folder) {
            (true, false) => return error(ENOTDIR),
            (false, true) => return error(EISDIR),
            (true, true) if !is_empty(&new.what) => return error(ENOTEMPTY),
            _ => {}
        }
    }
    let other = if exchanges {
        Some(node_of(new.folder, &new.name, &new.what)?)
    } else {
        None
    };
    for (child, parent) in [(Some(id), new.folder), (other, old.folder)] {
        if let Some(folder) = child.and_then(|child| sim().files.folder(child)) {
            folder.parent = parent;
        }
    }
    set(vec![
        (old.folder, old.name, other),
        (new.folder, new.name, Some(id)),
    ]);
    Ok(0)
}

/// Returns `true` if a folder is another one or below it.
unsafe fn is_below(mut folder: Id, other: Id) -> bool {
    loop {
        if folder == other {
            return true;
        }
        let parent = sim().files.folder(folder).map(|it| it.parent);
        match parent {
            Some(parent) if parent != folder => folder = parent,
            _ => return false,
        }
    }
}

/// `linkat`.
unsafe fn link(from: (usize, usize), to: (usize, usize), flags: usize) -> Answer {
    if flags & EMPTY_PATH != 0 {
        return error(ENOENT);
    }
    let (folder, name, what) = match find(from.0, from.1, flags & FOLLOW != 0)? {
        Place::Real(_) => return error(EXDEV),
        Place::At { folder, name, what } => (folder, name, what),
    };
    if sim().files.is_folder(&what) {
        return error(EPERM);
    }
    let id = node_of(folder, &name, &what)?;
    files::begin("link", id);
    if let Some(full) = full() {
        return Err(full);
    }
    let new = entry(to)?;
    if new.what != What::Nothing {
        return error(EEXIST);
    }
    set(vec![(new.folder, new.name, Some(id))]);
    Ok(0)
}

/// `symlinkat`.
unsafe fn create_link(target: usize, folder: usize, path: usize) -> Answer {
    let target = text(target)?;
    let before = entry((folder, path))?;
    files::begin("symlink", before.folder);
    if let Some(full) = full() {
        return Err(full);
    }
    let at = entry((folder, path))?;
    if at.what != What::Nothing {
        return error(EEXIST);
    }
    let time = metadata::now();
    let id = sim().files.add(Kind::Link(target), LINK | 0o777, time);
    set(vec![(at.folder, at.name, Some(id))]);
    Ok(0)
}

/// `readlinkat`.
unsafe fn read_link(folder: usize, path: usize, to: usize, room: usize) -> Answer {
    let lower = match find(folder, path, false)? {
        Place::Real(path) => path,
        Place::At { what, .. } => match what {
            What::Nothing => return error(ENOENT),
            What::Lower(path, _) => path,
            What::Node(id) => {
                let Kind::Link(target) = &sim().files.nodes[&id].kind else {
                    return error(EINVAL);
                };
                let length = target.len().min(room);
                core::ptr::copy_nonoverlapping(target.as_ptr(), to as *mut u8, length);
                return Ok(length as Raw);
            }
        },
    };
    let path = with_zero(&lower);
    Ok(sys::call(89, [path.as_ptr() as usize, to, room, 0, 0, 0]))
}

/// `fchmodat`.
unsafe fn change_mode(folder: usize, path: usize, mode: usize) -> Answer {
    Ok(set_mode(changed_node(folder, path, true)?, mode))
}

/// Sets the mode of a node.
pub unsafe fn set_mode(id: Id, mode: usize) -> Raw {
    if let Some(node) = sim().files.nodes.get_mut(&id) {
        node.mode = node.mode & TYPE | mode as u32 & 0o7777;
    }
    0
}

/// `utimensat`. The time of access is not kept.
unsafe fn set_time(a: [usize; 6]) -> Answer {
    const NOW: i64 = 0x3fff_ffff;
    const LEAVE: i64 = 0x3fff_fffe;
    let [folder, path, times, flags, ..] = a;
    let id = if path == 0 {
        let on = files::file(folder).or_else(|| files::folder(folder).map(|it| it.id));
        on.ok_or(-(EBADF as Raw))?
    } else {
        changed_node(folder, path, flags & NO_FOLLOW == 0)?
    };
    let time = if times == 0 {
        metadata::now()
    } else {
        let time = *(times as *const crate::c::Timespec).add(1);
        match time.nsec {
            NOW => metadata::now(),
            LEAVE => return Ok(0),
            _ => crate::time::nanoseconds(&time),
        }
    };
    if let Some(node) = sim().files.nodes.get_mut(&id) {
        node.modified = time;
    }
    Ok(0)
}

/// `statfs`: that of the real root, for files in memory.
unsafe fn file_system(a: [usize; 6]) -> Answer {
    const STATFS: usize = 137;
    let path = match find(HERE, a[0], true)? {
        Place::Real(path) => path,
        Place::At { what, .. } => match what {
            What::Nothing => return error(ENOENT),
            What::Lower(path, _) => path,
            What::Node(_) => b"/".to_vec(),
        },
    };
    let path = with_zero(&path);
    Ok(sys::call(
        STATFS,
        [path.as_ptr() as usize, a[1], 0, 0, 0, 0],
    ))
}

/// Extended attributes. Files in memory have none, and no file gets one.
unsafe fn attributes(number: usize, a: [usize; 6], from: usize) -> Answer {
    // setxattr, lsetxattr, fsetxattr; then get, list and remove, three of each.
    match number {
        188..=190 | 197..=199 => return error(EOPNOTSUPP),
        193 | 196 if files::file(a[0]).is_none() && files::folder(a[0]).is_none() => {
            return Ok(sys::call(number, a));
        }
        193 => return error(ENODATA),
        196 => return Ok(0),
        191 | 192 | 194 | 195 => {}
        _ => end::escaped("an extended attribute", from),
    }
    let follows = number == 191 || number == 194;
    let lower = match find(HERE, a[0], follows)? {
        Place::Real(path) => path,
        Place::At { what, .. } => match what {
            What::Nothing => return error(ENOENT),
            What::Node(_) if number < 194 => return error(ENODATA),
            What::Node(_) => return Ok(0),
            What::Lower(path, _) => path,
        },
    };
    let path = with_zero(&lower);
    Ok(sys::call(
        number,
        [path.as_ptr() as usize, a[1], a[2], a[3], a[4], a[5]],
    ))
}
