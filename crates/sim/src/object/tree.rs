//! The tree of files in memory: folders, files, links, and the real tree below them.
//!
//! The tree lies over the real one, which is only read. A folder of the real tree gets a node when a name in
//! it is looked up first; a real file gets one when the program changes it, with a copy of its bytes. An entry
//! of a folder is a node, or says that the name was removed. A name without an entry shows the real tree.
//! `/proc`, `/sys` and `/dev` are real.
//!
//! The bytes of a file that is open are in a file of the kernel (`memfd`), and each descriptor of the program is
//! one of the kernel's for it. So offsets, appending, holes and mappings are the kernel's own. The last
//! `close` moves the bytes into the node.
//!
//! Who frees what: a node lives as long as the run, because `disk` may need what it was. The kernel's file
//! lives as long as a descriptor or a mapping of the program does.

use std::collections::{BTreeMap, VecDeque};

use crate::c::{EINVAL, ENOENT, Raw, nr};
use crate::shared::unsynced::{Change, Operation};
use crate::sys;

/// Number of a node.
pub type Id = u64;
/// The root folder.
pub const ROOT: Id = 1;
/// Names of the root that are always real.
const REAL: [&[u8]; 3] = [b"proc", b"sys", b"dev"];
/// Links that one look-up follows.
const LINKS: u32 = 40;
/// Private descriptors have numbers from here.
const PRIVATE: usize = 600;

pub const ENOTDIR: i32 = 20;
pub const ELOOP: i32 = 40;
/// Bits of a mode for the kind of the file.
pub const TYPE: u32 = 0o170_000;
pub const FOLDER: u32 = 0o040_000;
pub const FILE: u32 = 0o100_000;
pub const LINK: u32 = 0o120_000;
/// The folder of a relative path is the current one.
pub const HERE: usize = -100isize as usize;

/// Where the bytes of a file are.
pub enum Content {
    /// Here: no descriptor refers to the file.
    Closed(Vec<u8>),
    /// The private descriptor of the kernel's file.
    Open(usize),
}

/// A file.
pub struct File {
    pub content: Content,
    /// Descriptions and mappings.
    pub uses: usize,
    /// A mapping may store into it, which no call tells.
    pub is_mapped: bool,
    /// Bytes that a crash leaves in every case.
    pub durable: Vec<u8>,
    /// Changes since then.
    pub unsynced: Vec<Change>,
}

/// A folder.
#[derive(Default)]
pub struct Folder {
    pub parent: Id,
    /// The real folder that shows through.
    pub lower: Option<Vec<u8>>,
    /// `None`: the name was removed.
    pub entries: BTreeMap<Vec<u8>, Option<Id>>,
    /// Entries that a crash leaves in every case.
    pub durable: BTreeMap<Vec<u8>, Option<Id>>,
}

/// A file, a folder or a link.
pub enum Kind {
    File(File),
    Folder(Folder),
    Link(Vec<u8>),
}

/// A node.
pub struct Node {
    pub kind: Kind,
    pub mode: u32,
    /// Time of the last change, in nanoseconds of the calendar.
    pub modified: u64,
}

/// The target of a name.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Nothing,
    Node(Id),
    /// A real file that the program has not changed, with its mode.
    Lower(Vec<u8>, u32),
}

/// The end of a path.
pub enum Place {
    /// A path of the real system.
    Real(Vec<u8>),
    /// A name in a folder. The name is empty if the path ends with the folder itself.
    At {
        folder: Id,
        name: Vec<u8>,
        what: What,
    },
}

/// The tree.
pub struct Tree {
    pub nodes: BTreeMap<Id, Node>,
    pub next: Id,
    pub current: Id,
    /// Changes of folders that a crash may lose, in their order.
    pub journal: Vec<Operation<Vec<u8>>>,
    /// Shared mappings: start, length, file.
    pub mappings: Vec<(usize, usize, Id)>,
}

/// Returns bytes as a string of C.
pub fn with_zero(path: &[u8]) -> Vec<u8> {
    let mut all = path.to_vec();
    all.push(0);
    all
}

/// Asks the real system for the status of a path, without following a link at its end.
pub unsafe fn real_status(path: &[u8]) -> Option<[u64; 18]> {
    const NO_FOLLOW: usize = 0x100;
    let mut status = [0u64; 18];
    let path = with_zero(path);
    let to = status.as_mut_ptr() as usize;
    let arguments = [HERE, path.as_ptr() as usize, to, NO_FOLLOW, 0, 0];
    (sys::call(nr::NEWFSTATAT, arguments) == 0).then_some(status)
}

