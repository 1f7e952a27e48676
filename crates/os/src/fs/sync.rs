//! Waiting until the disk has a file.

use std::fs::File;
use std::io;
use std::sync::Arc;

#[cfg(io_uring)]
use std::os::fd::AsRawFd;

#[cfg(io_uring)]
use blitz_driver::io_uring::{Entry, opcode, types};

use crate::operation::Operation;

/// The operation `fsync` or `fdatasync`.
pub(super) struct Sync {
    pub(super) file: Arc<File>,
    pub(super) only_data: bool,
}

// SAFETY: the entry points to nothing, and the operation keeps the file open.
unsafe impl Operation for Sync {
    type Output = io::Result<()>;

    fn block(self) -> Self::Output {
        match self.only_data {
            true => self.file.sync_data(),
            false => self.file.sync_all(),
        }
    }

    fn fail(self, error: io::Error) -> Self::Output {
        Err(error)
    }

    #[cfg(io_uring)]
    fn entry(&mut self) -> Entry {
        let flags = match self.only_data {
            true => types::FsyncFlags::DATASYNC,
            false => types::FsyncFlags::empty(),
        };
        opcode::Fsync::new(types::Fd(self.file.as_raw_fd()))
            .flags(flags)
            .build()
    }

    #[cfg(io_uring)]
    fn finish(self, result: io::Result<usize>) -> Self::Output {
        result.map(drop)
    }
}
