//! Crashes of a machine whose files are in memory.
//!
//! What is durable, and what a crash leaves of the rest, is in `shared/unsynced`: each crash takes its choices
//! from the seed, one recorded decision each. A write is synced by `fsync`, `fdatasync`, `msync` or `sync`, or
//! at once if the file was opened with `O_SYNC`; a change of a folder by `fsync` of that folder, or `sync`.
//!
//! After a crash the process ends. The fork server starts the program again, on these files (`start`).
//!
//! `fsync` that fails (`eio`) drops what is unsynced, as Linux does: the program still reads it, but no later
//! `fsync` writes it.
//!
//! Durable bytes change in [`sync`] only, which applies all changes in their order, and in a crash. Stores
//! through a mapping are in no list of changes: a crash loses them unless a sync came later, which a disk may do.

use std::collections::BTreeMap;

use crate::baton;
use crate::c::nr;
use crate::end;
use crate::shared::region::fault;
use crate::shared::unsynced::{self, Operation, apply};
use crate::state::{sim, stop};
use crate::sys;
use crate::tree::{self, File, Folder, Id, Kind, Node, ROOT, Tree};

/// Descriptor of the memory that brings the files to the next start of the program.
pub const DISK_FD: usize = 903;
/// Crashes in one run.
pub const CRASHES: u32 = 3;
/// A decision has at most this many choices.
const CHOICES: usize = 1_000;

/// Makes the bytes of a file durable.
pub unsafe fn sync(file: &mut File) {
    if file.is_mapped {
        file.durable = file.bytes();
    } else {
        apply(&mut file.durable, &file.unsynced);
    }
    file.unsynced.clear();
}

/// Makes the first changes of folders durable.
fn commit(tree: &mut Tree, count: usize) {
    let operations: Vec<_> = tree.journal.drain(..count).collect();
    for Operation(entries) in operations {
        for (folder, name, entry) in entries {
            if let Some(folder) = tree.folder(folder) {
                folder.durable.insert(name, entry);
            }
        }
    }
}

/// Makes the changes of a folder durable, and all changes before them in the journal.
pub fn sync_folder(tree: &mut Tree, id: Id) {
    let count = unsynced::due(&tree.journal, id);
    commit(tree, count);
}

/// Makes everything durable.
pub unsafe fn sync_all(tree: &mut Tree) {
    let count = tree.journal.len();
    commit(tree, count);
    for node in tree.nodes.values_mut() {
        if let Kind::File(file) = &mut node.kind {
            sync(file);
        }
    }
}

unsafe fn choose(count: usize) -> usize {
    baton::choose_of(fault::CRASH, count.min(CHOICES))
}

/// Leaves a file as a crash may.
unsafe fn lose(file: &mut File) {
    let changes = core::mem::take(&mut file.unsynced);
    let kept = unsynced::survivors(changes, |count| choose(count));
    apply(&mut file.durable, &kept);
}

/// Ends the process as if the machine had lost its power, at a call.
pub unsafe fn crash(call: &str) -> ! {
    let tree = &mut *sim().files;
    let kept = unsynced::kept(&tree.journal, |count| choose(count));
    commit(tree, kept);
    for node in tree.nodes.values_mut() {
        if let Kind::File(file) = &mut node.kind {
            lose(file);
        }
    }
    let image = encode(tree);
    sys::call(nr::FTRUNCATE, [DISK_FD, 0, 0, 0, 0, 0]);
    if !tree::write_all(DISK_FD, &image) {
        end::escaped("a crash with more files than memory", 0);
    }
    let region = sim().region();
    region.crashes += 1;
    region.restarts = 1;
    let step = region.points.load(core::sync::atomic::Ordering::Relaxed);
    end::note(&format!(
        "crash {} at step {step}, in {call}\n",
        region.crashes
    ));
    stop();
    sys::exit_group(0);
}

fn put(image: &mut Vec<u8>, number: u64) {
    image.extend_from_slice(&number.to_le_bytes());
}

fn put_bytes(image: &mut Vec<u8>, bytes: &[u8]) {
    put(image, bytes.len() as u64);
    image.extend_from_slice(bytes);
}

/// Returns the durable state as bytes.
fn encode(tree: &Tree) -> Vec<u8> {
    let mut image = vec![];
    put(&mut image, tree.next);
    put(&mut image, tree.nodes.len() as u64);
    for (id, node) in &tree.nodes {
        put(&mut image, *id);
        put(&mut image, node.mode.into());
        put(&mut image, node.modified);
        match &node.kind {
            Kind::File(file) => put_bytes(&mut image, &file.durable),
            Kind::Link(target) => put_bytes(&mut image, target),
            Kind::Folder(folder) => {
                put(&mut image, folder.parent);
                put(&mut image, folder.lower.is_some().into());
                put_bytes(&mut image, folder.lower.as_deref().unwrap_or_default());
                put(&mut image, folder.durable.len() as u64);
                for (name, entry) in &folder.durable {
                    put_bytes(&mut image, name);
                    put(&mut image, entry.unwrap_or(0));
                }
            }
        }
    }
    image
}

/// Reads what [`encode`] wrote. Both are of one run of one object, so no number is wrong.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, count: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn number(&mut self) -> u64 {
        let mut word = [0; 8];
        let bytes = self.take(8);
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    fn bytes(&mut self) -> Vec<u8> {
        let count = self.number() as usize;
        self.take(count).to_vec()
    }
}

/// Returns the tree with which the program starts: what a crash has left, or the real one.
pub unsafe fn load() -> Tree {
    let mut tree = Tree::new();
    let image = tree::read_all(DISK_FD);
    if !image.is_empty() {
        decode(&mut tree, &image);
    }
    tree.current = current_folder(&mut tree);
    tree
}

fn decode(tree: &mut Tree, image: &[u8]) {
    let mut from = Reader(image);
    tree.next = from.number();
    let count = from.number();
    let mut parents = BTreeMap::new();
    for _ in 0..count {
        let (id, mode, modified) = (from.number(), from.number() as u32, from.number());
        let kind = match mode & tree::TYPE {
            tree::FILE => Kind::File(File::new(from.bytes())),
            tree::LINK => Kind::Link(from.bytes()),
            _ => {
                let mut folder = Folder {
                    parent: from.number(),
                    ..Folder::default()
                };
                let has_lower = from.number() != 0;
                let lower = from.bytes();
                folder.lower = has_lower.then_some(lower);
                for _ in 0..from.number() {
                    let name = from.bytes();
                    let entry = Some(from.number()).filter(|id| *id != 0);
                    if let Some(child) = entry {
                        parents.insert(child, id);
                    }
                    folder.entries.insert(name, entry);
                }
                folder.durable = folder.entries.clone();
                Kind::Folder(folder)
            }
        };
        let node = Node {
            kind,
            mode,
            modified,
        };
        tree.nodes.insert(id, node);
    }
    // A lost rename of a folder changes its parent back.
    for (child, parent) in parents {
        if let Some(folder) = tree.folder(child) {
            folder.parent = parent;
        }
    }
}

/// Finds the folder in which the process was started.
unsafe fn current_folder(tree: &mut Tree) -> Id {
    const GETCWD: usize = 79;
    let mut path = vec![0u8; 4096];
    let to = path.as_mut_ptr() as usize;
    let length = sys::call(GETCWD, [to, path.len(), 0, 0, 0, 0]);
    path.truncate((length.max(1) - 1) as usize);
    match tree.find(ROOT, &path, true) {
        Ok(tree::Place::At {
            what: tree::What::Node(id),
            ..
        }) => id,
        _ => ROOT,
    }
}
