//! Operations of a [`File`](super::File) that go through the ring of the worker's driver.
//! For which threads do so, see `operation.rs`.
//!
//! # At given positions
//!
//! `read_at` and `write_at` (see `at.rs`) of regular files and block devices. Other files
//! have no positions: the system's calls refuse them, but a ring ignores the position, and
//! waits for a pipe.
//!
//! # At the file's own position
//!
//! Writes to regular files that [`OpenOptions`](super::OpenOptions) has opened, not for appending,
//! and that were neither cloned nor asked for their descriptor. The position of such a file
//! is not shared. A ring can write at the file's own position, but without the lock that
//! serialises two writes of the system at the same position. So a write in the ring is
//! given its position, and moves the file's when it is done; in between, no other operation
//! reads or moves it.
//!
//! # A write that was accepted is written
//!
//! It is not cancelled with its file. If the kernel has given the write up (see the
//! driver's `ring`) or has cut it short, the rest is left in the buffer, and a thread of
//! the pool writes it. If there is no pool any more, a thread that uses the file writes the
//! rest. If the file no longer exists, the thread that drops the operation does.

use std::io::{self, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use blitz_io_driver::io_uring::{
    Entry, Finish, InFlight, Operation, is_given_up, opcode, to_result, types,
};
use blitz_io_observe::{Descriptor, Kind};
use blitz_io_runtime::internals::spawn_mandatory_blocking;
use blitz_io_runtime::runtime::Handle;
use blitz_io_runtime::task::JoinHandle;

use super::files::{self, File};
use super::nowait;
use super::outcome::Outcome;
use crate::blocking::{lost, on_file};
use crate::buffer::Buffer;
use crate::operation::driver_with_ring;

/// Tells which operations on a file may go through the ring; see the module documentation.
#[derive(Default)]
pub(super) struct Access {
    /// `true` if writes at the file's own position may go through the ring.
    own_position: AtomicBool,
    /// `true` if reads and writes at given positions may go through the ring, once that is known.
    given_positions: OnceLock<bool>,
}

impl Access {
    /// Returns the access of a file that has just been opened.
    pub(super) fn of_opened(file: &File) -> Self {
        let Some(file) = files::as_system(file) else {
            return Self {
                own_position: AtomicBool::new(false),
                given_positions: OnceLock::from(false),
            };
        };
        // SAFETY: the descriptor is open.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        let is_written = flags != -1
            && flags & libc::O_ACCMODE != libc::O_RDONLY
            && flags & (libc::O_APPEND | libc::O_PATH) == 0;
        let kind = kind(file);
        Self {
            own_position: AtomicBool::new(is_written && kind == Some(libc::S_IFREG)),
            given_positions: OnceLock::from(has_positions(kind)),
        }
    }

    /// Records that the file's position may be shared from now on.
    pub(super) fn revoke(&self) {
        self.own_position.store(false, Ordering::Relaxed);
    }

    /// Returns whether reads and writes at given positions may go through the ring.
    pub(super) fn has_positions(&self, file: &File) -> bool {
        *(self.given_positions).get_or_init(|| has_positions(files::as_system(file).and_then(kind)))
    }

    /// Starts to write the contents of the buffer. The file is `ahead` bytes ahead of the
    /// caller.
    ///
    /// # Errors
    ///
    /// Returns the buffer and how far the file is ahead, if the pool has to write it.
    pub(super) fn write(
        &self,
        file: &Arc<File>,
        buffer: Buffer,
        ahead: usize,
    ) -> Result<Writing, (Buffer, usize)> {
        // A file system may copy the bytes on the thread that submits.
        if !self.own_position.load(Ordering::Relaxed) || buffer.len() > nowait::MOST {
            return Err((buffer, ahead));
        }
        let Some(driver) = driver_with_ring() else {
            return Err((buffer, ahead));
        };
        // `ahead` is at most the size of a buffer.
        let Ok(place) = (&**file).seek(SeekFrom::Current(-(ahead as i64))) else {
            return Err((buffer, ahead));
        };
        let write = Write {
            file: file.clone(),
            buffer,
            place,
        };
        match driver.start(write) {
            Ok(in_flight) => Ok(Writing(in_flight)),
            Err(write) => Err((write.buffer, 0)),
        }
    }
}

/// Returns whether files of this kind have positions.
fn has_positions(kind: Option<libc::mode_t>) -> bool {
    matches!(kind, Some(libc::S_IFREG | libc::S_IFBLK))
}

/// Returns the kind of a file, if the system knows it without asking another machine.
fn kind(file: &std::fs::File) -> Option<libc::mode_t> {
    let mut known = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the descriptor is open, the path is empty, and there is room for the result.
    let result = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC,
            libc::STATX_TYPE,
            known.as_mut_ptr(),
        )
    };
    // SAFETY: zeros are valid.
    let known = unsafe { known.assume_init() };
    let is_known = result == 0 && known.stx_mask & libc::STATX_TYPE != 0;
    is_known.then(|| libc::mode_t::from(known.stx_mode) & libc::S_IFMT)
}

