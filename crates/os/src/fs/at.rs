//! Reads and writes at a position of a file, with buffers that the operation owns while it
//! runs.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use blitz_io_aio::{BufResult, IoBuf, IoBufMut};
#[cfg(io_uring)]
use blitz_io_driver::io_uring::{self, Entry, Finish, opcode, to_result, types};
use blitz_io_observe::About;
#[cfg(io_uring)]
use blitz_io_observe::{Descriptor, Kind};

use super::File;
use super::files;
#[cfg(target_os = "linux")]
use super::nowait;
use crate::blocking::{called, on_file};
#[cfg(io_uring)]
use crate::operation::on_pool;
use crate::operation::{Blocking, Operation, run};

/// The largest number of bytes that one system call moves.
const MOST: usize = 0x7fff_f000;

impl File {
    /// Reads at a position of the file into a buffer, which the operation owns while it
    /// runs and returns with the number of bytes read: 0 at the end of the file. Neither
    /// uses nor moves the file's own position.
    ///
    /// The bytes are read to the beginning of the buffer, at most as many as it has
    /// [room](IoBuf::bytes_total) for. Bytes that the system has in memory are read at
    /// once. For the rest, the kernel reads without a waiting thread (io_uring) where it
    /// can, and a thread of the pool reads elsewhere.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`FileExt::read_at`](std::os::unix::fs::FileExt::read_at).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, its buffer is lost.
    ///
    /// ```
    /// use blitz_io::fs::File;
    ///
    /// # #[blitz_io::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// # std::fs::write(&path, "hello, file")?;
    /// let file = File::open(&path).await?;
    /// let (result, buf) = file.read_at(Vec::with_capacity(100), 7).await;
    /// assert_eq!((result?, buf.as_slice()), (4, b"file".as_slice()));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn read_at<B: IoBufMut>(
        &self,
        buf: B,
        offset: u64,
    ) -> impl Future<Output = BufResult<usize, B>> {
        called(self.read_there(buf, offset))
    }

    async fn read_there<B: IoBufMut>(&self, buf: B, offset: u64) -> BufResult<usize, B> {
        if let Err(error) = place(offset) {
            return (Err(error), buf);
        }
        let mut operation = ReadAt {
            file: self.std.clone(),
            buf,
            offset,
        };
        #[cfg(target_os = "linux")]
        if let Some(count) = nowait::proceed(|| operation.read_now()).await {
            return (Ok(count), operation.buf);
        }
        // Systems other than Linux have no such attempt.
        _ = &mut operation;
        self.run_at(operation).await
    }

    /// Writes the contents of a buffer at a position of the file. The operation owns the
    /// buffer while it runs, and returns it with the number of bytes written. Neither uses
    /// nor moves the file's own position.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`FileExt::write_at`](std::os::unix::fs::FileExt::write_at).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the bytes may be written or not, and the buffer is lost.
    ///
    /// ```
    /// use blitz_io::fs::File;
    ///
    /// # #[blitz_io::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let file = File::create(&path).await?;
    /// let (result, buf) = file.write_at(String::from("file"), 7).await;
    /// assert_eq!((result?, buf.as_str()), (4, "file"));
    /// assert_eq!(file.metadata().await?.len(), 11);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn write_at<B: IoBuf>(
        &self,
        buf: B,
        offset: u64,
    ) -> impl Future<Output = BufResult<usize, B>> {
        called(self.write_there(buf, offset))
    }

    async fn write_there<B: IoBuf>(&self, buf: B, offset: u64) -> BufResult<usize, B> {
        if let Err(error) = place(offset) {
            return (Err(error), buf);
        }
        let file = self.std.clone();
        self.run_at(WriteAt { file, buf, offset }).await
    }

    /// Carries out an operation at a position.
    async fn run_at<O: Operation>(&self, operation: O) -> <O as Blocking>::Output {
        #[cfg(io_uring)]
        if !self.access.has_positions(&self.std) {
            return on_pool(operation).await;
        }
        run(operation).await
    }
}

struct ReadAt<B> {
    file: Arc<files::File>,
    buf: B,
    offset: u64,
}

impl<B: IoBufMut> ReadAt<B> {
    fn len(&self) -> usize {
        self.buf.bytes_total().min(MOST)
    }

    #[cfg(target_os = "linux")]
    fn read_now(&mut self) -> Option<usize> {
        let file = files::as_system(&self.file)?;
        let (to, len) = (self.buf.stable_mut_ptr(), self.len());
        // SAFETY: the buffer has room for `len` bytes.
        let count = unsafe { nowait::read(file, to, len, Some(self.offset)) }?;
        // SAFETY: the system has written them.
        unsafe { self.buf.set_init(count) };
        Some(count)
    }
}

