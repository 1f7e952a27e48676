//! Waiting until the disk has a file.

use std::io;
use std::sync::Arc;

#[cfg(io_uring)]
use std::os::fd::AsRawFd;

#[cfg(io_uring)]
use blitz_io_driver::io_uring::{Entry, Finish, Operation, opcode, to_result, types};
use blitz_io_observe::About;
#[cfg(io_uring)]
use blitz_io_observe::{Descriptor, Kind};

use super::files::File;
use crate::blocking::on_file;
use crate::operation::Blocking;

/// The operation `fsync` or `fdatasync`.
pub(super) struct Sync {
    pub(super) file: Arc<File>,
    pub(super) only_data: bool,
}

impl Blocking for Sync {
    type Output = io::Result<()>;

    const IS_SYNC: bool = true;

    fn about(&self) -> About {
        on_file("sync", &self.file)
    }

    fn block(self) -> Self::Output {
        if self.only_data {
            self.file.sync_data()
        } else {
            self.file.sync_all()
        }
    }

    fn fail(self, error: io::Error) -> Self::Output {
        Err(error)
    }
}

#[cfg(io_uring)]
impl Finish for Sync {
    type Output = io::Result<()>;

    fn finish(self, result: i32) -> Self::Output {
        to_result(result).map(drop)
    }
}

#[cfg(io_uring)]
// SAFETY: the entry points to nothing, and the operation keeps the file open.
unsafe impl Operation for Sync {
    fn entry(&mut self) -> Entry {
        let flags = if self.only_data {
            types::FsyncFlags::DATASYNC
        } else {
            types::FsyncFlags::empty()
        };
        opcode::Fsync::new(types::Fd(self.file.as_raw_fd()))
            .flags(flags)
            .build()
    }

    fn target(&self) -> (Kind, Descriptor) {
        (Kind::FileSync, Descriptor::new(self.file.as_raw_fd()))
    }
}
