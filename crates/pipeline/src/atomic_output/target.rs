//! Where an output goes: names with all links followed, and the identity of files.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

#[cfg(not(unix))]
use super::other as system;
#[cfg(unix)]
use super::unix as system;

/// The file that a name leads to, with all links followed.
///
/// A link is followed even if the file at its end does not exist, as when a shell redirects
/// to it. Two targets are equal if they are the same file, whatever their names.
#[derive(Clone, Debug)]
pub struct Target {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

/// How a target is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A regular file, which a new one replaces.
    File,
    /// A pipe or a device.
    Special,
    /// An open descriptor of this process.
    Descriptor(i32),
}

/// The most links that one name may lead through, as on Linux.
const LINKS: u32 = 40;

impl Target {
    /// Follows the links of `path`.
    ///
    /// # Errors
    ///
    /// Fails if the directory does not exist, if `path` names a directory, or if too many
    /// links follow each other.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::follow(path.as_ref().to_owned())
    }

    fn follow(mut path: PathBuf) -> io::Result<Self> {
        for _ in 0..LINKS {
            let file = name(&path)?;
            if let Some(number) = system::descriptor(directory(&path), &file) {
                return Ok(Self::descriptor(number));
            }
            if let Ok(link) = fs::read_link(&path) {
                path = directory(&path).join(link);
                continue;
            }
            path = fs::canonicalize(directory(&path))?.join(file);
            let kind = match fs::metadata(&path) {
                Ok(known) if known.is_dir() => return Err(ErrorKind::IsADirectory.into()),
                Ok(known) if !known.is_file() => Kind::Special,
                _ => Kind::File,
            };
            return Ok(Self { path, kind });
        }
        Err(io::Error::new(
            ErrorKind::InvalidInput,
            "too many links follow each other",
        ))
    }

    /// Returns standard output.
    #[must_use]
    pub fn stdout() -> Self {
        Self::descriptor(1)
    }

    fn descriptor(number: i32) -> Self {
        Self {
            path: PathBuf::new(),
            kind: Kind::Descriptor(number),
        }
    }

    /// Returns whether the bytes go to a pipe, a device or an open descriptor, and not to a
    /// new file.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.kind != Kind::File
    }

    /// Returns the identity of the file.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file yet, or if it cannot be examined.
    pub fn identity(&self) -> io::Result<Identity> {
        match self.kind {
            Kind::Descriptor(number) => Identity::of_descriptor(number),
            Kind::File | Kind::Special => Identity::new(&self.path),
        }
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        let same_special = || match (self.identity(), other.identity()) {
            (Ok(one), Ok(two)) => self.kind == Kind::Special && one == two,
            _ => false,
        };
        self.kind == other.kind && (self.path == other.path || same_special())
    }
}

impl Eq for Target {}

/// Returns the last part of a path.
fn name(path: &Path) -> io::Result<OsString> {
    match path.file_name() {
        // `file_name` ignores a slash at the end, which means a directory.
        Some(name) if !path.as_os_str().as_encoded_bytes().ends_with(b"/") => Ok(name.to_owned()),
        _ => Err(ErrorKind::IsADirectory.into()),
    }
}

/// Returns the directory of the file with this path.
pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// The identity of a file, which does not depend on its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity(system::Id);

impl Identity {
    /// Returns the identity of the file with this name. The file is not opened: opening a
    /// pipe has effects.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, or if it cannot be examined.
    pub fn new(path: &Path) -> io::Result<Self> {
        system::id(path).map(Self)
    }

    /// Returns the identity of standard input.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be examined, and on systems other than Unix.
    pub fn of_stdin() -> io::Result<Self> {
        Self::of_descriptor(0)
    }

    fn of_descriptor(number: i32) -> io::Result<Self> {
        system::id_of_descriptor(number).map(Self)
    }

    /// Returns whether it is harmless to read and write this at the same time: a device, such
    /// as a terminal, or `/dev/null`.
    #[must_use]
    pub fn is_device(&self) -> bool {
        system::is_device(&self.0)
    }
}
