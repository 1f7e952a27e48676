//! `Tree`: the files, folders and links of a simulated host, in memory.
//!
//! A node is a file, a folder or a link, and has a number. A folder maps names to numbers, as the programs of the host
//! see them and as a crash leaves them in every case. `unsynced.rs` has the rules for what lies between.
//!
//! # When a node is freed
//!
//! [`Tree::sweep`] frees the nodes that nothing refers to: no name, no durable name, no change in the journal, and no
//! open file. It runs when the number of nodes has doubled since, so its cost is a constant for each new node.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use super::errors::{Failure, Result};
use super::notes::{Loss, explains};
use super::unsynced::{self, Change, Operation};

/// Number of a node.
pub(super) type Id = u64;

/// The root folder.
pub(super) const ROOT: Id = 1;
/// Links that one look-up follows.
const LINKS: u32 = 40;
/// The largest length of a file, in bytes: it is in memory.
const LONGEST: usize = 1 << 30;
/// The least number of nodes at which unused ones are freed.
const SWEEP: usize = 64;

/// A file.
#[derive(Default)]
pub(super) struct File {
    /// The contents, as programs read them.
    pub(super) bytes: Vec<u8>,
    /// The contents that a crash leaves in every case.
    durable: Vec<u8>,
    /// The changes since then.
    unsynced: Vec<Change>,
}

impl File {
    fn change(&mut self, change: Change) {
        unsynced::apply(&mut self.bytes, [&change]);
        self.unsynced.push(change);
    }
}

/// A folder.
pub(super) struct Folder {
    parent: Id,
    entries: BTreeMap<OsString, Id>,
    /// The entries that a crash leaves in every case.
    durable: BTreeMap<OsString, Id>,
}

/// The contents of a node.
pub(super) enum Contents {
    File(File),
    Folder(Folder),
    Link(PathBuf),
}

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
}

struct Node {
    contents: Contents,
    /// `None`: the usual ones.
    permissions: Option<Permissions>,
    modified: SystemTime,
}

/// The metadata of a node.
pub(super) struct Status {
    pub(super) kind: Kind,
    /// The length of a file.
    pub(super) len: u64,
    /// The target of a link.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there are no links"))]
    pub(super) target: PathBuf,
    pub(super) permissions: Option<Permissions>,
    pub(super) modified: SystemTime,
}

/// The end of a path.
struct Place {
    folder: Id,
    /// The last name. `None`: the path ends with the folder itself.
    name: Option<OsString>,
    node: Option<Id>,
}

impl Place {
    /// Returns the name and the node of an entry that exists and is not the root.
    fn existing(self) -> Result<(Id, OsString, Id)> {
        let node = self.node.ok_or(Failure::NotFound)?;
        let name = self.name.ok_or(Failure::Invalid)?;
        Ok((self.folder, name, node))
    }

    /// Returns the name of an entry that does not exist yet.
    fn free(self) -> Result<(Id, OsString)> {
        match (self.node, self.name) {
            (None, Some(name)) => Ok((self.folder, name)),
            _ => Err(Failure::Exists),
        }
    }
}

/// The files of a host.
pub(super) struct Tree {
    nodes: BTreeMap<Id, Node>,
    next: Id,
    /// The changes of folders that a crash may lose, in their order.
    journal: Vec<Operation<OsString>>,
    /// The number of nodes at which the next sweep is due.
    sweep_at: usize,
}

impl Tree {
    /// Creates an empty root folder.
    pub(super) fn new(now: SystemTime) -> Self {
        let mut tree = Self {
            nodes: BTreeMap::new(),
            next: ROOT,
            journal: Vec::new(),
            sweep_at: SWEEP,
        };
        tree.add(folder_in(ROOT), None, now);
        tree
    }

    fn add(&mut self, contents: Contents, permissions: Option<Permissions>, now: SystemTime) -> Id {
        let id = self.next;
        self.next += 1;
        let node = Node {
            contents,
            permissions,
            modified: now,
        };
        self.nodes.insert(id, node);
        id
    }

    fn node(&self, id: Id) -> Result<&Node> {
        self.nodes.get(&id).ok_or(Failure::NotOpen)
    }

    fn node_mut(&mut self, id: Id) -> Result<&mut Node> {
        self.nodes.get_mut(&id).ok_or(Failure::NotOpen)
    }

