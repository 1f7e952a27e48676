//! The functions of `std::fs`, on threads of the pool.

use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use super::files;
use crate::blocking::{called, on_path, on_paths};

/// Returns the absolute path of a file, without links and without `.` and `..`.
///
/// # Errors
///
/// Returns the errors of [`std::fs::canonicalize`].
///
/// # Cancel safety
///
/// Cancel safe: the operation changes nothing.
#[track_caller]
pub fn canonicalize(path: impl AsRef<Path>) -> impl Future<Output = io::Result<PathBuf>> {
    on_path("canonicalize", path, files::canonicalize)
}

/// Creates a directory. Its parent must exist.
///
/// # Errors
///
/// Returns the errors of [`std::fs::create_dir`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[track_caller]
pub fn create_dir(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> {
    on_path("create_dir", path, files::create_dir)
}

/// Creates a directory, and its parents where they are missing.
///
/// # Errors
///
/// Returns the errors of [`std::fs::create_dir_all`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[track_caller]
pub fn create_dir_all(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> {
    on_path("create_dir_all", path, files::create_dir_all)
}

/// Returns the metadata of a file: its size, its type, its times. Follows links.
///
/// # Errors
///
/// Returns the errors of [`std::fs::metadata`].
///
/// # Cancel safety
///
/// Cancel safe: the operation changes nothing.
#[track_caller]
pub fn metadata(path: impl AsRef<Path>) -> impl Future<Output = io::Result<Metadata>> {
    on_path("metadata", path, files::metadata)
}

/// Reads a whole file.
///
/// # Errors
///
/// Returns the errors of [`std::fs::read`].
///
/// # Cancel safety
///
/// Cancel safe: the operation changes nothing.
///
/// # Examples
///
/// ```
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// blitz_io::fs::write(&path, [1, 2, 3]).await?;
/// assert_eq!(blitz_io::fs::read(&path).await?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn read(path: impl AsRef<Path>) -> impl Future<Output = io::Result<Vec<u8>>> {
    whole("read", path)
}

/// Returns the target of a symbolic link.
///
/// # Errors
///
/// Returns the errors of [`std::fs::read_link`].
///
/// # Cancel safety
///
/// Cancel safe: the operation changes nothing.
#[track_caller]
pub fn read_link(path: impl AsRef<Path>) -> impl Future<Output = io::Result<PathBuf>> {
    on_path("read_link", path, files::read_link)
}

/// Reads a whole file, which must be text in UTF-8.
///
/// # Errors
///
/// Returns the errors of [`std::fs::read_to_string`].
///
/// # Cancel safety
///
/// Cancel safe: the operation changes nothing.
///
/// # Examples
///
/// ```
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// blitz_io::fs::write(&path, "text").await?;
/// assert_eq!(blitz_io::fs::read_to_string(&path).await?, "text");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn read_to_string(path: impl AsRef<Path>) -> impl Future<Output = io::Result<String>> {
    called(async move {
        let bytes = whole("read_to_string", path).await?;
        String::from_utf8(bytes).map_err(|_| {
            let text = "stream did not contain valid UTF-8";
            io::Error::new(io::ErrorKind::InvalidData, text)
        })
    })
}

