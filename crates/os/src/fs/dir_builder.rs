//! `DirBuilder`: options for creating a directory.

use std::io;
use std::path::Path;

use super::files;
use crate::blocking::on_path;

/// Creates directories, like [`std::fs::DirBuilder`].
///
/// ```
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a/b/c");
/// blitz_io::fs::DirBuilder::new().recursive(true).create(&path).await?;
/// assert!(blitz_io::fs::try_exists(&path).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
    #[cfg(unix)]
    mode: Option<u32>,
}

impl DirBuilder {
    /// Creates a builder for a single directory, with the usual permissions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether missing parent directories are created too, and an existing directory
    /// is no error.
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// Sets the permissions of created directories, before the umask.
    #[cfg(unix)]
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = Some(mode);
        self
    }

    /// Creates the directory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::DirBuilder::create`].
    #[track_caller]
    pub fn create(&self, path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(self.recursive);
        #[cfg(unix)]
        if let Some(mode) = self.mode {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        }
        let recursive = self.recursive;
        let create = move |path| files::build_dir(&builder, recursive, path);
        on_path("create_dir", path, create)
    }
}
