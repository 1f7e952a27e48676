//! `OpenOptions`: options for opening a file.

use std::fs;
use std::io;
use std::path::Path;

// The options of a simulation have methods of these names.
#[cfg(all(unix, not(feature = "sim")))]
use std::os::unix::fs::OpenOptionsExt;
#[cfg(all(windows, not(feature = "sim")))]
use std::os::windows::fs::OpenOptionsExt;

use super::{File, files};
use crate::blocking::on_path;

/// Opens files, like [`std::fs::OpenOptions`].
///
/// ```
/// use blitz_io::fs::OpenOptions;
/// use blitz_io::io::AsyncWriteExt;
///
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log");
/// let mut log = OpenOptions::new().append(true).create(true).open(&path).await?;
/// log.write_all(b"a line\n").await?;
/// log.flush().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions(files::OpenOptions);

impl OpenOptions {
    /// Creates options that allow nothing yet.
    #[must_use]
    pub fn new() -> OpenOptions {
        OpenOptions(files::OpenOptions::new())
    }

    /// Sets whether the file can be read.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.0.read(read);
        self
    }

    /// Sets whether the file can be written.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.0.write(write);
        self
    }

    /// Sets whether every write goes to the end of the file.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.0.append(append);
        self
    }

    /// Sets whether the contents of the file are discarded.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.0.truncate(truncate);
        self
    }

    /// Sets whether the file is created if it is missing.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.0.create(create);
        self
    }

    /// Sets whether the file must be created by this call.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.0.create_new(create_new);
        self
    }

    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::OpenOptions::open`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future does not stop the operation: the file may be created, and is
    /// then closed.
    #[track_caller]
    pub fn open(&self, path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> {
        open(self.0.clone(), path)
    }
}

/// Opens a file with these options.
#[track_caller]
fn open(
    options: files::OpenOptions,
    path: impl AsRef<Path>,
) -> impl Future<Output = io::Result<File>> {
    let open = move |path| options.open(path).map(File::opened);
    on_path("open", path, open)
}

#[cfg(unix)]
impl OpenOptions {
    /// Sets the permissions of a file that is created, before the umask.
    pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.0.mode(mode);
        self
    }

    /// Sets additional flags for `open`.
    pub fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.0.custom_flags(flags);
        self
    }
}

#[cfg(windows)]
impl OpenOptions {
    /// Sets `dwDesiredAccess` of `CreateFile`.
    pub fn access_mode(&mut self, access: u32) -> &mut OpenOptions {
        self.0.access_mode(access);
        self
    }

    /// Sets `dwShareMode` of `CreateFile`.
    pub fn share_mode(&mut self, share: u32) -> &mut OpenOptions {
        self.0.share_mode(share);
        self
    }

    /// Sets additional flags for `CreateFile`.
    pub fn custom_flags(&mut self, flags: u32) -> &mut OpenOptions {
        self.0.custom_flags(flags);
        self
    }

    /// Sets the attributes of a file that is created.
    pub fn attributes(&mut self, attributes: u32) -> &mut OpenOptions {
        self.0.attributes(attributes);
        self
    }

    /// Sets how far a server may impersonate this process.
    pub fn security_qos_flags(&mut self, flags: u32) -> &mut OpenOptions {
        self.0.security_qos_flags(flags);
        self
    }
}

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::open`].
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> {
        let mut options = Self::options();
        options.read(true);
        open(options.0, path)
    }

    /// Opens a file for writing. It is created, or its contents are discarded.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::create`].
    #[track_caller]
    pub fn create(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> {
        let mut options = Self::options();
        options.write(true).create(true).truncate(true);
        open(options.0, path)
    }

    /// Creates a file, for reading and writing.
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the file exists, and the
    /// errors of [`std::fs::File::create_new`].
    #[track_caller]
    pub fn create_new<P: AsRef<Path>>(path: P) -> impl Future<Output = io::Result<File>> {
        let mut options = Self::options();
        options.read(true).write(true).create_new(true);
        open(options.0, path)
    }

    /// Returns options for opening a file: the same as [`OpenOptions::new`].
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }
}

impl From<fs::OpenOptions> for OpenOptions {
    fn from(options: fs::OpenOptions) -> OpenOptions {
        OpenOptions(files::options_of(options))
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}
