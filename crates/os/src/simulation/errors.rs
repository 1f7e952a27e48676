//! The errors of a simulated disk: those that the system would return.

use std::io;

/// The reason why an operation failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    NotFound,
    Exists,
    NotADirectory,
    IsADirectory,
    NotEmpty,
    /// The arguments contradict each other.
    Invalid,
    TooManyLinks,
    /// The file is not open, or not for this operation.
    NotOpen,
    Full,
    /// The device fails.
    Device,
    /// Simulated files do not have this function.
    #[cfg_attr(unix, allow(dead_code, reason = "all is possible there"))]
    Unsupported,
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

#[cfg(unix)]
impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        Self::from_raw_os_error(match failure {
            Failure::NotFound => libc::ENOENT,
            Failure::Exists => libc::EEXIST,
            Failure::NotADirectory => libc::ENOTDIR,
            Failure::IsADirectory => libc::EISDIR,
            Failure::NotEmpty => libc::ENOTEMPTY,
            Failure::Invalid => libc::EINVAL,
            Failure::TooManyLinks => libc::ELOOP,
            Failure::NotOpen => libc::EBADF,
            Failure::Full => libc::ENOSPC,
            Failure::Device => libc::EIO,
            Failure::Unsupported => libc::EOPNOTSUPP,
        })
    }
}

#[cfg(not(unix))]
impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotFound => io::ErrorKind::NotFound.into(),
            Failure::Exists => io::ErrorKind::AlreadyExists.into(),
            Failure::NotADirectory => io::ErrorKind::NotADirectory.into(),
            Failure::IsADirectory => io::ErrorKind::IsADirectory.into(),
            Failure::NotEmpty => io::ErrorKind::DirectoryNotEmpty.into(),
            Failure::Invalid => io::ErrorKind::InvalidInput.into(),
            Failure::Full => io::ErrorKind::StorageFull.into(),
            Failure::Unsupported => io::ErrorKind::Unsupported.into(),
            Failure::TooManyLinks => Self::other("too many levels of symbolic links"),
            Failure::NotOpen => Self::other("the file is not open for this operation"),
            Failure::Device => Self::other("input/output error"),
        }
    }
}
