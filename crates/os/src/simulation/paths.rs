//! The functions of `std::fs` for files of the current code's host.

use std::ffi::OsString;
use std::fs::{FileType, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use blitz_io_observe::decisions;

use super::disks::operate;
use super::errors::{Failure, Result};
use super::file::{File, Flags, open_quietly};
use super::notes;
use super::stand_in;
use super::tree::{Kind, Tree};

/// Uses the files of the current code's host.
fn look<R>(look: impl FnOnce(&Tree) -> Result<R>) -> io::Result<R> {
    let host = decisions::host();
    operate(|disks| look(disks.tree(host)))
}

/// Changes the files of the current code's host. A new name needs room.
fn change<R>(
    makes_name: bool,
    change: impl FnOnce(&mut Tree, SystemTime) -> Result<R>,
) -> io::Result<R> {
    let host = decisions::host();
    operate(|disks| {
        if makes_name && disks.settings(host).is_full() {
            return Err(Failure::Full);
        }
        let now = disks.now();
        let result = change(disks.tree(host), now);
        disks.sweep(host);
        result
    })
}

pub(crate) fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    look(|tree| tree.canonical(path))
}

pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    let result = change(true, |tree, now| tree.create_folder(path, now));
    notes::on_path(result, "creates", "create", path)
}

pub(crate) fn create_dir_all(path: &Path) -> io::Result<()> {
    let result = change(true, |tree, now| tree.create_folders(path, now));
    notes::on_path(result, "creates", "create", path)
}

pub(crate) fn metadata(path: &Path, follows: bool) -> io::Result<Metadata> {
    let status = look(|tree| tree.status(tree.look_up(path, follows)?))?;
    stand_in::metadata(&status)
}

pub(crate) fn set_permissions(path: &Path, permissions: Permissions) -> io::Result<()> {
    change(false, |tree, _| {
        let node = tree.look_up(path, true)?;
        tree.set_permissions(node, permissions)
    })
}

pub(crate) fn exists(path: &Path) -> io::Result<bool> {
    match look(|tree| tree.look_up(path, true)) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let result = read_quietly(path);
    notes::done(
        &result,
        |bytes| {
            format!(
                "reads {} of {}",
                notes::count(bytes.len()),
                notes::shown(path)
            )
        },
        || format!("read {}", notes::shown(path)),
    );
    result
}

fn read_quietly(path: &Path) -> io::Result<Vec<u8>> {
    let flags = Flags {
        read: true,
        ..Flags::default()
    };
    let mut bytes = Vec::new();
    let mut handle = Handle(open_quietly(path, &flags)?);
    handle.read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let result = write_quietly(path, bytes);
    notes::done(
        &result,
        |()| {
            format!(
                "writes {} to {}",
                notes::count(bytes.len()),
                notes::shown(path)
            )
        },
        || format!("write to {}", notes::shown(path)),
    );
    result
}

fn write_quietly(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = Flags {
        write: true,
        create: true,
        truncate: true,
        ..Flags::default()
    };
    Handle(open_quietly(path, &flags)?).write_all(bytes)
}

/// Copies the contents and the permissions of a file.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let result = copy_quietly(from, to);
    notes::on_paths(result, ("copies", "copy"), (from, "to", to))
}

fn copy_quietly(from: &Path, to: &Path) -> io::Result<u64> {
    let bytes = read_quietly(from)?;
    let permissions = look(|tree| Ok(tree.status(tree.look_up(from, true)?)?.permissions))?;
    write_quietly(to, &bytes)?;
    if let Some(permissions) = permissions {
        set_permissions(to, permissions)?;
    }
    Ok(bytes.len() as u64)
}

pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    let result = change(false, |tree, now| tree.remove_file(path, now));
    notes::on_path(result, "removes", "remove", path)
}

pub(crate) fn remove_dir(path: &Path) -> io::Result<()> {
    let result = change(false, |tree, now| tree.remove_folder(path, now));
    notes::on_path(result, "removes", "remove", path)
}

pub(crate) fn remove_dir_all(path: &Path) -> io::Result<()> {
    let result = change(false, |tree, now| tree.remove_all(path, now));
    notes::on_path(result, "removes", "remove", path)
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let result = change(true, |tree, now| tree.rename(from, to, now));
    notes::on_paths(result, ("renames", "rename"), (from, "to", to))
}

pub(crate) fn hard_link(original: &Path, link: &Path) -> io::Result<()> {
    let result = change(true, |tree, now| tree.link(original, link, now));
    notes::on_paths(result, ("links", "link"), (original, "to", link))
}

#[cfg(unix)]
pub(crate) fn symlink(original: &Path, link: &Path) -> io::Result<()> {
    let result = change(true, |tree, now| tree.symlink(original, link, now));
    notes::on_path(result, "creates the link", "create the link", link)
}

/// The error of links on systems on which not every program may create one.
#[cfg(windows)]
pub(crate) fn no_symlink() -> io::Result<()> {
    Err(Failure::Unsupported.into())
}

pub(crate) fn read_link(path: &Path) -> io::Result<PathBuf> {
    look(|tree| tree.read_link(path))
}

/// An entry of a folder.
#[derive(Debug)]
pub(crate) struct DirEntry {
    folder: PathBuf,
    name: OsString,
    #[cfg_attr(not(unix), allow(dead_code, reason = "it is the inode number"))]
    number: u64,
    kind: Kind,
}

/// Returns the entries of a folder, in the order of their names.
pub(crate) fn read_dir(path: &Path) -> io::Result<std::vec::IntoIter<DirEntry>> {
    let entries = notes::on_path(list(path), "lists", "list", path)?;
    Ok(entries.into_iter())
}

fn list(path: &Path) -> io::Result<Vec<DirEntry>> {
    look(|tree| {
        let list = tree.list(path)?.into_iter();
        let entries = list.map(|(name, number)| {
            Ok(DirEntry {
                folder: path.to_owned(),
                name,
                number,
                kind: tree.kind(number)?,
            })
        });
        entries.collect()
    })
}

impl DirEntry {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    pub(crate) fn file_name(&self) -> OsString {
        self.name.clone()
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        metadata(&self.path(), false)
    }

    pub(crate) fn file_type(&self) -> io::Result<FileType> {
        stand_in::file_type(self.kind)
    }

    #[cfg(unix)]
    pub(crate) fn ino(&self) -> u64 {
        self.number
    }
}

/// A file as a stream.
struct Handle(File);

impl Read for Handle {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_quietly(buf)
    }
}

impl Write for Handle {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write_quietly(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
