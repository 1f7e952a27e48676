//! The forms of sending and receiving that are awaited.

use std::io;

use crate::doorbell::Doorbell;
use crate::endpoint::Awaited;
use crate::error::{RecvError, SendError};
use crate::{Message, Receiver, Sender};

impl Receiver {
    /// Returns the descriptor to wait on, between calls of
    /// [`try_recv_or_arm`](Self::try_recv_or_arm).
    ///
    /// # Errors
    ///
    /// The system's, for example when there are too many descriptors.
    pub fn doorbell(&mut self) -> io::Result<Doorbell> {
        self.endpoint.doorbell.get().cloned()
    }

    /// Receives the next message if there is one; otherwise sees to it that the
    /// [`doorbell`](Self::doorbell) becomes readable when this should be called again.
    ///
    /// # Errors
    ///
    /// [`RecvError::Empty`] if there is no message: wait for the doorbell. It may become
    /// readable for no reason. Else as [`recv`](Self::recv), and [`RecvError::Io`] if there
    /// can be no doorbell.
    pub fn try_recv_or_arm(&mut self) -> Result<Message<'_>, RecvError> {
        self.find_or_arm()?;
        Ok(Message::new(self))
    }

    /// Receives the next message; `readable` waits for the [`doorbell`](Self::doorbell).
    ///
    /// This works in any runtime, as `readable` is its way to wait for a descriptor. When
    /// that way is edge-triggered, `readable` also clears the readiness.
    ///
    /// ```
    /// use async_io::Async; // smol's; Tokio has `AsyncFd`
    /// use blitz_io::ipc::Route;
    ///
    /// # pollster::block_on(async {
    /// let route = Route::builder().anonymous()?;
    /// let (mut sender, mut receiver) = (route.sender()?, route.receiver()?);
    /// let doorbell = Async::new_nonblocking(receiver.doorbell()?)?;
    /// std::thread::spawn(move || sender.send(b"awaited"));
    ///
    /// let message = receiver.recv_when(|| doorbell.readable()).await?;
    /// assert_eq!(*message, *b"awaited");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), and [`RecvError::Io`] if `readable` fails.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has received nothing.
    pub async fn recv_when<F, R>(&mut self, mut readable: F) -> Result<Message<'_>, RecvError>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        loop {
            match self.find_or_arm() {
                Ok(()) => return Ok(Message::new(self)),
                Err(RecvError::Empty) => {}
                Err(error) => return Err(error),
            }
            let woken = readable().await;
            woken.map_err(|error| RecvError::Io(error.kind()))?;
        }
    }

    fn find_or_arm(&mut self) -> Result<(), RecvError> {
        match self.find_or_look() {
            Err(RecvError::Empty) => {}
            other => return other,
        }
        let armed = self.endpoint.arm(Awaited::Published);
        armed.map_err(|error| RecvError::Io(error.kind()))?;
        self.find_or_look()
    }
}

impl Sender {
    /// Returns the descriptor to wait on, between calls of
    /// [`try_send_or_arm`](Self::try_send_or_arm).
    ///
    /// # Errors
    ///
    /// The system's, for example when there are too many descriptors.
    pub fn doorbell(&mut self) -> io::Result<Doorbell> {
        self.endpoint.doorbell.get().cloned()
    }

    /// Sends a copy of `message` if there is room; otherwise sees to it that the
    /// [`doorbell`](Self::doorbell) becomes readable when this should be called again.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if there is no room: wait for the doorbell. It may become
    /// readable for no reason. Else as [`send`](Self::send), and [`SendError::Io`] if there
    /// can be no doorbell.
    pub fn try_send_or_arm(&mut self, message: &[u8]) -> Result<(), SendError> {
        match self.try_send(message) {
            Err(SendError::Full) => {}
            other => return other,
        }
        let armed = self.endpoint.arm(Awaited::Room);
        armed.map_err(|error| SendError::Io(error.kind()))?;
        self.try_send(message)
    }

    /// Sends a copy of `message`, when there is room; `readable` waits for the
    /// [`doorbell`](Self::doorbell), as for [`Receiver::recv_when`].
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and [`SendError::Io`] if `readable` fails.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has sent nothing.
    pub async fn send_when<F, R>(
        &mut self,
        message: &[u8],
        mut readable: F,
    ) -> Result<(), SendError>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        loop {
            match self.try_send_or_arm(message) {
                Err(SendError::Full) if !self.fails_when_full() => {}
                other => return other,
            }
            let woken = readable().await;
            woken.map_err(|error| SendError::Io(error.kind()))?;
        }
    }
}
