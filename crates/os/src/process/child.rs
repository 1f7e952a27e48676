//! `Child`: a started process.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::process::{Child as StdChild, ExitStatus, Output};
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncReadExt};
use blitz_io_runtime::runtime::Handle;

use super::{ChildStderr, ChildStdin, ChildStdout, Waiting};

/// A process that [`Command::spawn`](super::Command::spawn) has started.
///
/// A child that is dropped continues to run, unless
/// [`kill_on_drop`](super::Command::kill_on_drop) was set. The runtime waits for it, so
/// that it leaves no zombie; after the runtime's end, starting the next child takes care of
/// that.
#[derive(Debug)]
pub struct Child {
    state: State,
    /// The child's standard input, if it is a pipe.
    pub stdin: Option<ChildStdin>,
    /// The child's standard output, if it is a pipe.
    pub stdout: Option<ChildStdout>,
    /// The child's standard error, if it is a pipe.
    pub stderr: Option<ChildStderr>,
}

#[derive(Debug)]
enum State {
    Running(Running),
    Exited(ExitStatus),
}

#[derive(Debug)]
struct Running {
    waiting: Waiting,
    kill_on_drop: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.kill_on_drop {
            // A process that has exited needs none.
            drop(self.waiting.child().kill());
        }
    }
}

impl Child {
    #[track_caller]
    pub(super) fn new(
        mut child: StdChild,
        kill_on_drop: bool,
        runtime: Handle,
    ) -> io::Result<Self> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let waiting = Waiting::new(child, runtime)?;
        // From here on an error leaves no zombie.
        let state = State::Running(Running {
            waiting,
            kill_on_drop,
        });
        Ok(Self {
            state,
            stdin: stdin.map(ChildStdin::from_std).transpose()?,
            stdout: stdout.map(ChildStdout::from_std).transpose()?,
            stderr: stderr.map(ChildStderr::from_std).transpose()?,
        })
    }

    /// Returns the process ID, or `None` once the process has been waited for, as the
    /// system may then give the ID to another one.
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            State::Running(running) => Some(running.waiting.id()),
            State::Exited(_) => None,
        }
    }

    /// Returns the handle of the process, or `None` once it has been waited for.
    #[cfg(windows)]
    pub fn raw_handle(&self) -> Option<std::os::windows::io::RawHandle> {
        match &self.state {
            State::Running(running) => Some(running.waiting.raw_handle()),
            State::Exited(_) => None,
        }
    }

    /// Kills the process, without waiting for its end.
    ///
    /// It is not an error if the process has exited.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::process::Child::kill`].
    pub fn start_kill(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Running(running) => running.waiting.child().kill(),
            State::Exited(_) => Ok(()),
        }
    }

    /// Kills the process, and waits for its end.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::process::Child::kill`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it has been killed at the first poll.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await?;
        Ok(())
    }

    /// Waits until the process has exited, and returns its status, also when it is called
    /// again.
    ///
    /// It first closes the pipe to the child's standard input, so that the child does not
    /// wait for input while this waits for the child. To keep the pipe open,
    /// [take](Option::take) it out of the field first.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, except that standard input is closed.
    ///
    /// ```
    /// use blitz_io::process::Command;
    ///
    /// # #[blitz_io::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn()?;
    /// assert_eq!(child.wait().await?.code(), Some(3));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        poll_fn(|cx| self.poll_exit(cx)).await
    }

    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let running = match &mut self.state {
            State::Running(running) => running,
            State::Exited(status) => return Poll::Ready(Ok(*status)),
        };
        running
            .waiting
            .poll(cx)
            .map_ok(|status| self.exited(status))
    }

    fn exited(&mut self, status: ExitStatus) -> ExitStatus {
        if let State::Running(running) = &mut self.state {
            running.kill_on_drop = false;
        }
        self.state = State::Exited(status);
        status
    }

    /// Returns the status if the process has exited, without waiting.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let running = match &mut self.state {
            State::Running(running) => running,
            State::Exited(status) => return Ok(Some(*status)),
        };
        let status = running.waiting.child().try_wait()?;
        Ok(status.map(|status| self.exited(status)))
    }

    /// Waits until the process has exited, and returns its status with everything that it
    /// wrote to the pipes of standard output and standard error, if those are pipes.
    ///
    /// It first closes the pipe to the child's standard input.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the child is dropped, and the output read so far is lost.
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (mut out, mut err) = (self.stdout.take(), self.stderr.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let status = {
            let mut out = pin!(read_all(&mut out, &mut stdout));
            let mut err = pin!(read_all(&mut err, &mut stderr));
            let mut exit = pin!(self.wait());
            let (mut out_done, mut err_done, mut status) = (false, false, None);
            poll_fn(|cx| {
                poll_once(&mut out_done, out.as_mut(), cx)?;
                poll_once(&mut err_done, err.as_mut(), cx)?;
                if status.is_none() {
                    if let Poll::Ready(exited) = exit.as_mut().poll(cx)? {
                        status = Some(exited);
                    }
                }
                match status {
                    Some(status) if out_done && err_done => Poll::Ready(io::Result::Ok(status)),
                    _ => Poll::Pending,
                }
            })
            .await?
        };
        Ok(Output {
            status,
            stdout,
            stderr,
        })
    }
}

/// Reads a pipe to its end, if there is one.
async fn read_all<R: AsyncRead + Unpin>(
    pipe: &mut Option<R>,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    if let Some(pipe) = pipe {
        pipe.read_to_end(bytes).await?;
    }
    Ok(())
}

/// Polls a future that has not been ready yet.
fn poll_once(
    done: &mut bool,
    future: Pin<&mut impl Future<Output = io::Result<()>>>,
    cx: &mut Context<'_>,
) -> io::Result<()> {
    if !*done {
        *done = future.poll(cx)?.is_ready();
    }
    Ok(())
}
