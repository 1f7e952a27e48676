//! `File`.
//!
//! At most one operation is under way. It runs on a thread of the pool, which owns the
//! buffer until the operation ends:
//!
//! ```text
//!            read, write, seek, set_len
//!   Idle(buffer) ------------------------> Busy(job)
//!        ^                                    |
//!        +------ the job has ended -----------+
//! ```
//!
//! A small write to a file that is not shared goes through the worker's ring instead of the
//! pool, if there is a ring: see `in_ring.rs`.
//!
//! On Linux a read first takes the bytes that the system has in memory, directly into the
//! caller's buffer: then no operation is under way. A read that has to wait goes to the
//! pool.
//!
//! A caller that finds the file busy waits for the job, takes the buffer back, and handles
//! the job's outcome, whichever task started it:
//!
//! * A read leaves its bytes in the buffer, for the next read. The file's position is
//!   behind them. So a write, a seek and `set_len` first go back by the number of unread
//!   bytes: the position is always that of the caller.
//! * A write was complete for its caller when the bytes were in the buffer. Its error is
//!   reported to the next write, flush or shutdown.
//! * A seek reports to its caller through `poll_complete`, and to no other.

use std::fmt;
use std::fs::{File as StdFile, Metadata, Permissions};
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use blitz_io_aio::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf, foreign_traits};
#[cfg(target_os = "linux")]
use blitz_io_core::coop;
use blitz_io_runtime::task::JoinHandle;
use blitz_io_sync::task::Mutex;

use super::FileTimes;
use super::files;
#[cfg(io_uring)]
use super::in_ring::{self, Access};
#[cfg(target_os = "linux")]
use super::nowait;
use super::outcome::Outcome;
#[cfg(unix)]
use super::sync::Sync as SyncFile;
#[cfg(not(unix))]
use crate::blocking::run_sync;
use crate::blocking::{called, lost, on_file, run, spawn, spawn_mandatory};
use crate::buffer::{Buffer, MAX_BUF_SIZE};

/// An open file.
///
/// It is read and written with the methods of [`AsyncReadExt`](blitz_io_aio::AsyncReadExt),
/// [`AsyncWriteExt`](blitz_io_aio::AsyncWriteExt) and
/// [`AsyncSeekExt`](blitz_io_aio::AsyncSeekExt).
///
/// Each write moves up to [`max_buf_size`](File::max_buf_size) bytes through a buffer to a
/// thread of the pool or, on Linux, to an io_uring. So does each read of data that the
/// system does not have in memory. So few large operations are better than many small ones:
/// see [`BufReader`](blitz_io_aio::BufReader) and [`BufWriter`](blitz_io_aio::BufWriter).
///
/// A write is complete when its bytes are in the buffer. They are written even if the file
/// is dropped at once, or the runtime ends; but only [`flush`] waits for that, and reports
/// whether there was an error. A file is closed when it has been dropped and no operation
/// is under way.
///
/// [`flush`]: blitz_io_aio::AsyncWriteExt::flush
///
/// ```
/// use blitz_io::fs::File;
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
///
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// let mut file = File::create(&path).await?;
/// file.write_all(b"hello, file").await?;
/// file.flush().await?;
///
/// let mut text = String::new();
/// File::open(&path).await?.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello, file");
/// # Ok(())
/// # }
/// ```
pub struct File {
    pub(super) std: Arc<files::File>,
    inner: Mutex<Inner>,
    max_buf_size: usize,
    #[cfg(io_uring)]
    pub(super) access: Access,
}

/// The message of a panic.
const SIMULATED: &str = "the file of a simulated host is none of the system's";

struct Inner {
    state: State,
    /// The error of a write that has not been reported yet.
    write_error: Option<io::ErrorKind>,
    /// The position after the last seek.
    place: u64,
}

enum State {
    Idle(Buffer),
    Busy(JoinHandle<(Outcome, Buffer)>),
    #[cfg(io_uring)]
    InRing(in_ring::Writing),
}

impl File {
    /// Creates a `File` from one of the standard library.
    #[must_use]
    pub fn from_std(std: StdFile) -> File {
        Self::of(files::of_system(std))
    }

    /// Creates a `File` whose position may be shared.
    fn of(std: files::File) -> File {
        File {
            std: Arc::new(std),
            inner: Mutex::new(Inner {
                state: State::Idle(Buffer::default()),
                write_error: None,
                place: 0,
            }),
            max_buf_size: MAX_BUF_SIZE,
            #[cfg(io_uring)]
            access: Access::default(),
        }
    }

    /// Creates a `File` from a file that has just been opened, so that its position is not
    /// shared.
    pub(super) fn opened(std: files::File) -> File {
        #[cfg(io_uring)]
        let access = Access::of_opened(&std);
        File {
            #[cfg(io_uring)]
            access,
            ..Self::of(std)
        }
    }

