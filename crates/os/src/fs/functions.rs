//! The functions of `std::fs`, on threads of the pool.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use blitz_io_core::inspect::About;

use crate::blocking::run;

/// Returns the absolute path of a file, without links and without `.` and `..`.
///
/// # Errors
///
/// Returns the errors of [`std::fs::canonicalize`].
///
/// # Cancel safety
///
/// Cancel safe: the operation changes nothing.
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    let about = About::path("canonicalize", &path);
    run(about, move || fs::canonicalize(path)).await
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
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let about = About::path("create_dir", &path);
    run(about, move || fs::create_dir(path)).await
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
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let about = About::path("create_dir_all", &path);
    run(about, move || fs::create_dir_all(path)).await
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
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    let about = About::path("metadata", &path);
    run(about, move || fs::metadata(path)).await
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
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref().to_owned();
    let about = About::path("read", &path);
    run(about, move || fs::read(path)).await
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
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    let about = About::path("read_link", &path);
    run(about, move || fs::read_link(path)).await
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
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref().to_owned();
    let about = About::path("read_to_string", &path);
    run(about, move || fs::read_to_string(path)).await
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
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let about = About::path("remove_dir", &path);
    run(about, move || fs::remove_dir(path)).await
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
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let about = About::path("remove_dir_all", &path);
    run(about, move || fs::remove_dir_all(path)).await
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
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let about = About::path("remove_file", &path);
    run(about, move || fs::remove_file(path)).await
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
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    let about = About::path("symlink_metadata", &path);
    run(about, move || fs::symlink_metadata(path)).await
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
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    let about = About::path("copy", &from);
    run(about, move || fs::copy(from, to)).await
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
pub async fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    let about = About::path("hard_link", &original);
    run(about, move || fs::hard_link(original, link)).await
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
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    let about = About::path("rename", &from);
    run(about, move || fs::rename(from, to)).await
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
pub async fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    let about = About::path("symlink", &original);
    run(about, move || std::os::unix::fs::symlink(original, link)).await
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
pub async fn symlink_dir(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    let about = About::path("symlink_dir", &original);
    run(about, move || {
        std::os::windows::fs::symlink_dir(original, link)
    })
    .await
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
pub async fn symlink_file(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    let about = About::path("symlink_file", &original);
    run(about, move || {
        std::os::windows::fs::symlink_file(original, link)
    })
    .await
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
pub async fn set_permissions(path: impl AsRef<Path>, perm: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let about = About::path("set_permissions", &path);
    run(about, move || fs::set_permissions(path, perm)).await
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
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref().to_owned();
    let about = About::path("try_exists", &path);
    run(about, move || path.try_exists()).await
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
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let contents = contents.as_ref().to_owned();
    let about = About::path("write", &path);
    run(about, move || fs::write(path, contents)).await
}
