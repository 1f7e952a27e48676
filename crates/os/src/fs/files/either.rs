//! The system's files, or those of a simulated host.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, FileType, Metadata, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::super::FileTimes;
use crate::simulation::{self, Flags};

/// An open file.
pub(crate) enum File {
    System(fs::File),
    Simulated(simulation::File),
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(file) => file.fmt(f),
            Self::Simulated(file) => file.fmt(f),
        }
    }
}

/// Returns the file for one of the system.
pub(crate) fn of_system(file: fs::File) -> File {
    File::System(file)
}

/// Returns the file as one of the system, if it is one.
pub(crate) fn as_system(file: &File) -> Option<&fs::File> {
    match file {
        File::System(file) => Some(file),
        File::Simulated(_) => None,
    }
}

/// Returns the file as one of the system.
///
/// # Errors
///
/// Returns the file itself if it is a simulated one.
pub(crate) fn into_system(file: File) -> Result<fs::File, File> {
    match file {
        File::System(file) => Ok(file),
        simulated @ File::Simulated(_) => Err(simulated),
    }
}

impl File {
    #[cfg(target_os = "linux")]
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().read(true).open(path)
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        match self {
            Self::System(file) => file.sync_all(),
            Self::Simulated(file) => file.sync(),
        }
    }

    pub(crate) fn sync_data(&self) -> io::Result<()> {
        match self {
            Self::System(file) => file.sync_data(),
            Self::Simulated(file) => file.sync(),
        }
    }

    pub(crate) fn set_len(&self, len: u64) -> io::Result<()> {
        match self {
            Self::System(file) => file.set_len(len),
            Self::Simulated(file) => file.set_len(len),
        }
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Self::System(file) => file.metadata(),
            Self::Simulated(file) => file.metadata(),
        }
    }

    pub(crate) fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        match self {
            Self::System(file) => file.set_permissions(permissions),
            Self::Simulated(file) => file.set_permissions(permissions),
        }
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::System(file) => file.try_clone().map(Self::System),
            Self::Simulated(file) => file.try_clone().map(Self::Simulated),
        }
    }
}

pub(crate) fn set_times(file: &File, times: &FileTimes) -> io::Result<()> {
    match file {
        File::System(file) => file.set_times(times.to_std()),
        // A simulated file has no other time.
        File::Simulated(file) => times
            .modified()
            .map_or(Ok(()), |time| file.set_modified(time)),
    }
}

impl Read for &File {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            File::System(file) => (&mut &*file).read(buf),
            File::Simulated(file) => file.read(buf),
        }
    }
}

impl Read for File {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }
}

impl Write for &File {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            File::System(file) => (&mut &*file).write(buf),
            File::Simulated(file) => file.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            File::System(file) => (&mut &*file).seek(position),
            File::Simulated(file) => file.seek(position),
        }
    }
}

/// Reads at a position of a simulated file. `None`: it is the system's.
///
/// # Safety
///
/// `len` bytes may be written there.
#[cfg(unix)]
pub(crate) unsafe fn read_at(
    file: &File,
    to: *mut u8,
    len: usize,
    offset: u64,
) -> Option<io::Result<usize>> {
    let File::Simulated(file) = file else {
        return None;
    };
    // SAFETY: the caller guarantees it.
    unsafe { to.write_bytes(0, len) };
    // SAFETY: the bytes are initialised now, and the caller has lent them.
    let buf = unsafe { std::slice::from_raw_parts_mut(to, len) };
    Some(file.read_at(buf, offset))
}

/// Writes at a position of a simulated file. `None`: it is the system's.
///
/// # Safety
///
/// `len` bytes there are initialised.
#[cfg(unix)]
pub(crate) unsafe fn write_at(
    file: &File,
    from: *const u8,
    len: usize,
    offset: u64,
) -> Option<io::Result<usize>> {
    let File::Simulated(file) = file else {
        return None;
    };
    // SAFETY: the caller guarantees it.
    let bytes = unsafe { std::slice::from_raw_parts(from, len) };
    Some(file.write_at(bytes, offset))
}