    /// Returns the file for a use that may share it.
    #[cfg(unix)]
    fn shared(&self) -> &files::File {
        #[cfg(io_uring)]
        self.access.revoke();
        &self.std
    }

    /// Waits until the disk has everything that was written, and the metadata of the file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::sync_all`]. The error of a write is reported
    /// to the next write or flush.
    #[track_caller]
    pub fn sync_all(&self) -> impl Future<Output = io::Result<()>> {
        called(self.sync(false))
    }

    /// Waits until the disk has everything that was written, and as much of the metadata of
    /// the file as is needed to read it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::sync_data`]. The error of a write is reported
    /// to the next write or flush.
    #[track_caller]
    pub fn sync_data(&self) -> impl Future<Output = io::Result<()>> {
        called(self.sync(true))
    }

    /// Truncates the file to `size` bytes, or extends it with zeros. The position stays the
    /// same.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::set_len`].
    #[track_caller]
    pub fn set_len(&self, size: u64) -> impl Future<Output = io::Result<()>> {
        called(self.change_len(size))
    }

    async fn change_len(&self, size: u64) -> io::Result<()> {
        let mut inner = self.inner.lock().await;
        poll_fn(|cx| inner.poll_complete_inflight(cx)).await;
        let (buffer, ahead) = inner.take_buffer();
        let std = self.std.clone();
        let about = on_file("set_len", &std);
        inner.state = State::Busy(spawn(about, move || {
            let result = go_back(&std, ahead).and_then(|()| std.set_len(size));
            (Outcome::SetLen(result), buffer)
        }));
        let outcome = poll_fn(|cx| inner.poll_outcome(cx)).await?;
        let Some(Outcome::SetLen(result)) = outcome else {
            unreachable!("the lock was held all the time");
        };
        result
    }

    /// Returns the metadata of the file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::metadata`].
    pub async fn metadata(&self) -> io::Result<Metadata> {
        #[cfg(target_os = "linux")]
        if let Some(file) = files::as_system(&self.std) {
            if let Some(()) = nowait::proceed(|| nowait::knows(file).then_some(())).await {
                return file.metadata();
            }
        }
        let std = self.std.clone();
        run(on_file("metadata", &std), move || std.metadata()).await
    }

    /// Creates another `File` for the same open file: both share the position.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::try_clone`].
    pub async fn try_clone(&self) -> io::Result<File> {
        #[cfg(io_uring)]
        self.access.revoke();
        let mut file = File::of(self.when_idle("try_clone", files::File::try_clone).await?);
        file.max_buf_size = self.max_buf_size;
        Ok(file)
    }

    /// Returns the file of the standard library once no operation is under way.
    ///
    /// Bytes that were read ahead are lost, and so is the error of a write that has not
    /// been reported: [flush](blitz_io_aio::AsyncWriteExt::flush) first.
    ///
    /// # Panics
    ///
    /// If it is a file of a simulated host.
    pub async fn into_std(mut self) -> StdFile {
        let inner = self.inner.get_mut();
        poll_fn(|cx| inner.poll_complete_inflight(cx)).await;
        // An operation whose future was dropped, such as `metadata`, may still use it.
        let file = Arc::try_unwrap(self.std).unwrap_or_else(|shared| {
            let another = shared.try_clone();
            another.expect("the process has no descriptor left for a file that is in use")
        });
        files::into_system(file).expect(SIMULATED)
    }

    /// Returns the file of the standard library, at once.
    ///
    /// # Errors
    ///
    /// Returns the file itself if an operation is under way, or if it is one of a simulated host.
    #[allow(clippy::result_large_err, reason = "the signature is Tokio's")]
    pub fn try_into_std(mut self) -> Result<StdFile, Self> {
        let shared = match Arc::try_unwrap(self.std).map(files::into_system) {
            Ok(Ok(std)) => return Ok(std),
            Ok(Err(simulated)) => Arc::new(simulated),
            Err(shared) => shared,
        };
        self.std = shared;
        Err(self)
    }

    /// Changes the permissions of the file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::set_permissions`].
    pub async fn set_permissions(&self, perm: Permissions) -> io::Result<()> {
        let std = self.std.clone();
        let about = on_file("set_permissions", &std);
        run(about, move || std.set_permissions(perm)).await
    }

