//! The functions of `std::fs`, on threads of the pool.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use crate::blocking::run;

/// Defines functions of one path.
macro_rules! of_a_path {
    ($($(#[$doc:meta])* $name:ident($path:ident) -> $output:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`std::fs::", stringify!($name), "`].")]
        pub async fn $name(path: impl AsRef<Path>) -> io::Result<$output> {
            let $path = path.as_ref().to_owned();
            run(move || fs::$name($path)).await
        }
    )*};
}

/// Defines functions of two paths.
macro_rules! of_two_paths {
    ($($(#[$doc:meta])* $name:ident($one:ident, $other:ident) -> $output:ty: $std:path;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($std), "`].")]
        pub async fn $name(
            $one: impl AsRef<Path>,
            $other: impl AsRef<Path>,
        ) -> io::Result<$output> {
            let ($one, $other) = ($one.as_ref().to_owned(), $other.as_ref().to_owned());
            run(move || $std($one, $other)).await
        }
    )*};
}

of_a_path! {
    /// Returns the absolute path of a file, without links and without `.` and `..`.
    canonicalize(path) -> PathBuf;
    /// Creates a directory. Its parent must exist.
    create_dir(path) -> ();
    /// Creates a directory, and its parents where they are missing.
    create_dir_all(path) -> ();
    /// Returns the metadata of a file: its size, its type, its times. Follows links.
    metadata(path) -> Metadata;
    /// Reads a whole file.
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
    read(path) -> Vec<u8>;
    /// Returns the target of a symbolic link.
    read_link(path) -> PathBuf;
    /// Reads a whole file, which must be text in UTF-8.
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
    read_to_string(path) -> String;
    /// Removes an empty directory.
    remove_dir(path) -> ();
    /// Removes a directory and everything in it. Does not follow links. Be careful!
    remove_dir_all(path) -> ();
    /// Removes a file.
    remove_file(path) -> ();
    /// Returns the metadata of a file, or of the link itself if it is one.
    symlink_metadata(path) -> Metadata;
}

of_two_paths! {
    /// Copies the contents of a file, and its permissions, to another path, and returns the
    /// number of bytes copied. An existing file is replaced.
    copy(from, to) -> u64: fs::copy;
    /// Creates another name for a file.
    hard_link(original, link) -> (): fs::hard_link;
    /// Renames a file or a directory. An existing file of the new name is replaced.
    ///
    /// Both paths must be on the same file system.
    rename(from, to) -> (): fs::rename;
}

#[cfg(unix)]
of_two_paths! {
    /// Creates a symbolic link.
    symlink(original, link) -> (): std::os::unix::fs::symlink;
}

#[cfg(windows)]
of_two_paths! {
    /// Creates a symbolic link to a directory.
    symlink_dir(original, link) -> (): std::os::windows::fs::symlink_dir;
    /// Creates a symbolic link to a file.
    symlink_file(original, link) -> (): std::os::windows::fs::symlink_file;
}

/// Changes the permissions of a file or a directory.
///
/// # Errors
///
/// Returns the errors of [`std::fs::set_permissions`].
pub async fn set_permissions(path: impl AsRef<Path>, perm: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    run(move || fs::set_permissions(path, perm)).await
}

/// Returns whether a path exists. Follows links.
///
/// # Errors
///
/// Returns the errors of [`Path::try_exists`]: if it cannot be determined.
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref().to_owned();
    run(move || path.try_exists()).await
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
    run(move || fs::write(path, contents)).await
}