/// Returns the file whose descriptor stands for those of simulated files, which have none: the null device.
fn stand_in() -> &'static fs::File {
    static FILE: OnceLock<fs::File> = OnceLock::new();
    let path = if cfg!(windows) { "NUL" } else { "/dev/null" };
    FILE.get_or_init(|| fs::File::open(path).expect("the system has a null device"))
}

fn system_or_stand_in(file: &File) -> &fs::File {
    match file {
        File::System(file) => file,
        File::Simulated(_) => stand_in(),
    }
}

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

    use super::{File, system_or_stand_in};

    impl AsRawFd for File {
        fn as_raw_fd(&self) -> RawFd {
            system_or_stand_in(self).as_raw_fd()
        }
    }

    impl AsFd for File {
        fn as_fd(&self) -> BorrowedFd<'_> {
            system_or_stand_in(self).as_fd()
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, RawHandle};

    use super::{File, system_or_stand_in};

    impl AsRawHandle for File {
        fn as_raw_handle(&self) -> RawHandle {
            system_or_stand_in(self).as_raw_handle()
        }
    }

    impl AsHandle for File {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            system_or_stand_in(self).as_handle()
        }
    }
}

/// Options for opening a file.
#[derive(Clone, Debug)]
pub(crate) struct OpenOptions {
    system: fs::OpenOptions,
    /// `None`: the standard library has made them, and does not tell.
    flags: Option<Flags>,
}

/// Returns the options for those of the system. They open no simulated file.
pub(crate) fn options_of(system: fs::OpenOptions) -> OpenOptions {
    OpenOptions {
        system,
        flags: None,
    }
}

/// Defines methods that set an option in both forms.
macro_rules! options {
    ($($name:ident)*) => {
        $(pub(crate) fn $name(&mut self, value: bool) -> &mut Self {
            self.system.$name(value);
            if let Some(flags) = &mut self.flags {
                flags.$name = value;
            }
            self
        })*
    };
}

impl OpenOptions {
    pub(crate) fn new() -> Self {
        Self {
            system: fs::OpenOptions::new(),
            flags: Some(Flags::default()),
        }
    }

    options!(read write append truncate create create_new);

    pub(crate) fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        if !simulation::is_on() {
            return self.system.open(path).map(File::System);
        }
        let Some(flags) = &self.flags else {
            let text = "the options of the standard library open no simulated file";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        };
        simulation::open(path.as_ref(), flags).map(File::Simulated)
    }
}

#[cfg(unix)]
impl OpenOptions {
    pub(crate) fn mode(&mut self, mode: u32) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::mode(&mut self.system, mode);
        if let Some(flags) = &mut self.flags {
            flags.mode = Some(mode);
        }
        self
    }

    /// A simulated file has no such flags.
    pub(crate) fn custom_flags(&mut self, flags: i32) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut self.system, flags);
        self
    }
}

/// Options that a simulated file does not have.
#[cfg(windows)]
impl OpenOptions {
    pub(crate) fn access_mode(&mut self, access: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::access_mode(&mut self.system, access);
        self
    }

    pub(crate) fn share_mode(&mut self, share: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::share_mode(&mut self.system, share);
        self
    }

    pub(crate) fn custom_flags(&mut self, flags: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::custom_flags(&mut self.system, flags);
        self
    }

    pub(crate) fn attributes(&mut self, attributes: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::attributes(&mut self.system, attributes);
        self
    }

    pub(crate) fn security_qos_flags(&mut self, flags: u32) -> &mut Self {
        std::os::windows::fs::OpenOptionsExt::security_qos_flags(&mut self.system, flags);
        self
    }
}

/// Defines functions on one path.
macro_rules! on_path {
    ($($name:ident -> $output:ty, $simulated:expr;)*) => {
        $(pub(crate) fn $name(path: impl AsRef<Path>) -> io::Result<$output> {
            if simulation::is_on() {
                return $simulated(path.as_ref());
            }
            fs::$name(path)
        })*
    };
}