/// Returns the mode in a status.
pub fn mode_of(status: &[u64; 18]) -> u32 {
    status[3] as u32
}

unsafe fn real_link(path: &[u8]) -> Vec<u8> {
    const READLINK: usize = 89;
    let mut target = vec![0u8; 4096];
    let path = with_zero(path);
    let (from, to) = (path.as_ptr() as usize, target.as_mut_ptr() as usize);
    let length = sys::call(READLINK, [from, to, target.len(), 0, 0, 0]);
    target.truncate(length.max(0) as usize);
    target
}

/// Reads all bytes of a descriptor from its start.
pub unsafe fn read_all(fd: usize) -> Vec<u8> {
    const PREAD: usize = 17;
    let mut all = vec![];
    let mut part = vec![0u8; 1 << 16];
    loop {
        let to = part.as_mut_ptr() as usize;
        let got = sys::call(PREAD, [fd, to, part.len(), all.len(), 0, 0]);
        if got <= 0 {
            return all;
        }
        all.extend_from_slice(&part[..got as usize]);
    }
}

/// Writes all bytes at the start of a descriptor.
pub unsafe fn write_all(fd: usize, bytes: &[u8]) -> bool {
    const PWRITE: usize = 18;
    let mut done = 0;
    while done < bytes.len() {
        let from = bytes.as_ptr() as usize + done;
        let put = sys::call(PWRITE, [fd, from, bytes.len() - done, done, 0, 0]);
        if put <= 0 {
            return false;
        }
        done += put as usize;
    }
    true
}

/// Creates a private file of the kernel without a name.
pub unsafe fn memory_file() -> Option<usize> {
    const MEMFD_CREATE: usize = 319;
    const DUPLICATE_CLOEXEC: usize = 1030;
    let fd = sys::call(MEMFD_CREATE, [c"file".as_ptr() as usize, 1, 0, 0, 0, 0]);
    let low = usize::try_from(fd).ok()?;
    let high = sys::call(nr::FCNTL, [low, DUPLICATE_CLOEXEC, PRIVATE, 0, 0, 0]);
    sys::call(nr::CLOSE, [low, 0, 0, 0, 0, 0]);
    usize::try_from(high).ok()
}

fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = Vec<u8>> + '_ {
    let parts = path.split(|byte| *byte == b'/');
    parts.filter(|part| !part.is_empty()).map(<[u8]>::to_vec)
}

pub fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = folder.to_vec();
    if !path.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

impl Tree {
    /// Creates a tree that shows the real one.
    pub fn new() -> Tree {
        let root = Folder {
            parent: ROOT,
            lower: Some(b"/".to_vec()),
            ..Folder::default()
        };
        let mut tree = Tree {
            nodes: BTreeMap::new(),
            next: ROOT,
            current: ROOT,
            journal: vec![],
            mappings: vec![],
        };
        tree.add(Kind::Folder(root), FOLDER | 0o755, 0);
        tree
    }

    /// Adds a node.
    pub fn add(&mut self, kind: Kind, mode: u32, modified: u64) -> Id {
        let id = self.next;
        self.next += 1;
        let node = Node {
            kind,
            mode,
            modified,
        };
        self.nodes.insert(id, node);
        id
    }

    pub fn folder(&mut self, id: Id) -> Option<&mut Folder> {
        match &mut self.nodes.get_mut(&id)?.kind {
            Kind::Folder(folder) => Some(folder),
            _ => None,
        }
    }

    pub fn file(&mut self, id: Id) -> Option<&mut File> {
        match &mut self.nodes.get_mut(&id)?.kind {
            Kind::File(file) => Some(file),
            _ => None,
        }
    }

    /// Returns what has this name in a folder. A real folder gets its node.
    pub unsafe fn look_up(&mut self, id: Id, name: &[u8]) -> What {
        let Some(folder) = self.folder(id) else {
            return What::Nothing;
        };
        match (folder.entries.get(name), &folder.lower) {
            (Some(Some(id)), _) => return What::Node(*id),
            (Some(None), _) | (None, None) => return What::Nothing,
            _ => {}
        }
        let path = join(folder.lower.as_deref().unwrap_or(b"/"), name);
        let Some(status) = real_status(&path) else {
            return What::Nothing;
        };
        let mode = mode_of(&status);
        if mode & TYPE != FOLDER {
            return What::Lower(path, mode);
        }
        let kind = Folder {
            parent: id,
            lower: Some(path),
            ..Folder::default()
        };
        let new = self.add(Kind::Folder(kind), mode, modified_of(&status));
        self.show(id, name, new);
        What::Node(new)
    }

