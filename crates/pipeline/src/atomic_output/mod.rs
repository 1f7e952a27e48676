//! Output files that get their names when they are complete.
//!
//! A run that fails or is interrupted leaves no file behind, and a file that existed before
//! stays as it was:
//!
//! ```
//! use std::io::Write;
//! use blitz_io::pipeline::atomic_output::{AtomicOutput, Target};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = &folder.path().join("result");
//! let mut output = AtomicOutput::create(&Target::new(path)?)?;
//! output.write_all(b"everything")?;
//! assert!(!path.exists());
//! output.finish()?;
//! assert_eq!(std::fs::read(path)?, b"everything");
//! # Ok::<_, std::io::Error>(())
//! ```
//!
//! On Linux, the file has no name at all until then, if the file system can do that
//! (`O_TMPFILE`): the kernel removes it however the process ends. Elsewhere it has a random
//! name that begins with a dot and ends with `.part`, in the same directory. It is removed when
//! the output is dropped, and by [`remove_on_signals`] and [`remove_unfinished`].
//!
//! On Unix, a file that replaces another one gets its permissions. It also gets its owner and group, if the process
//! may set them. This happens before anything is written: at no time can more users read it than the file before. A
//! new file gets the usual permissions, `0o666` without the bits of the umask.
//!
//! Pipes, devices and open descriptors such as `/dev/stdout` are written directly.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod unnamed;
#[cfg(not(target_os = "linux"))]
#[path = "always_named.rs"]
mod unnamed;

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod signals;
mod target;
#[cfg(all(test, unix))]
mod tests;
mod unfinished;
#[cfg(unix)]
mod unix;

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, IoSlice, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

#[cfg(unix)]
pub use signals::remove_on_signals;
pub use target::{Identity, Target};
pub use unfinished::{Removed, remove_unfinished};

#[cfg(not(unix))]
use other as system;
use target::{Kind, directory};
use unfinished::Entry;
#[cfg(unix)]
use unix as system;

/// An output that is being written.
///
/// Dropping it removes what was written, unless that went to a pipe, a device or an open
/// descriptor.
#[derive(Debug)]
pub struct AtomicOutput {
    file: File,
    /// `None` if the bytes are written directly, and after the file has got its name.
    unfinished: Option<Entry>,
}

impl AtomicOutput {
    /// Opens the output.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be created or opened, and with `AlreadyExists` if another
    /// output of this process will get the same name.
    pub fn create(target: &Target) -> io::Result<Self> {
        let direct = |file| Self {
            file,
            unfinished: None,
        };
        match target.kind {
            Kind::Descriptor(number) => system::duplicate(number).map(direct),
            Kind::Special => {
                let file = OpenOptions::new().write(true).open(&target.path);
                file.map(direct)
            }
            Kind::File => Self::create_file(&target.path, unnamed::create),
        }
    }