on_path! {
    canonicalize -> PathBuf, simulation::canonicalize;
    create_dir -> (), simulation::create_dir;
    create_dir_all -> (), simulation::create_dir_all;
    exists -> bool, simulation::exists;
    metadata -> Metadata, |path| simulation::metadata(path, true);
    read_link -> PathBuf, simulation::read_link;
    remove_dir -> (), simulation::remove_dir;
    remove_dir_all -> (), simulation::remove_dir_all;
    remove_file -> (), simulation::remove_file;
    symlink_metadata -> Metadata, |path| simulation::metadata(path, false);
}

#[cfg(not(target_os = "linux"))]
on_path! {
    read -> Vec<u8>, simulation::read;
}

/// Reads a whole file of a simulated host. `None`: the files of the current code are the system's.
#[cfg(target_os = "linux")]
pub(crate) fn read_simulated(path: &Path) -> Option<io::Result<Vec<u8>>> {
    simulation::is_on().then(|| simulation::read(path))
}

/// Defines functions on two paths.
macro_rules! on_paths {
    ($($(#[$cfg:meta])* $name:ident -> $output:ty, $system:path, $simulated:expr;)*) => {
        $($(#[$cfg])*
        pub(crate) fn $name(one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<$output> {
            if simulation::is_on() {
                return $simulated(one.as_ref(), other.as_ref());
            }
            $system(one, other)
        })*
    };
}

on_paths! {
    copy -> u64, fs::copy, simulation::copy;
    hard_link -> (), fs::hard_link, simulation::hard_link;
    rename -> (), fs::rename, simulation::rename;
    #[cfg(unix)]
    symlink -> (), std::os::unix::fs::symlink, simulation::symlink;
    #[cfg(windows)]
    symlink_dir -> (), std::os::windows::fs::symlink_dir, |_: &Path, _: &Path| simulation::no_symlink();
    #[cfg(windows)]
    symlink_file -> (), std::os::windows::fs::symlink_file, |_: &Path, _: &Path| simulation::no_symlink();
}

pub(crate) fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    if simulation::is_on() {
        return simulation::set_permissions(path.as_ref(), permissions);
    }
    fs::set_permissions(path, permissions)
}

pub(crate) fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    if simulation::is_on() {
        return simulation::write(path.as_ref(), contents.as_ref());
    }
    fs::write(path, contents)
}

/// Creates a folder. The permissions of a simulated one are the usual ones.
pub(crate) fn build_dir(builder: &DirBuilder, is_recursive: bool, path: PathBuf) -> io::Result<()> {
    match (simulation::is_on(), is_recursive) {
        (true, true) => simulation::create_dir_all(&path),
        (true, false) => simulation::create_dir(&path),
        (false, _) => builder.create(path),
    }
}

/// The entries of a folder.
#[derive(Debug)]
pub(crate) enum ReadDir {
    System(fs::ReadDir),
    Simulated(std::vec::IntoIter<simulation::DirEntry>),
}

pub(crate) fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    if simulation::is_on() {
        return simulation::read_dir(path.as_ref()).map(ReadDir::Simulated);
    }
    fs::read_dir(path).map(ReadDir::System)
}

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::System(entries) => Some(entries.next()?.map(DirEntry::System)),
            Self::Simulated(entries) => Some(Ok(DirEntry::Simulated(entries.next()?))),
        }
    }
}

/// An entry of a folder.
#[derive(Debug)]
pub(crate) enum DirEntry {
    System(fs::DirEntry),
    Simulated(simulation::DirEntry),
}

impl DirEntry {
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::System(entry) => entry.path(),
            Self::Simulated(entry) => entry.path(),
        }
    }

    pub(crate) fn file_name(&self) -> OsString {
        match self {
            Self::System(entry) => entry.file_name(),
            Self::Simulated(entry) => entry.file_name(),
        }
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Self::System(entry) => entry.metadata(),
            Self::Simulated(entry) => entry.metadata(),
        }
    }

    pub(crate) fn file_type(&self) -> io::Result<FileType> {
        match self {
            Self::System(entry) => entry.file_type(),
            Self::Simulated(entry) => entry.file_type(),
        }
    }
}

#[cfg(unix)]
pub(crate) fn inode(entry: &DirEntry) -> u64 {
    match entry {
        DirEntry::System(entry) => std::os::unix::fs::DirEntryExt::ino(entry),
        DirEntry::Simulated(entry) => entry.ino(),
    }
}