    /// Adds the entry for a real file or folder that gets a node. No crash loses it.
    fn show(&mut self, folder: Id, name: &[u8], id: Id) {
        if let Some(folder) = self.folder(folder) {
            folder.entries.insert(name.to_vec(), Some(id));
            folder.durable.insert(name.to_vec(), Some(id));
        }
    }

    unsafe fn link_target(&self, what: &What) -> Option<Vec<u8>> {
        match what {
            What::Lower(path, mode) if mode & TYPE == LINK => Some(real_link(path)),
            What::Node(id) => match &self.nodes[id].kind {
                Kind::Link(target) => Some(target.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns `true` for a folder.
    pub fn is_folder(&self, what: &What) -> bool {
        match what {
            What::Node(id) => matches!(self.nodes[id].kind, Kind::Folder(_)),
            _ => false,
        }
    }

    /// Finds where a path leads. With `follow`, a link at its end is followed.
    pub unsafe fn find(&mut self, start: Id, path: &[u8], follow: bool) -> Result<Place, Raw> {
        if path.is_empty() {
            return Err(-(ENOENT as Raw));
        }
        let needs_folder = path.ends_with(b"/");
        let mut rest: VecDeque<Vec<u8>> = parts(path).collect();
        let mut at = if path[0] == b'/' { ROOT } else { start };
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            match &name[..] {
                b"." => continue,
                b".." => {
                    at = self.folder(at).map_or(ROOT, |folder| folder.parent);
                    continue;
                }
                _ => {}
            }
            if at == ROOT && REAL.contains(&&name[..]) {
                let first = join(b"/", &name);
                let whole = rest.iter().fold(first, |path, name| join(&path, name));
                return Ok(Place::Real(whole));
            }
            let what = self.look_up(at, &name);
            let is_last = rest.is_empty();
            if !is_last || follow || needs_folder {
                if let Some(target) = self.link_target(&what) {
                    links += 1;
                    if links > LINKS {
                        return Err(-(ELOOP as Raw));
                    }
                    if target.first() == Some(&b'/') {
                        at = ROOT;
                    }
                    for part in parts(&target).rev() {
                        rest.push_front(part);
                    }
                    continue;
                }
            }
            let is_folder = self.is_folder(&what);
            if is_last {
                if needs_folder && !is_folder && what != What::Nothing {
                    return Err(-(ENOTDIR as Raw));
                }
                return Ok(Place::At {
                    folder: at,
                    name,
                    what,
                });
            }
            match what {
                What::Node(id) if is_folder => at = id,
                What::Nothing => return Err(-(ENOENT as Raw)),
                _ => return Err(-(ENOTDIR as Raw)),
            }
        }
        Ok(Place::At {
            folder: at,
            name: vec![],
            what: What::Node(at),
        })
    }

    /// Returns the path of a folder. `None`: it was removed.
    pub fn path_of(&mut self, mut id: Id) -> Option<Vec<u8>> {
        let mut names = vec![];
        while id != ROOT {
            let parent = self.folder(id)?.parent;
            let entries = &self.folder(parent)?.entries;
            let (name, _) = entries.iter().find(|(_, entry)| **entry == Some(id))?;
            names.push(name.clone());
            id = parent;
        }
        let names = names.iter().rev();
        Some(names.fold(b"/".to_vec(), |path, name| join(&path, name)))
    }

    /// Gives a real file a node with a copy of its bytes.
    pub unsafe fn copy_up(&mut self, folder: Id, name: &[u8], path: &[u8]) -> Result<Id, Raw> {
        let status = real_status(path).ok_or(-(ENOENT as Raw))?;
        let mode = mode_of(&status);
        let kind = match mode & TYPE {
            LINK => Kind::Link(real_link(path)),
            FILE => {
                let path = with_zero(path);
                // With O_CLOEXEC.
                let arguments = [HERE, path.as_ptr() as usize, 0o2_000_000, 0, 0, 0];
                let fd = sys::call(nr::OPENAT, arguments);
                let Ok(fd) = usize::try_from(fd) else {
                    return Err(fd);
                };
                let bytes = read_all(fd);
                sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
                Kind::File(File::new(bytes))
            }
            _ => return Err(-(EINVAL as Raw)),
        };
        let id = self.add(kind, mode, modified_of(&status));
        self.show(folder, name, id);
        Ok(id)
    }

    /// Returns the names in a folder with their nodes, in their order.
    pub unsafe fn list(&mut self, id: Id) -> Vec<(Vec<u8>, What)> {
        let Some(folder) = self.folder(id) else {
            return vec![];
        };
        let mut names: Vec<Vec<u8>> = folder.entries.keys().cloned().collect();
        if let Some(lower) = &folder.lower {
            names.extend(real_names(lower));
        }
        names.sort_unstable();
        names.dedup();
        let mut all = vec![];
        for name in names {
            let what = self.look_up(id, &name);
            if what != What::Nothing {
                all.push((name, what));
            }
        }
        all
    }

    /// Returns the number of names of a file.
    pub fn names_of(&self, id: Id) -> usize {
        let folders = self.nodes.values().filter_map(|node| match &node.kind {
            Kind::Folder(folder) => Some(folder),
            _ => None,
        });
        let entries = folders.flat_map(|folder| folder.entries.values());
        entries.filter(|entry| **entry == Some(id)).count()
    }

    /// Lets a description or a mapping use a file. Returns the kernel's descriptor for it.
    pub unsafe fn open(&mut self, id: Id) -> Option<usize> {
        let file = self.file(id)?;
        if let Content::Closed(bytes) = &file.content {
            let fd = memory_file()?;
            if !write_all(fd, bytes) {
                sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
                return None;
            }
            file.content = Content::Open(fd);
        }
        file.uses += 1;
        match file.content {
            Content::Open(fd) => Some(fd),
            Content::Closed(_) => None,
        }
    }

    /// Ends a use of a file.
    pub unsafe fn close(&mut self, id: Id) {
        let Some(file) = self.file(id) else { return };
        file.uses -= 1;
        if let (0, Content::Open(fd)) = (file.uses, &file.content) {
            let fd = *fd;
            file.content = Content::Closed(read_all(fd));
            sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
        }
    }
}

impl File {
    /// Creates a file whose bytes a crash leaves.
    pub fn new(bytes: Vec<u8>) -> File {
        File {
            content: Content::Closed(bytes.clone()),
            uses: 0,
            is_mapped: false,
            durable: bytes,
            unsynced: vec![],
        }
    }

    /// Returns the number of bytes.
    pub unsafe fn length(&self) -> u64 {
        match &self.content {
            Content::Closed(bytes) => bytes.len() as u64,
            Content::Open(fd) => {
                const FSTAT: usize = 5;
                let mut status = [0u64; 18];
                sys::call(FSTAT, [*fd, status.as_mut_ptr() as usize, 0, 0, 0, 0]);
                status[6]
            }
        }
    }

    /// Returns the bytes as the program sees them.
    pub unsafe fn bytes(&self) -> Vec<u8> {
        match &self.content {
            Content::Closed(bytes) => bytes.clone(),
            Content::Open(fd) => read_all(*fd),
        }
    }
}

/// Returns the time of the last change in a status.
fn modified_of(status: &[u64; 18]) -> u64 {
    status[11].saturating_mul(1_000_000_000) + status[12]
}

/// Reads the names in a real folder.
unsafe fn real_names(path: &[u8]) -> Vec<Vec<u8>> {
    const FOLDER_CLOEXEC: usize = 0o2_200_000;
    const GETDENTS64: usize = 217;
    let path = with_zero(path);
    let arguments = [HERE, path.as_ptr() as usize, FOLDER_CLOEXEC, 0, 0, 0];
    let Ok(fd) = usize::try_from(sys::call(nr::OPENAT, arguments)) else {
        return vec![];
    };
    let mut names = vec![];
    let mut buffer = vec![0u64; 4096];
    loop {
        let to = buffer.as_mut_ptr().cast::<u8>();
        let got = sys::call(GETDENTS64, [fd, to as usize, buffer.len() * 8, 0, 0, 0]);
        if got <= 0 {
            break;
        }
        let mut at = 0;
        while at < got as usize {
            // Number, offset, length of the record, kind, name.
            let record = to.add(at);
            let length = record.add(16).cast::<u16>().read_unaligned();
            let name = core::ffi::CStr::from_ptr(record.add(19).cast()).to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
            at += usize::from(length);
        }
    }
    sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
    names
}