impl<B: IoBufMut> Blocking for ReadAt<B> {
    type Output = BufResult<usize, B>;

    fn about(&self) -> About {
        on_file("read_at", &self.file)
    }

    fn block(mut self) -> Self::Output {
        let (to, len) = (self.buf.stable_mut_ptr(), self.len());
        // SAFETY: the buffer has room for `len` bytes.
        let simulated = unsafe { files::read_at(&self.file, to, len, self.offset) };
        let result = simulated.unwrap_or_else(|| {
            repeat(self.offset, |offset| {
                // SAFETY: the buffer has room for `len` bytes.
                unsafe { libc::pread(self.file.as_raw_fd(), to.cast(), len, offset) }
            })
        });
        if let Ok(count) = result {
            // SAFETY: the system has written them.
            unsafe { self.buf.set_init(count) };
        }
        (result, self.buf)
    }

    fn fail(self, error: io::Error) -> Self::Output {
        (Err(error), self.buf)
    }
}

#[cfg(io_uring)]
impl<B: IoBufMut> Finish for ReadAt<B> {
    type Output = BufResult<usize, B>;

    fn finish(mut self, result: i32) -> Self::Output {
        let result = to_result(result);
        if let Ok(count) = result {
            // SAFETY: the kernel has written them.
            unsafe { self.buf.set_init(count) };
        }
        (result, self.buf)
    }
}

#[cfg(io_uring)]
// SAFETY: the buffer's bytes do not move.
unsafe impl<B: IoBufMut> io_uring::Operation for ReadAt<B> {
    fn entry(&mut self) -> Entry {
        let (to, len) = (self.buf.stable_mut_ptr(), self.len() as u32);
        opcode::Read::new(types::Fd(self.file.as_raw_fd()), to, len)
            .offset(self.offset)
            .build()
    }

    fn target(&self) -> (Kind, Descriptor) {
        (Kind::FileRead, Descriptor::new(self.file.as_raw_fd()))
    }
}

struct WriteAt<B> {
    file: Arc<files::File>,
    buf: B,
    offset: u64,
}

impl<B: IoBuf> Blocking for WriteAt<B> {
    type Output = BufResult<usize, B>;

    fn about(&self) -> About {
        on_file("write_at", &self.file)
    }

    fn block(self) -> Self::Output {
        let (from, len) = (self.buf.stable_ptr(), self.buf.bytes_init().min(MOST));
        // SAFETY: `len` bytes of the buffer are initialised.
        let simulated = unsafe { files::write_at(&self.file, from, len, self.offset) };
        let result = simulated.unwrap_or_else(|| {
            repeat(self.offset, |offset| {
                // SAFETY: `len` bytes of the buffer are initialised.
                unsafe { libc::pwrite(self.file.as_raw_fd(), from.cast(), len, offset) }
            })
        });
        (result, self.buf)
    }

    fn fail(self, error: io::Error) -> Self::Output {
        (Err(error), self.buf)
    }
}

#[cfg(io_uring)]
impl<B: IoBuf> Finish for WriteAt<B> {
    type Output = BufResult<usize, B>;

    fn finish(self, result: i32) -> Self::Output {
        (to_result(result), self.buf)
    }
}

#[cfg(io_uring)]
// SAFETY: the buffer's bytes do not move.
unsafe impl<B: IoBuf> io_uring::Operation for WriteAt<B> {
    fn entry(&mut self) -> Entry {
        let len = self.buf.bytes_init().min(MOST) as u32;
        opcode::Write::new(types::Fd(self.file.as_raw_fd()), self.buf.stable_ptr(), len)
            .offset(self.offset)
            .build()
    }

    fn target(&self) -> (Kind, Descriptor) {
        (Kind::FileWrite, Descriptor::new(self.file.as_raw_fd()))
    }
}

/// Converts a position to the system's type. The kernel would take values that do not fit
/// as the file's own position.
fn place(offset: u64) -> io::Result<libc::off_t> {
    libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Repeats a system call until it is not interrupted by a signal.
fn repeat(offset: u64, mut call: impl FnMut(libc::off_t) -> isize) -> io::Result<usize> {
    let offset = place(offset)?;
    loop {
        if let Ok(count) = usize::try_from(call(offset)) {
            return Ok(count);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