/// A write that is under way.
pub(super) struct Writing(InFlight<Write>);

impl Writing {
    /// Waits until the kernel has released it.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Written> {
        let done = Pin::new(&mut self.0).poll(cx);
        done.map(|done| done.unwrap_or_else(|write| write.finish(-libc::ECANCELED)))
    }
}

struct Write {
    file: Arc<File>,
    buffer: Buffer,
    place: u64,
}

impl Finish for Write {
    type Output = Written;

    fn finish(mut self, result: i32) -> Written {
        let result = match to_result(result) {
            Ok(count) => {
                self.buffer.advance(count);
                // The kernel has accepted the position before it, so it does not refuse
                // this one.
                (&*self.file).seek(SeekFrom::Start(self.place + count as u64))
            }
            Err(_) if is_given_up(result) => Ok(self.place),
            Err(error) => {
                self.buffer.discard();
                Err(error)
            }
        };
        Written {
            result: result.map(drop),
            rest: Rest(self),
        }
    }
}

// SAFETY: the bytes are on the heap, so they do not move with `self`, which owns the
// buffer. Nothing else uses the buffer before `finish`.
unsafe impl Operation for Write {
    const ENDS_WITH_FUTURE: bool = false;

    fn entry(&mut self) -> Entry {
        let bytes = self.buffer.bytes();
        // The length is not more than one call takes.
        let len = bytes.len() as u32;
        opcode::Write::new(types::Fd(self.file.as_raw_fd()), bytes.as_ptr(), len)
            .offset(self.place)
            .build()
    }

    fn target(&self) -> (Kind, Descriptor) {
        (Kind::FileWrite, Descriptor::new(self.file.as_raw_fd()))
    }
}

/// The outcome of a write.
pub(super) struct Written {
    result: io::Result<()>,
    rest: Rest,
}

/// The next step after a write.
pub(super) enum Finished {
    /// Nothing is left to write.
    Done(io::Result<()>, Buffer),
    /// A thread of the pool writes the rest.
    OnPool(JoinHandle<(Outcome, Buffer)>),
}

impl Written {
    /// Ensures that the rest is written, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no pool any more, so that the outcome of the rest is
    /// not known.
    pub(super) fn finish(self) -> io::Result<Finished> {
        let Self { result, mut rest } = self;
        if rest.0.buffer.is_empty() {
            return Ok(Finished::Done(result, rest.take()));
        }
        finish_rest(rest)
    }
}

#[cold]
fn finish_rest(mut rest: Rest) -> io::Result<Finished> {
    if Handle::try_current().is_err() {
        let result = rest.write();
        return Ok(Finished::Done(result, rest.take()));
    }
    let about = on_file("write", &rest.0.file);
    let job = spawn_mandatory_blocking(about, move || (Outcome::Write(rest.write()), rest.take()));
    job.map(Finished::OnPool).ok_or_else(lost)
}

/// The bytes left in the buffer, which are written even if this is dropped.
struct Rest(Write);

impl Rest {
    /// Writes the bytes at the file's position. It blocks.
    fn write(&mut self) -> io::Result<()> {
        self.0.buffer.write_to(&mut &*self.0.file)
    }

    fn take(&mut self) -> Buffer {
        std::mem::take(&mut self.0.buffer)
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        if !self.0.buffer.is_empty() {
            // The error cannot be reported any more.
            _ = self.write();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{IoSlice, Read};

    use super::*;

    /// The kernel's answers for a write that it has not carried out: the bytes are written,
    /// also if no task waits for that.
    #[test]
    fn a_write_that_the_kernel_gives_up_is_written() {
        for code in [libc::ECANCELED, libc::EINTR, libc::EAGAIN] {
            for is_awaited in [true, false] {
                let file = tempfile::tempfile().unwrap();
                let mut buffer = Buffer::default();
                buffer.copy_from(&[IoSlice::new(b"accepted")], 8);
                let write = Write {
                    file: Arc::new(files::of_system(file.try_clone().unwrap())),
                    buffer,
                    place: 0,
                };
                let written = write.finish(-code);
                if is_awaited {
                    let Ok(Finished::Done(result, buffer)) = written.finish() else {
                        panic!("there is no pool");
                    };
                    result.unwrap();
                    assert!(buffer.is_empty());
                } else {
                    drop(written);
                }
                let mut text = String::new();
                (&file).rewind().unwrap();
                (&file).read_to_string(&mut text).unwrap();
                assert_eq!(text, "accepted", "{code} {is_awaited}");
            }
        }
    }
}
