//! Systems on which segments are not supported yet: every attempt returns an error.

use std::io;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use super::{Access, Process};
use crate::api::error::Error;

fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns an error if segments cannot be shared on this system.
pub(crate) fn supported() -> Result<(), Error> {
    Err(Error::Unsupported)
}

/// Never constructed on this system.
#[derive(Debug)]
#[allow(dead_code, reason = "never made on this system")]
pub(crate) struct SegmentFile(());

impl SegmentFile {
    pub(crate) fn open(_: &Path, _: Option<u32>) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn size(&self) -> io::Result<u64> {
        unsupported()
    }

    pub(crate) fn access(&self) -> io::Result<Access> {
        unsupported()
    }

    pub(crate) fn set_mode(&self, _: u32) -> io::Result<()> {
        unsupported()
    }

    pub(crate) fn allocate(&self, _: usize) -> io::Result<()> {
        unsupported()
    }

    pub(crate) fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        unsupported()
    }

    pub(crate) fn is_allocated(&self) -> io::Result<bool> {
        unsupported()
    }

    pub(crate) fn is_at(&self, _: &Path) -> bool {
        false
    }

    pub(crate) fn try_lock(&self, _: usize) -> io::Result<bool> {
        unsupported()
    }

    pub(crate) fn unlock(&self, _: usize) {}

    pub(crate) fn is_locked(&self, _: usize, _: usize) -> io::Result<bool> {
        unsupported()
    }

    pub(crate) fn map(&self, _: usize) -> io::Result<Mapping> {
        unsupported()
    }
}

/// Never constructed on this system.
#[derive(Debug)]
#[allow(dead_code, reason = "never made on this system")]
pub(crate) struct Mapping(());

impl Mapping {
    pub(crate) fn base(&self) -> NonNull<u8> {
        NonNull::dangling()
    }

    pub(crate) fn populate(&self) {}
}

pub(crate) fn coarse_time() -> std::time::Duration {
    std::time::Duration::ZERO
}

pub(crate) fn user() -> u32 {
    0
}

pub(crate) fn other_directories(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

pub(crate) fn user_directory() -> Result<PathBuf, Error> {
    Err(Error::Unsupported)
}

pub(crate) fn check_directory(_: &Path) -> Result<(), Error> {
    Err(Error::Unsupported)
}

pub(crate) fn remove(_: &Path) -> io::Result<()> {
    unsupported()
}

pub(crate) fn process(_: u32) -> Option<Process> {
    None
}

#[cfg(unix)]
pub(crate) use self::descriptors::{PollSet, Wakeups, remove_wakeups, wake};

#[cfg(unix)]
mod descriptors {
    use std::convert::Infallible;
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::path::Path;
    use std::time::Duration;

    use super::{SegmentFile, unsupported};

    /// Never constructed on this system.
    #[derive(Debug)]
    pub(crate) struct Wakeups(Infallible);

    impl Wakeups {
        pub(crate) fn new(_: &SegmentFile, _: Option<&Path>, _: usize) -> io::Result<Self> {
            unsupported()
        }

        pub(crate) fn number(&self) -> u64 {
            match self.0 {}
        }

        pub(crate) fn empty(&self) {
            match self.0 {}
        }
    }

    impl AsFd for Wakeups {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }

    pub(crate) fn wake(_: Option<&Path>, _: usize, _: u64) {}

    pub(crate) fn remove_wakeups(_: Option<&Path>, _: usize) {}

    /// Never constructed on this system.
    #[derive(Debug)]
    pub(crate) struct PollSet(Infallible);

    impl PollSet {
        pub(crate) fn new(_: BorrowedFd<'_>) -> io::Result<Self> {
            unsupported()
        }

        pub(crate) fn clear(&self) {
            match self.0 {}
        }

        pub(crate) fn start_timer(&self, _: Duration) -> io::Result<()> {
            match self.0 {}
        }
    }

    impl AsFd for PollSet {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }
}
