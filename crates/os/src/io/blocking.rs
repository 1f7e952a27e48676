//! A blocking stream, used on threads of the pool.
//!
//! The stream and a buffer move to a thread and come back with the result. A write is
//! complete as soon as its bytes are in the buffer; its outcome is reported to the next
//! write or flush, which wait for the thread first. A read also waits first. Its bytes stay
//! in the buffer if the task that requested them has been dropped.

use std::future::Future;
use std::io::{self, IoSlice, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use blitz_io_aio::{AsyncRead, AsyncWrite, ReadBuf};
use blitz_io_observe::About;
use blitz_io_runtime::internals::{SHUTTING_DOWN, spawn_blocking_as, spawn_mandatory_blocking};
use blitz_io_runtime::task::JoinHandle;

use crate::buffer::{Buffer, MAX_BUF_SIZE};

#[derive(Debug)]
pub(crate) struct Blocking<T> {
    state: State<T>,
    /// Tells whether there have been writes since the last flush.
    needs_flush: bool,
    /// The operations on it, for reports of waits.
    what: &'static str,
}

#[derive(Debug)]
enum State<T> {
    Idle(Buffer, T),
    Busy(JoinHandle<(io::Result<()>, Buffer, T)>),
    /// A runtime has ended while it had the stream.
    Lost,
}

impl<T: Send + 'static> Blocking<T> {
    pub(crate) fn new(stream: T, what: &'static str) -> Self {
        Self {
            state: State::Idle(Buffer::default(), stream),
            needs_flush: false,
            what,
        }
    }

    /// Waits for the operation under way, and returns the buffer.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<&mut Buffer>> {
        if let State::Busy(job) = &mut self.state {
            let done = ready!(Pin::new(job).poll(cx));
            self.state = State::Lost;
            let (result, buffer, stream) = done?;
            self.state = State::Idle(buffer, stream);
            result?;
        }
        match &mut self.state {
            State::Idle(buffer, _) => Poll::Ready(Ok(buffer)),
            _ => Poll::Ready(Err(io::Error::other(SHUTTING_DOWN))),
        }
    }

    /// Starts an operation. If it is `mandatory`, it is carried out even if the runtime
    /// ends before.
    fn start(
        &mut self,
        mandatory: bool,
        operation: impl FnOnce(&mut Buffer, &mut T) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let State::Idle(mut buffer, mut stream) = std::mem::replace(&mut self.state, State::Lost)
        else {
            return Err(io::Error::other(SHUTTING_DOWN));
        };
        let run = move || {
            let result = operation(&mut buffer, &mut stream);
            (result, buffer, stream)
        };
        let about = About::operation(self.what);
        let job = if mandatory {
            spawn_mandatory_blocking(about, run)
        } else {
            Some(spawn_blocking_as(about, run))
        };
        self.state = State::Busy(job.ok_or_else(|| io::Error::other(SHUTTING_DOWN))?);
        Ok(())
    }
}

impl<T: Read + Unpin + Send + 'static> AsyncRead for Blocking<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A read under way may have been started by another task: its bytes go to the next
        // caller.
        let was_busy = matches!(self.state, State::Busy(_));
        let buffer = ready!(self.poll_idle(cx))?;
        if was_busy || !buffer.is_empty() || buf.remaining() == 0 {
            buffer.copy_to(buf);
            return Poll::Ready(Ok(()));
        }
        let limit = buf.remaining().min(MAX_BUF_SIZE);
        self.start(false, move |buffer, stream| buffer.read_from(stream, limit))?;
        ready!(self.poll_idle(cx))?.copy_to(buf);
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin + Send + 'static> AsyncWrite for Blocking<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let buffer = ready!(self.poll_idle(cx))?;
        let count = buffer.copy_from(&[IoSlice::new(buf)], MAX_BUF_SIZE);
        if count != 0 {
            self.start(true, |buffer, stream| buffer.write_to(stream))?;
            self.needs_flush = true;
        }
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_idle(cx))?;
        if self.needs_flush {
            self.start(true, |_, stream| stream.flush())?;
            self.needs_flush = false;
            ready!(self.poll_idle(cx))?;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