/// Removes an empty directory.
///
/// # Errors
///
/// Returns the errors of [`std::fs::remove_dir`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[track_caller]
pub fn remove_dir(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> {
    on_path("remove_dir", path, files::remove_dir)
}

/// Removes a directory and everything in it. Does not follow links. Be careful!
///
/// # Errors
///
/// Returns the errors of [`std::fs::remove_dir_all`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[track_caller]
pub fn remove_dir_all(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> {
    on_path("remove_dir_all", path, files::remove_dir_all)
}

/// Removes a file.
///
/// # Errors
///
/// Returns the errors of [`std::fs::remove_file`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[track_caller]
pub fn remove_file(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> {
    on_path("remove_file", path, files::remove_file)
}

/// Returns the metadata of a file, or of the link itself if it is one.
///
/// # Errors
///
/// Returns the errors of [`std::fs::symlink_metadata`].
///
/// # Cancel safety
///
/// Cancel safe: the operation changes nothing.
#[track_caller]
pub fn symlink_metadata(path: impl AsRef<Path>) -> impl Future<Output = io::Result<Metadata>> {
    on_path("symlink_metadata", path, files::symlink_metadata)
}

/// Copies the contents of a file, and its permissions, to another path, and returns the
/// number of bytes copied. An existing file is replaced.
///
/// # Errors
///
/// Returns the errors of [`std::fs::copy`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[track_caller]
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> impl Future<Output = io::Result<u64>> {
    on_paths("copy", from, to, files::copy)
}

/// Creates another name for a file.
///
/// # Errors
///
/// Returns the errors of [`std::fs::hard_link`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[track_caller]
pub fn hard_link(
    original: impl AsRef<Path>,
    link: impl AsRef<Path>,
) -> impl Future<Output = io::Result<()>> {
    on_paths("hard_link", original, link, files::hard_link)
}

/// Renames a file or a directory. An existing file of the new name is replaced.
///
/// Both paths must be on the same file system.
///
/// # Errors
///
/// Returns the errors of [`std::fs::rename`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[track_caller]
pub fn rename(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
) -> impl Future<Output = io::Result<()>> {
    on_paths("rename", from, to, files::rename)
}

/// Creates a symbolic link.
///
/// # Errors
///
/// Returns the errors of [`std::os::unix::fs::symlink`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[cfg(unix)]
#[track_caller]
pub fn symlink(
    original: impl AsRef<Path>,
    link: impl AsRef<Path>,
) -> impl Future<Output = io::Result<()>> {
    on_paths("symlink", original, link, files::symlink)
}

/// Creates a symbolic link to a directory.
///
/// # Errors
///
/// Returns the errors of [`std::os::windows::fs::symlink_dir`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[cfg(windows)]
#[track_caller]
pub fn symlink_dir(
    original: impl AsRef<Path>,
    link: impl AsRef<Path>,
) -> impl Future<Output = io::Result<()>> {
    on_paths("symlink_dir", original, link, files::symlink_dir)
}

/// Creates a symbolic link to a file.
///
/// # Errors
///
/// Returns the errors of [`std::os::windows::fs::symlink_file`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[cfg(windows)]
#[track_caller]
pub fn symlink_file(
    original: impl AsRef<Path>,
    link: impl AsRef<Path>,
) -> impl Future<Output = io::Result<()>> {
    on_paths("symlink_file", original, link, files::symlink_file)
}

/// Changes the permissions of a file or a directory.
///
/// # Errors
///
/// Returns the errors of [`std::fs::set_permissions`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
#[track_caller]
pub fn set_permissions(
    path: impl AsRef<Path>,
    perm: Permissions,
) -> impl Future<Output = io::Result<()>> {
    called(async move {
        let set = move |path| files::set_permissions(path, perm);
        on_path("set_permissions", path, set).await
    })
}

/// Returns whether a path exists. Follows links.
///
/// # Errors
///
/// Returns the errors of [`Path::try_exists`], if the system does not say.
///
/// # Cancel safety
///
/// Cancel safe: the operation changes nothing.
#[track_caller]
pub fn try_exists(path: impl AsRef<Path>) -> impl Future<Output = io::Result<bool>> {
    on_path("try_exists", path, files::exists)
}

/// Writes a whole file. It is created, or its contents are replaced.
///
/// The future completes when the operating system has the bytes. A full disk is an error,
/// and the file contains the bytes that fitted.
///
/// # Errors
///
/// Returns the errors of [`std::fs::write`].
///
/// # Cancel safety
///
/// Not cancel safe: a future that is dropped does not stop an operation that a thread has
/// begun.
///
/// # Examples
///
/// ```
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// blitz_io::fs::write(&path, "a new text").await?;
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn write(
    path: impl AsRef<Path>,
    contents: impl AsRef<[u8]>,
) -> impl Future<Output = io::Result<()>> {
    called(async move {
        let contents = contents.as_ref().to_owned();
        on_path("write", path, move |path| files::write(path, contents)).await
    })
}

/// Reads a whole file. Reports of waits call the operation `what`.
#[track_caller]
fn whole(what: &'static str, path: impl AsRef<Path>) -> impl Future<Output = io::Result<Vec<u8>>> {
    #[cfg(target_os = "linux")]
    return called(super::whole::read(what, path));
    #[cfg(not(target_os = "linux"))]
    on_path(what, path, files::read)
}