    /// Changes the times of the file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::set_times`].
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        self.when_idle("set_times", move |std| files::set_times(std, &times))
            .await
    }

    /// Changes the time of the last modification of the file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::fs::File::set_modified`].
    pub async fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Sets how many bytes one operation moves at most; the default is 2 MiB.
    ///
    /// It does not apply to an operation that is under way.
    ///
    /// # Panics
    ///
    /// Panics if it is zero: no operation would make progress.
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        self.max_buf_size = max_buf_size;
    }

    /// Returns how many bytes one operation moves at most.
    pub fn max_buf_size(&self) -> usize {
        self.max_buf_size
    }

    #[cfg(unix)]
    async fn sync(&self, only_data: bool) -> io::Result<()> {
        let mut inner = self.inner.lock().await;
        poll_fn(|cx| inner.poll_complete_inflight(cx)).await;
        crate::operation::run(SyncFile {
            file: self.std.clone(),
            only_data,
        })
        .await
    }

    #[cfg(not(unix))]
    async fn sync(&self, only_data: bool) -> io::Result<()> {
        let mut inner = self.inner.lock().await;
        poll_fn(|cx| inner.poll_complete_inflight(cx)).await;
        let std = self.std.clone();
        run_sync(on_file("sync", &std), move || {
            if only_data {
                std.sync_data()
            } else {
                std.sync_all()
            }
        })
        .await
    }

    /// Runs a function once no operation is under way.
    async fn when_idle<T: Send + 'static>(
        &self,
        what: &'static str,
        operation: impl FnOnce(&files::File) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let mut inner = self.inner.lock().await;
        poll_fn(|cx| inner.poll_complete_inflight(cx)).await;
        let std = self.std.clone();
        run(on_file(what, &std), move || operation(&std)).await
    }
}

impl Inner {
    /// Waits for the operation under way, and returns its outcome, or `None` if there was
    /// none.
    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Outcome>>> {
        #[cfg(io_uring)]
        if let State::InRing(writing) = &mut self.state {
            let written = ready!(writing.poll(cx));
            self.state = State::Idle(Buffer::default());
            match written.finish()? {
                in_ring::Finished::Done(result, buffer) => {
                    self.state = State::Idle(buffer);
                    return Poll::Ready(Ok(Some(Outcome::Write(result))));
                }
                in_ring::Finished::OnPool(job) => self.state = State::Busy(job),
            }
        }
        let State::Busy(job) = &mut self.state else {
            return Poll::Ready(Ok(None));
        };
        let done = ready!(Pin::new(job).poll(cx));
        // A buffer that is lost with its job is replaced.
        self.state = State::Idle(Buffer::default());
        let (outcome, buffer) = done?;
        self.state = State::Idle(buffer);
        Poll::Ready(Ok(Some(outcome)))
    }

    /// Waits for the operation under way, and returns the error of a write, once.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = ready!(self.poll_outcome(cx));
        // No write begins before this error has been reported, so the outcome has no other.
        if let Some(kind) = self.write_error.take() {
            return Poll::Ready(Err(kind.into()));
        }
        match outcome? {
            Some(Outcome::Write(result)) => Poll::Ready(result),
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Waits for the operation under way, and keeps its error for the next write.
    fn poll_complete_inflight(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Err(error) = ready!(self.poll_flush(cx)) {
            self.write_error = Some(error.kind());
        }
        Poll::Ready(())
    }

    /// Takes the buffer for an operation, empty, and returns how far the file is ahead of
    /// the caller.
    fn take_buffer(&mut self) -> (Buffer, usize) {
        let State::Idle(buffer) = &mut self.state else {
            unreachable!("an operation is under way");
        };
        let mut buffer = mem::take(buffer);
        let ahead = buffer.discard();
        (buffer, ahead)
    }
}

/// Moves the position back by the number of bytes read ahead.
fn go_back(mut file: &files::File, ahead: usize) -> io::Result<()> {
    if ahead == 0 {
        return Ok(());
    }
    // `ahead` is at most the size of a buffer.
    file.seek(SeekFrom::Current(-(ahead as i64))).map(drop)
}

/// Reads the bytes that the system has in memory. Returns whether it succeeded.
#[cfg(target_os = "linux")]
fn read_now(std: &files::File, buf: &mut ReadBuf<'_>, limit: usize) -> bool {
    let Some(std) = files::as_system(std) else {
        return false;
    };
    let len = buf.remaining().min(limit);
    // SAFETY: only bytes of the file are written to it.
    let to = unsafe { buf.unfilled_mut() }.as_mut_ptr();
    // SAFETY: `len` bytes of the buffer are unfilled.
    match unsafe { nowait::read(std, to.cast(), len, None) } {
        Some(count) => {
            // SAFETY: the system has written them.
            unsafe { buf.assume_init(count) };
            buf.advance(count);
            true
        }
        None => false,
    }
}

impl AsyncRead for File {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let inner = this.inner.get_mut();
        loop {
            if let State::Idle(buffer) = &mut inner.state {
                if !buffer.is_empty() || buf.remaining() == 0 {
                    buffer.copy_to(buf);
                    return Poll::Ready(Ok(()));
                }
                #[cfg(target_os = "linux")]
                {
                    let coop = ready!(coop::poll_proceed(cx));
                    if read_now(&this.std, buf, this.max_buf_size) {
                        coop.made_progress();
                        return Poll::Ready(Ok(()));
                    }
                }
                let (mut buffer, _) = inner.take_buffer();
                let std = this.std.clone();
                let limit = buf.remaining().min(this.max_buf_size);
                let about = on_file("read", &std);
                inner.state = State::Busy(spawn(about, move || {
                    let result = buffer.read_from(&mut &*std, limit);
                    (Outcome::Read(result), buffer)
                }));
            }
            match ready!(inner.poll_outcome(cx))? {
                Some(Outcome::Read(result)) => {
                    result?;
                    if let State::Idle(buffer) = &mut inner.state {
                        buffer.copy_to(buf);
                    }
                    return Poll::Ready(Ok(()));
                }
                Some(Outcome::Write(Err(error))) => inner.write_error = Some(error.kind()),
                Some(Outcome::Seek(Ok(place))) => inner.place = place,
                _ => {}
            }
        }
    }
}

