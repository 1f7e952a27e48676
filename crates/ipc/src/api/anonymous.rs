use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::api::builder::Builder;
use crate::api::endpoint::{Endpoint, Role};
use crate::api::error::Error;
use crate::api::segment::{Membership, Segment};
use crate::api::sys::{self, SegmentFile, socket};
use crate::{Receiver, Sender};

/// A segment without a name: only processes that received its descriptor can join.
///
/// The system frees the memory when the last process has closed the segment or has ended,
/// so there is nothing to remove. Its size cannot be changed.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use blitz_io::ipc::{Anonymous, Route};
///
/// let (ours, theirs) = UnixStream::pair()?; // as one gets it from a listener
/// let segment = Route::builder().max_len(64).anonymous()?;
/// segment.send_over(&ours)?;
/// let mut sender = segment.sender()?;
///
/// // In the other process:
/// let mut receiver = Anonymous::receive_from(&theirs)?.receiver()?;
///
/// sender.send(b"nobody else hears this")?;
/// assert_eq!(*receiver.recv()?, *b"nobody else hears this");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Anonymous {
    fd: OwnedFd,
    history: bool,
}

impl Builder {
    /// Makes a segment without a name.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn anonymous(&self) -> Result<Anonymous, Error> {
        sys::supported()?;
        let settings = self.settings();
        settings.layout()?;
        let io = |error| Error::from_io("make", unnamed(), error);
        let file = SegmentFile::anonymous().map_err(io)?;
        // No participant will have its locks in this description.
        let segment = Segment::fill(file, None, None, &settings)?;
        segment.file.seal().map_err(io)?;
        let fd = segment.file.descriptor().try_clone_to_owned();
        Ok(Anonymous {
            fd: fd.map_err(io)?,
            history: self.wants_history(),
        })
    }
}

impl Anonymous {
    /// Sends the descriptor over a connected Unix socket, with one byte of data.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn send_over(&self, socket: &UnixStream) -> Result<(), Error> {
        socket::send(socket.as_fd(), self.fd.as_fd())
            .map_err(|error| Error::from_io("send the descriptor", unnamed(), error))
    }

    /// Receives the segment that [`send_over`](Self::send_over) has sent.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also if there is not exactly one descriptor in the message, and
    /// [`Error::Foreign`] if its size is not sealed. Whether it is that of a segment is
    /// checked when it is joined.
    pub fn receive_from(socket: &UnixStream) -> Result<Self, Error> {
        let fd = socket::receive(socket.as_fd())
            .map_err(|error| Error::from_io("receive the descriptor", unnamed(), error))?;
        check_sealed(fd.as_fd())?;
        Ok(Self::from(fd))
    }

    /// Sets whether receivers of a route or channel begin with the messages that the ring
    /// still holds.
    #[must_use]
    pub fn with_history(mut self, history: bool) -> Self {
        self.history = history;
        self
    }

    /// Joins as a sender.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn sender(&self) -> Result<Sender, Error> {
        self.join(Role::Sender).map(Sender::new)
    }

    /// Joins as a receiver.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn receiver(&self) -> Result<Receiver, Error> {
        let endpoint = self.join(Role::Receiver)?;
        Ok(Receiver::new(endpoint, self.history))
    }

    fn join(&self, role: Role) -> Result<Endpoint, Error> {
        sys::supported()?;
        check_sealed(self.fd.as_fd())?;
        let open = || {
            SegmentFile::reopen(self.fd.as_fd())
                .map_err(|error| Error::from_io("open once more", unnamed(), error))
        };
        // It needs locks of its own: joining may wait for the membership lock.
        let file = open()?;
        let _membership = Membership::wait(&file, crate::api::segment::JOIN_PATIENCE)?;
        let segment = Segment::map_existing(open()?, &open()?, None)?;
        if !segment.settings.kind.has_messages() {
            return Err(Error::Foreign {
                path: unnamed().to_owned(),
                reason: "it has no messages".to_owned(),
            });
        }
        Endpoint::join(segment, role)
    }
}

/// Refuses a descriptor unless it is that of a file of memory with a sealed size. The file
/// must not be opened before this check: opening a device or a pipe has an effect of its
/// own.
fn check_sealed(fd: BorrowedFd<'_>) -> Result<(), Error> {
    if sys::is_sealed(fd) {
        return Ok(());
    }
    Err(Error::Foreign {
        path: unnamed().to_owned(),
        reason: "its size is not sealed".to_owned(),
    })
}

fn unnamed() -> &'static Path {
    Path::new("(anonymous)")
}

impl From<OwnedFd> for Anonymous {
    /// Makes a segment of a descriptor that was received in another way.
    fn from(fd: OwnedFd) -> Self {
        Self { fd, history: false }
    }
}

impl From<Anonymous> for OwnedFd {
    fn from(segment: Anonymous) -> Self {
        segment.fd
    }
}

impl AsFd for Anonymous {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
