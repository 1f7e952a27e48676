//! A file's own writes, through the ring of the worker's driver.
//!
//! # Which files
//!
//! Regular ones that [`OpenOptions`](super::OpenOptions) has opened, not for appending, and
//! that were neither cloned nor asked for their descriptor. The place of such a file is nobody
//! else's. A ring can write at the file's own place, but without the lock by which two writes
//! of the system at the same place come one after the other. So a write in the ring is told its
//! place, and moves that of the file when it is done; between the two nobody sees or moves it.
//!
//! # Which threads
//!
//! The workers of a multi-thread runtime: their drivers are looked at by other threads if they
//! are busy, so the write goes on and the file can be awaited from anywhere.
//!
//! # A write that was accepted is written
//!
//! It is not cancelled with its file. What the kernel has not written, because it has given
//! the write up (see the driver's `ring`) or because it was cut short, is left in the buffer,
//! and a thread of the pool writes it; or, when there is no pool any more, whoever finds that.
//! That is the file, if it is still there, and otherwise whoever lets go of the operation.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use blitz_driver::io_uring::{Entry, Finish, InFlight, Operation, opcode, types};
use blitz_runtime::internals::{own_driver, spawn_mandatory_blocking};
use blitz_runtime::runtime::Handle;
use blitz_runtime::task::JoinHandle;

use super::file::Outcome;
use super::nowait;
use crate::blocking::lost;
use crate::buffer::Buffer;

/// Whether a file's writes may go through the ring: see the head of this file.
#[derive(Default)]
pub(super) struct Access(AtomicBool);

impl Access {
    /// For a file that has just been opened.
    pub(super) fn of_opened(file: &File) -> Self {
        // SAFETY: the descriptor is open.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        let is_written = flags != -1
            && flags & libc::O_ACCMODE != libc::O_RDONLY
            && flags & (libc::O_APPEND | libc::O_PATH) == 0;
        let is_regular = || file.metadata().is_ok_and(|known| known.is_file());
        Self(AtomicBool::new(is_written && is_regular()))
    }

    /// From now on somebody else may have the file's place.
    pub(super) fn revoke(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Starts to write what the buffer holds. The file stands `ahead` bytes ahead of the
    /// caller.
    ///
    /// # Errors
    ///
    /// The buffer and how far the file stands ahead, if the pool has to do it.
    pub(super) fn write(
        &self,
        file: &Arc<File>,
        buffer: Buffer,
        ahead: usize,
    ) -> Result<Writing, (Buffer, usize)> {
        // A file system may copy the bytes on the thread that submits.
        if !self.0.load(Ordering::Relaxed) || buffer.len() > nowait::MOST {
            return Err((buffer, ahead));
        }
        let Some(driver) = own_driver().filter(|driver| driver.has_ring()) else {
            return Err((buffer, ahead));
        };
        // It is at most the size of a buffer.
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

/// A write that is under way.
pub(super) struct Writing(InFlight<Write>);

impl Writing {
    /// Waits until the kernel has let go of it.
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
        let result = match (usize::try_from(result), -result) {
            (Ok(count), _) => {
                self.buffer.advance(count);
                // Its place before was told to the kernel, so this one is none that it refuses.
                (&*self.file).seek(SeekFrom::Start(self.place + count as u64))
            }
            // The kernel has given it up.
            (Err(_), libc::ECANCELED | libc::EINTR) => Ok(self.place),
            (Err(_), code) => {
                self.buffer.discard();
                Err(io::Error::from_raw_os_error(code))
            }
        };
        Written {
            result: result.map(drop),
            rest: Rest(self),
        }
    }
}

// SAFETY: the bytes are on the heap, and nobody uses the buffer meanwhile.
unsafe impl Operation for Write {
    const ENDS_WITH_FUTURE: bool = false;

    fn entry(&mut self) -> Entry {
        let bytes = self.buffer.bytes();
        // They are not more than one call takes.
        let len = bytes.len() as u32;
        opcode::Write::new(types::Fd(self.file.as_raw_fd()), bytes.as_ptr(), len)
            .offset(self.place)
            .build()
    }
}

/// What came of a write.
pub(super) struct Written {
    result: io::Result<()>,
    rest: Rest,
}

/// What comes next.
pub(super) enum Finished {
    /// Nothing.
    Done(io::Result<()>, Buffer),
    /// The rest, on a thread of the pool.
    OnPool(JoinHandle<(Outcome, Buffer)>),
}

impl Written {
    /// Sees to it that the rest is written, if there is one.
    ///
    /// # Errors
    ///
    /// If there is no pool any more, so that nobody knows what has come of the rest.
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
    let job = spawn_mandatory_blocking(move || (Outcome::Write(rest.write()), rest.take()));
    job.map(Finished::OnPool).ok_or_else(lost)
}

/// What is left in the buffer, which is written however it is dropped.
struct Rest(Write);

impl Rest {
    /// Writes it, at the file's place. It blocks.
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
            // Nobody is left to be told.
            _ = self.write();
        }
    }
}