impl AsyncWrite for File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.get_mut().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let inner = this.inner.get_mut();
        // The previous write must have completed without an error.
        ready!(inner.poll_flush(cx))?;
        if bufs.iter().all(|buf| buf.is_empty()) {
            return Poll::Ready(Ok(0));
        }
        let (mut buffer, ahead) = inner.take_buffer();
        let count = buffer.copy_from(bufs, this.max_buf_size);
        #[cfg(io_uring)]
        let (mut buffer, ahead) = match this.access.write(&this.std, buffer, ahead) {
            Ok(writing) => {
                inner.state = State::InRing(writing);
                return Poll::Ready(Ok(count));
            }
            Err(given_back) => given_back,
        };
        let std = this.std.clone();
        let job = spawn_mandatory(on_file("write", &std), move || {
            let result = go_back(&std, ahead).and_then(|()| buffer.write_to(&mut &*std));
            (Outcome::Write(result), buffer)
        });
        inner.state = State::Busy(job.ok_or_else(lost)?);
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl AsyncSeek for File {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        let this = self.get_mut();
        let inner = this.inner.get_mut();
        if !matches!(inner.state, State::Idle(_)) {
            return Err(io::Error::other(
                "other file operation is pending, call poll_complete before start_seek",
            ));
        }
        let (buffer, ahead) = inner.take_buffer();
        // Only to find a file's end may a file system have to wait.
        if !matches!(position, SeekFrom::End(_)) {
            inner.state = State::Idle(buffer);
            go_back(&this.std, ahead)?;
            inner.place = (&*this.std).seek(position)?;
            return Ok(());
        }
        let std = this.std.clone();
        let about = on_file("seek", &std);
        inner.state = State::Busy(spawn(about, move || {
            let result = go_back(&std, ahead).and_then(|()| (&*std).seek(position));
            (Outcome::Seek(result), buffer)
        }));
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let inner = self.inner.get_mut();
        match ready!(inner.poll_outcome(cx))? {
            Some(Outcome::Seek(result)) => {
                inner.place = result?;
            }
            Some(Outcome::Write(Err(error))) => inner.write_error = Some(error.kind()),
            _ => {}
        }
        Poll::Ready(Ok(inner.place))
    }
}

foreign_traits!([] File: read, write, seek);

impl From<StdFile> for File {
    fn from(std: StdFile) -> Self {
        Self::from_std(std)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("std", &self.std).finish()
    }
}

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

    use super::{File, StdFile};

    impl From<OwnedFd> for File {
        fn from(fd: OwnedFd) -> Self {
            Self::from_std(fd.into())
        }
    }

    impl AsRawFd for File {
        fn as_raw_fd(&self) -> RawFd {
            self.shared().as_raw_fd()
        }
    }

    impl AsFd for File {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.shared().as_fd()
        }
    }

    impl FromRawFd for File {
        unsafe fn from_raw_fd(fd: RawFd) -> Self {
            // SAFETY: the caller guarantees that the descriptor is open, and gives up its
            // ownership.
            Self::from_std(unsafe { StdFile::from_raw_fd(fd) })
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::io::{
        AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle, RawHandle,
    };

    use super::{File, StdFile};

    impl From<OwnedHandle> for File {
        fn from(handle: OwnedHandle) -> Self {
            Self::from_std(handle.into())
        }
    }

    impl AsRawHandle for File {
        fn as_raw_handle(&self) -> RawHandle {
            self.std.as_raw_handle()
        }
    }

    impl AsHandle for File {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            self.std.as_handle()
        }
    }

    impl FromRawHandle for File {
        unsafe fn from_raw_handle(handle: RawHandle) -> Self {
            // SAFETY: the caller guarantees that the handle is open, and gives up its
            // ownership.
            Self::from_std(unsafe { StdFile::from_raw_handle(handle) })
        }
    }
}