    /// Creates a file for `path`: without a name if `unnamed` returns one.
    fn create_file(
        path: &Path,
        unnamed: impl FnOnce(&Path) -> Option<File>,
    ) -> io::Result<AtomicOutput> {
        // The lock is held until the file is listed, so that a signal's handler knows every
        // file that exists.
        let mut all = unfinished::lock();
        if all.contains(path) {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                "it is already an output of this run",
            ));
        }
        let (file, temporary) = match unnamed(directory(path)) {
            Some(file) => {
                system::protect_as(&file, path)?;
                (file, None)
            }
            None => {
                let (file, temporary) = create_named(path)?;
                (file, Some(temporary))
            }
        };
        Ok(AtomicOutput {
            file,
            unfinished: Some(all.add(path, temporary)),
        })
    }

    /// Returns the file, which has no name yet or is no regular file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns whether this is a new file, which can be written at any offset.
    pub fn is_new_file(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Gives the file its name, and replaces another file of that name. Nothing happens to a
    /// pipe, a device or an open descriptor.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot get its name. It is removed then.
    pub fn finish(mut self) -> io::Result<()> {
        // Under the lock: after a signal's handler has removed the files, none gets its name.
        let mut all = unfinished::lock();
        if let Some(entry) = &self.unfinished {
            if let (target, None) = all.names(entry) {
                // This fails if there is such a file: only a rename replaces it.
                if unnamed::link(&self.file, target).is_ok() {
                    all.remove(self.unfinished.take());
                    return Ok(());
                }
            }
        }
        drop(all);
        self.complete()?.finish()
    }

    /// Closes the file, which is complete and gets its name later.
    ///
    /// Until then it takes no descriptor, of which a process has few.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot get a temporary name. It is removed then.
    pub fn complete(mut self) -> io::Result<CompleteOutput> {
        if let Some(entry) = &self.unfinished {
            let mut all = unfinished::lock();
            if let (target, None) = all.names(entry) {
                let linked = with_new_name(target, |name| unnamed::link(&self.file, name));
                let temporary = match linked {
                    Ok(((), temporary)) => temporary,
                    Err(_) => copy(&mut self.file, target)?,
                };
                all.set_temporary(entry, temporary);
            }
        }
        Ok(CompleteOutput {
            unfinished: self.unfinished.take(),
        })
    }
}

impl Drop for AtomicOutput {
    fn drop(&mut self) {
        remove(self.unfinished.take());
    }
}

/// An output that is complete but has not got its name: see [`AtomicOutput::complete`].
///
/// Dropping it removes the file.
#[derive(Debug)]
pub struct CompleteOutput {
    unfinished: Option<Entry>,
}

impl CompleteOutput {
    /// Gives the file its name, as [`AtomicOutput::finish`] does.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot get its name. It is removed then.
    pub fn finish(mut self) -> io::Result<()> {
        let mut all = unfinished::lock();
        match all.remove(self.unfinished.take()) {
            Some((target, Some(temporary))) => {
                fs::rename(&temporary, target).inspect_err(|_| drop(fs::remove_file(&temporary)))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for CompleteOutput {
    fn drop(&mut self) {
        remove(self.unfinished.take());
    }
}

/// Removes the file of an output, if it has one that is not finished.
fn remove(unfinished: Option<Entry>) {
    if unfinished.is_none() {
        return;
    }
    if let Some((_, Some(temporary))) = unfinished::lock().remove(unfinished) {
        // Nothing more can be done about a file that cannot be removed.
        let _ = fs::remove_file(temporary);
    }
}

/// Copies a file that cannot be linked: some systems that confine programs refuse that.
#[cold]
fn copy(file: &mut File, target: &Path) -> io::Result<PathBuf> {
    let (mut copy, temporary) = create_named(target)?;
    let copied = file.seek(SeekFrom::Start(0));
    let copied = copied.and_then(|_| io::copy(file, &mut copy));
    copied.inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    Ok(temporary)
}

impl Write for AtomicOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.file.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Creates a new file beside `path`, with the permissions of a file at `path`.
fn create_named(path: &Path) -> io::Result<(File, PathBuf)> {
    let (file, temporary) = with_new_name(path, |name| {
        // Neither opens a file that exists nor follows a link.
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(name)
    })?;
    system::protect_as(&file, path).inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    Ok((file, temporary))
}

/// Calls `create` with random names beside `path` until one is not in use.
fn with_new_name<T>(
    path: &Path,
    create: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    /// More names than this are in use only if something is wrong.
    const ATTEMPTS: u32 = 1 << 10;
    /// Characters of up to four bytes; a name may have 255 bytes on most file systems.
    const KEPT: usize = 50;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kept: String = name.chars().take(KEPT).collect();
    let mut attempts = 0;
    loop {
        let random = RandomState::new().hash_one(attempts);
        let temporary = directory(path).join(format!(".{kept}.{random:016x}.part"));
        match create(&temporary) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempts < ATTEMPTS => {
                attempts += 1;
            }
            created => return created.map(|created| (created, temporary)),
        }
    }
}