    fn folder(&self, id: Id) -> Result<&Folder> {
        match &self.node(id)?.contents {
            Contents::Folder(folder) => Ok(folder),
            _ => Err(Failure::NotADirectory),
        }
    }

    fn folder_mut(&mut self, id: Id) -> Result<&mut Folder> {
        match &mut self.node_mut(id)?.contents {
            Contents::Folder(folder) => Ok(folder),
            _ => Err(Failure::NotADirectory),
        }
    }

    /// Returns a file that is not a folder.
    pub(super) fn file(&self, id: Id) -> Result<&File> {
        match &self.node(id)?.contents {
            Contents::File(file) => Ok(file),
            Contents::Folder(_) => Err(Failure::IsADirectory),
            Contents::Link(_) => Err(Failure::Invalid),
        }
    }

    pub(super) fn kind(&self, id: Id) -> Result<Kind> {
        Ok(match self.node(id)?.contents {
            Contents::File(_) => Kind::File,
            Contents::Folder(_) => Kind::Folder,
            Contents::Link(_) => Kind::Link,
        })
    }

    /// Finds the end of a path. With `follows`, a link there is followed.
    fn find(&self, path: &Path, follows: bool) -> Result<Place> {
        if path.as_os_str().is_empty() {
            return Err(Failure::NotFound);
        }
        let (mut at, mut links) = (ROOT, 0);
        let mut rest: VecDeque<OsString> = parts(path).collect();
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                at = self.folder(at)?.parent;
                continue;
            }
            let node = self.folder(at)?.entries.get(&name).copied();
            let is_last = rest.is_empty();
            let contents = node.map(|node| self.node(node)).transpose()?;
            match contents.map(|node| &node.contents) {
                Some(Contents::Link(target)) if follows || !is_last => {
                    links += 1;
                    if links > LINKS {
                        return Err(Failure::TooManyLinks);
                    }
                    if target.has_root() {
                        at = ROOT;
                    }
                    for part in parts(target).collect::<Vec<_>>().into_iter().rev() {
                        rest.push_front(part);
                    }
                }
                _ if is_last => {
                    return Ok(Place {
                        folder: at,
                        name: Some(name),
                        node,
                    });
                }
                Some(Contents::Folder(_)) => at = node.unwrap_or(ROOT),
                Some(_) => return Err(Failure::NotADirectory),
                None => return Err(Failure::NotFound),
            }
        }
        Ok(Place {
            folder: at,
            name: None,
            node: Some(at),
        })
    }

    /// Returns the node at a path.
    pub(super) fn look_up(&self, path: &Path, follows: bool) -> Result<Id> {
        self.find(path, follows)?.node.ok_or(Failure::NotFound)
    }

    /// Changes entries of folders, in one step.
    fn set(&mut self, entries: Vec<(Id, OsString, Option<Id>)>, now: SystemTime) -> Result<()> {
        for (id, name, entry) in &entries {
            let folder = self.folder_mut(*id)?;
            match entry {
                Some(entry) => _ = folder.entries.insert(name.clone(), *entry),
                None => _ = folder.entries.remove(name),
            }
            self.node_mut(*id)?.modified = now;
        }
        self.journal.push(Operation(entries));
        Ok(())
    }

    fn create(
        &mut self,
        (folder, name): (Id, OsString),
        contents: Contents,
        permissions: Option<Permissions>,
        now: SystemTime,
    ) -> Result<Id> {
        let id = self.add(contents, permissions, now);
        self.set(vec![(folder, name, Some(id))], now)?;
        Ok(id)
    }

    /// Returns the file or folder at a path. With `new`, a missing file is created, with these permissions.
    pub(super) fn open(
        &mut self,
        path: &Path,
        new: Option<Option<Permissions>>,
        now: SystemTime,
    ) -> Result<Id> {
        let place = self.find(path, true)?;
        match (place.node, new) {
            (Some(id), _) => Ok(id),
            (None, None) => Err(Failure::NotFound),
            (None, Some(permissions)) => {
                let contents = Contents::File(File::default());
                self.create(place.free()?, contents, permissions, now)
            }
        }
    }

    /// Creates a folder.
    pub(super) fn create_folder(&mut self, path: &Path, now: SystemTime) -> Result<()> {
        let at = self.find(path, false)?.free()?;
        let contents = folder_in(at.0);
        self.create(at, contents, None, now).map(drop)
    }

    /// Creates a folder and those above it, where they are missing.
    pub(super) fn create_folders(&mut self, path: &Path, now: SystemTime) -> Result<()> {
        let mut above: Vec<&Path> = path.ancestors().collect();
        above.reverse();
        let last = path;
        for path in above.into_iter().filter(|path| *path != Path::new("")) {
            match self.look_up(path, true) {
                Ok(id) if self.kind(id)? != Kind::Folder && path == last => {
                    return Err(Failure::Exists);
                }
                Ok(_) => {}
                Err(Failure::NotFound) => self.create_folder(path, now)?,
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Removes a name of a file or a link.
    pub(super) fn remove_file(&mut self, path: &Path, now: SystemTime) -> Result<()> {
        let (folder, name, node) = self.find(path, false)?.existing()?;
        if self.kind(node)? == Kind::Folder {
            return Err(Failure::IsADirectory);
        }
        self.set(vec![(folder, name, None)], now)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&mut self, path: &Path, now: SystemTime) -> Result<()> {
        let (folder, name, node) = self.find(path, false)?.existing()?;
        if !self.folder(node)?.entries.is_empty() {
            return Err(Failure::NotEmpty);
        }
        self.set(vec![(folder, name, None)], now)
    }

    /// Removes a folder with all that is in it, or a link.
    pub(super) fn remove_all(&mut self, path: &Path, now: SystemTime) -> Result<()> {
        let (folder, name, node) = self.find(path, false)?.existing()?;
        match self.kind(node)? {
            Kind::File => return Err(Failure::NotADirectory),
            Kind::Link => {}
            Kind::Folder => self.empty(node, now)?,
        }
        self.set(vec![(folder, name, None)], now)
    }

    fn empty(&mut self, id: Id, now: SystemTime) -> Result<()> {
        for (name, child) in self.folder(id)?.entries.clone() {
            if self.kind(child)? == Kind::Folder {
                self.empty(child, now)?;
            }
            self.set(vec![(id, name, None)], now)?;
        }
        Ok(())
    }

    /// Renames a file, a folder or a link.
    pub(super) fn rename(&mut self, from: &Path, to: &Path, now: SystemTime) -> Result<()> {
        let (old, old_name, node) = self.find(from, false)?.existing()?;
        let target = self.find(to, false)?;
        let (new, Some(new_name)) = (target.folder, target.name) else {
            return Err(Failure::Invalid);
        };
        if target.node == Some(node) {
            return Ok(());
        }
        let is_folder = self.kind(node)? == Kind::Folder;
        if is_folder && self.is_below(new, node)? {
            return Err(Failure::Invalid);
        }
        if let Some(replaced) = target.node {
            match (is_folder, self.folder(replaced)) {
                (true, Err(_)) => return Err(Failure::NotADirectory),
                (false, Ok(_)) => return Err(Failure::IsADirectory),
                (true, Ok(folder)) if !folder.entries.is_empty() => return Err(Failure::NotEmpty),
                _ => {}
            }
        }
        if is_folder {
            self.folder_mut(node)?.parent = new;
        }
        let entries = vec![(old, old_name, None), (new, new_name, Some(node))];
        self.set(entries, now)
    }

    /// Returns `true` if a folder is another one or below it.
    fn is_below(&self, mut folder: Id, other: Id) -> Result<bool> {
        while folder != other {
            if folder == ROOT {
                return Ok(false);
            }
            folder = self.folder(folder)?.parent;
        }
        Ok(true)
    }

    /// Gives a file another name.
    pub(super) fn link(&mut self, original: &Path, link: &Path, now: SystemTime) -> Result<()> {
        let node = self.look_up(original, false)?;
        if self.kind(node)? == Kind::Folder {
            return Err(Failure::IsADirectory);
        }
        let (folder, name) = self.find(link, false)?.free()?;
        self.set(vec![(folder, name, Some(node))], now)
    }

    /// Creates a symbolic link.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there are no links"))]
    pub(super) fn symlink(&mut self, target: &Path, link: &Path, now: SystemTime) -> Result<()> {
        let at = self.find(link, false)?.free()?;
        let contents = Contents::Link(target.to_owned());
        self.create(at, contents, None, now).map(drop)
    }

    /// Returns the target of a link.
    pub(super) fn read_link(&self, path: &Path) -> Result<PathBuf> {
        match &self.node(self.look_up(path, false)?)?.contents {
            Contents::Link(target) => Ok(target.clone()),
            _ => Err(Failure::Invalid),
        }
    }

    /// Returns the path of a file without links.
    pub(super) fn canonical(&self, path: &Path) -> Result<PathBuf> {
        let place = self.find(path, true)?;
        place.node.ok_or(Failure::NotFound)?;
        let mut names: Vec<OsString> = place.name.into_iter().collect();
        let mut at = place.folder;
        while at != ROOT {
            let parent = self.folder(at)?.parent;
            let mut entries = self.folder(parent)?.entries.iter();
            let entry = entries.find(|(_, id)| **id == at);
            names.push(entry.ok_or(Failure::NotFound)?.0.clone());
            at = parent;
        }
        names.push(OsString::from("/"));
        Ok(names.iter().rev().collect())
    }

    /// Returns the names in a folder, in their order.
    pub(super) fn list(&self, path: &Path) -> Result<Vec<(OsString, Id)>> {
        let folder = self.folder(self.look_up(path, true)?)?;
        let entries = folder.entries.iter();
        Ok(entries.map(|(name, id)| (name.clone(), *id)).collect())
    }

    pub(super) fn status(&self, id: Id) -> Result<Status> {
        let node = self.node(id)?;
        let (len, target) = match &node.contents {
            Contents::File(file) => (file.bytes.len() as u64, PathBuf::new()),
            Contents::Folder(_) => (0, PathBuf::new()),
            Contents::Link(target) => (0, target.clone()),
        };
        Ok(Status {
            kind: self.kind(id)?,
            len,
            target,
            permissions: node.permissions.clone(),
            modified: node.modified,
        })
    }

    pub(super) fn set_permissions(&mut self, id: Id, permissions: Permissions) -> Result<()> {
        self.node_mut(id)?.permissions = Some(permissions);
        Ok(())
    }

    pub(super) fn set_modified(&mut self, id: Id, time: SystemTime) -> Result<()> {
        self.node_mut(id)?.modified = time;
        Ok(())
    }

    fn change(&mut self, id: Id, change: Change, now: SystemTime) -> Result<()> {
        // Returns the error for a folder or a link.
        self.file(id)?;
        let node = self.node_mut(id)?;
        node.modified = now;
        if let Contents::File(file) = &mut node.contents {
            file.change(change);
        }
        Ok(())
    }

    pub(super) fn write(&mut self, id: Id, at: u64, bytes: &[u8], now: SystemTime) -> Result<()> {
        let at = usize::try_from(at).map_err(|_| Failure::Full)?;
        if at.saturating_add(bytes.len()) > LONGEST {
            return Err(Failure::Full);
        }
        let bytes = bytes.to_vec();
        self.change(id, Change::Write { at, bytes }, now)
    }

    pub(super) fn set_len(&mut self, id: Id, len: u64, now: SystemTime) -> Result<()> {
        match usize::try_from(len) {
            Ok(len) if len <= LONGEST => self.change(id, Change::Length(len), now),
            _ => Err(Failure::Full),
        }
    }

    /// Makes a file, or the names in a folder, durable.
    pub(super) fn sync(&mut self, id: Id) -> Result<()> {
        match &mut self.node_mut(id)?.contents {
            Contents::File(file) => {
                unsynced::apply(&mut file.durable, &file.unsynced);
                file.unsynced.clear();
            }
            Contents::Folder(_) => {
                let count = unsynced::due(&self.journal, id);
                self.commit(count);
            }
            Contents::Link(_) => {}
        }
        Ok(())
    }

    /// A sync of the file has failed: no later one writes what is unsynced now.
    pub(super) fn sync_failed(&mut self, id: Id) -> Result<()> {
        if let Contents::File(file) = &mut self.node_mut(id)?.contents {
            file.unsynced.clear();
        }
        Ok(())
    }

    /// Makes everything durable.
    pub(super) fn sync_all(&mut self) {
        self.commit(self.journal.len());
        for node in self.nodes.values_mut() {
            if let Contents::File(file) = &mut node.contents {
                unsynced::apply(&mut file.durable, &file.unsynced);
                file.unsynced.clear();
            }
        }
    }

    /// Makes the first changes in the journal durable.
    fn commit(&mut self, count: usize) {
        let operations: Vec<_> = self.journal.drain(..count).collect();
        for (id, name, entry) in operations.into_iter().flat_map(|operation| operation.0) {
            let Ok(folder) = self.folder_mut(id) else {
                continue;
            };
            match entry {
                Some(entry) => _ = folder.durable.insert(name, entry),
                None => _ = folder.durable.remove(&name),
            }
        }
    }

    /// Leaves what a crash leaves. No file is open any more. Returns the losses, if a report is to explain the run.
    pub(super) fn crash(&mut self, mut choose: impl FnMut(usize) -> usize) -> Vec<Loss> {
        let paths = explains().then(|| self.paths());
        let kept = unsynced::kept(&self.journal, &mut choose);
        let mut losses = Losses::default();
        if let Some(paths) = &paths {
            losses.of_names(&self.journal[kept..], paths);
        }
        self.commit(kept);
        self.journal.clear();
        let mut parents = Vec::new();
        for (id, node) in &mut self.nodes {
            match &mut node.contents {
                Contents::File(file) => {
                    let changes = std::mem::take(&mut file.unsynced);
                    let left = unsynced::survivors(changes, &mut choose);
                    unsynced::apply(&mut file.durable, &left);
                    if let Some(paths) = &paths {
                        losses.of_bytes(*id, file, paths);
                    }
                    file.bytes.clone_from(&file.durable);
                }
                Contents::Folder(folder) => {
                    folder.entries.clone_from(&folder.durable);
                    parents.extend(folder.entries.values().map(|child| (*child, *id)));
                }
                Contents::Link(_) => {}
            }
        }
        // A rename of a folder that is lost changes its parent back.
        for (child, parent) in parents {
            if let Ok(folder) = self.folder_mut(child) {
                folder.parent = parent;
            }
        }
        self.free_unused(&BTreeSet::new());
        losses.all
    }

    /// Returns a path of each file and folder that has a name.
    fn paths(&self) -> Paths {
        let mut paths = Paths::from([(ROOT, PathBuf::from("/"))]);
        let mut found = vec![ROOT];
        while let Some(id) = found.pop() {
            let Ok(folder) = self.folder(id) else {
                continue;
            };
            let above = paths[&id].clone();
            for (name, child) in &folder.entries {
                paths.entry(*child).or_insert_with(|| above.join(name));
                found.push(*child);
            }
        }
        paths
    }

    /// Frees unused nodes if there are many. `open` returns those that are open.
    pub(super) fn sweep(&mut self, open: impl FnOnce() -> BTreeSet<Id>) {
        if self.nodes.len() >= self.sweep_at {
            self.free_unused(&open());
        }
    }

    fn free_unused(&mut self, open: &BTreeSet<Id>) {
        let mut used = open.clone();
        used.insert(ROOT);
        let mut found: Vec<Id> = used.iter().copied().collect();
        let changes = self.journal.iter().flat_map(|operation| &operation.0);
        let named = changes.filter_map(|(_, _, entry)| *entry);
        found.extend(named.filter(|id| used.insert(*id)));
        while let Some(id) = found.pop() {
            let Ok(folder) = self.folder(id) else {
                continue;
            };
            let below = folder.entries.values().chain(folder.durable.values());
            found.extend(below.filter(|id| used.insert(**id)));
        }
        self.nodes.retain(|id, _| used.contains(id));
        self.sweep_at = (2 * self.nodes.len()).max(SWEEP);
    }

    /// Returns the number of nodes.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// A path of each node that has one.
type Paths = BTreeMap<Id, PathBuf>;

/// The losses in a crash.
#[derive(Default)]
struct Losses {
    all: Vec<Loss>,
    /// The nodes whose names are lost.
    unnamed: BTreeSet<Id>,
}

impl Losses {
    /// Adds the changes of folders that are lost, in their order.
    fn of_names(&mut self, lost: &[Operation<OsString>], paths: &Paths) {
        let path = |folder: &Id, name: &OsString| {
            let above = paths.get(folder).map(PathBuf::as_path);
            let path = above.unwrap_or(Path::new("/")).join(name);
            path.display().to_string()
        };
        for Operation(entries) in lost {
            self.all.push(match entries.as_slice() {
                [(old, from, None), (new, to, Some(_))] => Loss::Rename {
                    from: path(old, from),
                    to: path(new, to),
                },
                [(folder, name, None), ..] => Loss::Removal {
                    path: path(folder, name),
                },
                [(folder, name, Some(node)), ..] => {
                    self.unnamed.insert(*node);
                    Loss::Name {
                        path: path(folder, name),
                    }
                }
                [] => continue,
            });
        }
    }

    /// Adds the bytes of a file that are lost. Those of one without a name are lost with that.
    fn of_bytes(&mut self, id: Id, file: &File, paths: &Paths) {
        let (left, of) = (file.durable.len(), file.bytes.len());
        let Some(path) = paths.get(&id).filter(|_| !self.unnamed.contains(&id)) else {
            return;
        };
        let path = path.display().to_string();
        if left < of {
            self.all.push(Loss::Bytes { path, left, of });
        } else if file.durable != file.bytes {
            self.all.push(Loss::Writes { path });
        }
    }
}

fn folder_in(parent: Id) -> Contents {
    Contents::Folder(Folder {
        parent,
        entries: BTreeMap::new(),
        durable: BTreeMap::new(),
    })
}

/// Returns the names in a path, and `..`. All paths begin at the root.
fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn create(tree: &mut Tree, path: &str) -> Id {
        let id = tree.open(Path::new(path), Some(None), NOW).unwrap();
        tree.write(id, 0, b"text", NOW).unwrap();
        id
    }

    #[test]
    fn nodes_that_nothing_refers_to_are_freed() {
        let mut tree = Tree::new(NOW);
        tree.create_folders(Path::new("/a/b"), NOW).unwrap();
        tree.sync_all();
        for _ in 0..10_000 {
            let id = create(&mut tree, "/a/new");
            tree.rename(Path::new("/a/new"), Path::new("/a/file"), NOW)
                .unwrap();
            tree.sync(id).unwrap();
            let folder = tree.look_up(Path::new("/a"), true).unwrap();
            tree.sync(folder).unwrap();
            tree.sweep(BTreeSet::new);
        }
        assert!(tree.len() <= SWEEP, "{}", tree.len());
        assert!(tree.look_up(Path::new("/a/b"), true).is_ok());
        assert!(tree.look_up(Path::new("/a/file"), true).is_ok());
    }

    #[test]
    fn a_node_stays_while_it_is_open_or_a_crash_may_bring_it_back() {
        let mut tree = Tree::new(NOW);
        let (open, durable) = (create(&mut tree, "/open"), create(&mut tree, "/durable"));
        tree.sync(durable).unwrap();
        tree.sync(ROOT).unwrap();
        for path in ["/open", "/durable"] {
            tree.remove_file(Path::new(path), NOW).unwrap();
        }
        tree.free_unused(&BTreeSet::from([open]));
        assert!(tree.file(open).is_ok());
        // The removals are lost.
        tree.crash(|count| count - 1);
        let left = tree.look_up(Path::new("/durable"), true).unwrap();
        assert_eq!(tree.file(left).unwrap().bytes, b"text");
    }

    #[test]
    fn a_crash_leaves_a_prefix_of_the_changes_of_folders() {
        for lost in 0..=3 {
            let mut tree = Tree::new(NOW);
            for name in ["/1", "/2", "/3"] {
                create(&mut tree, name);
            }
            let mut choices = [lost].into_iter();
            tree.crash(|_| choices.next().unwrap_or(0));
            let left = tree.list(Path::new("/")).unwrap().len();
            assert_eq!(left, 3 - lost);
        }
    }

    #[test]
    fn a_file_longer_than_memory_finds_no_room() {
        let mut tree = Tree::new(NOW);
        let id = create(&mut tree, "/file");
        assert_eq!(tree.set_len(id, u64::MAX, NOW), Err(Failure::Full));
        assert_eq!(tree.write(id, 1 << 40, b"x", NOW), Err(Failure::Full));
        assert_eq!(tree.write(id, u64::MAX, b"x", NOW), Err(Failure::Full));
    }
}
