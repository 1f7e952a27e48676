//! The awaited forms of sending and receiving: `…_when` in any runtime, and `…_async`,
//! which waits for the descriptor in the runtime of blitz-io.

use std::io;

use blitz_io_sync::internals::coop::cooperative;

use crate::doorbell::Doorbell;
#[cfg(feature = "async")]
use crate::doorbell::rung;
use crate::error::{RecvError, SendError};
use crate::loan::Loan;
use crate::ring::Awaited;
use crate::{Barrier, Listener, Message, Receiver, Semaphore, Sender};

macro_rules! doorbell {
    ($($end:ident)*) => {
        $(
            impl $end {
                /// Returns the descriptor to wait on for the `…_when` form.
                ///
                /// # Errors
                ///
                /// Returns the system's error, for example when there are too many
                /// descriptors.
                pub fn doorbell(&mut self) -> io::Result<Doorbell> {
                    self.endpoint.doorbell().cloned()
                }
            }
        )*
    };
}

doorbell!(Listener Semaphore Barrier);

impl Receiver {
    /// Returns the descriptor to wait on between calls of
    /// [`try_recv_or_arm`](Self::try_recv_or_arm).
    ///
    /// # Errors
    ///
    /// Returns the system's error, for example when there are too many descriptors.
    pub fn doorbell(&mut self) -> io::Result<Doorbell> {
        self.endpoint.doorbell().cloned()
    }

    /// Receives the next message if there is one. Otherwise makes the
    /// [`doorbell`](Self::doorbell) become readable when this should be called again.
    ///
    /// # Errors
    ///
    /// [`RecvError::Empty`] if there is no message: wait for the doorbell. It may become
    /// readable for no reason. Otherwise as [`recv`](Self::recv), and [`RecvError::Io`] if
    /// there can be no doorbell.
    pub fn try_recv_or_arm(&mut self) -> Result<Message<'_>, RecvError> {
        self.find_or_arm()?;
        Ok(Message::new(self))
    }

    /// Receives the next message; `readable` waits for the [`doorbell`](Self::doorbell).
    ///
    /// This works in any runtime, as `readable` is that runtime's way to wait for a
    /// descriptor. If that way is edge-triggered, `readable` must also clear the readiness.
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
        cooperative(self.find_when(&mut readable)).await?;
        Ok(Message::new(self))
    }

    /// Receives the next message, waiting in the runtime of blitz-io without blocking it.
    ///
    /// The first runtime that awaits this receiver also wakes it in all later waits.
    ///
    /// ```
    /// # #[cfg(any(target_os = "linux", target_os = "android"))]
    /// # {
    /// use blitz_io::ipc::Queue;
    ///
    /// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// let jobs = Queue::builder().anonymous()?;
    /// let (mut sender, mut receiver) = (jobs.sender()?, jobs.receiver()?);
    /// let sending = blitz_io::spawn(async move { sender.send_async(b"sweep").await });
    /// assert_eq!(*receiver.recv_async().await?, *b"sweep");
    /// sending.await??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), and [`RecvError::Io`] if the descriptor cannot be made or
    /// registered, or the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in one without I/O, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has received nothing.
    #[cfg(feature = "async")]
    pub async fn recv_async(&mut self) -> Result<Message<'_>, RecvError> {
        cooperative(self.find_async()).await?;
        Ok(Message::new(self))
    }

    /// Receives into `buffer` as [`recv_async`](Self::recv_async) does, and returns the
    /// length.
    ///
    /// # Errors
    ///
    /// As [`recv_into`](Self::recv_into) and [`recv_async`](Self::recv_async).
    ///
    /// # Panics
    ///
    /// Panics as [`recv_async`](Self::recv_async) does.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has received nothing.
    #[cfg(feature = "async")]
    pub async fn recv_into_async(&mut self, buffer: &mut [u8]) -> Result<usize, RecvError> {
        cooperative(self.find_async()).await?;
        self.copy_out(buffer)
    }

    #[cfg(feature = "async")]
    async fn find_async(&mut self) -> Result<(), RecvError> {
        match self.find_or_look() {
            Err(RecvError::Empty) => {}
            other => return other,
        }
        let registered = self.endpoint.registered();
        let doorbell = registered.map_err(|error| RecvError::Io(error.into()))?;
        let found = self.find_when(&mut || rung(&doorbell)).await;
        if matches!(found, Err(RecvError::Io(_))) {
            self.endpoint.doorbell.deregister();
        }
        found
    }

    /// Waits until the receiver holds the next message.
    async fn find_when<F, R>(&mut self, readable: &mut F) -> Result<(), RecvError>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        loop {
            match self.find_or_arm() {
                Err(RecvError::Empty) => {}
                other => return other,
            }
            let woken = readable().await;
            woken.map_err(|error| RecvError::Io(error.into()))?;
        }
    }

    fn find_or_arm(&mut self) -> Result<(), RecvError> {
        loop {
            match self.find_or_look() {
                Err(RecvError::Empty) => {}
                other => return other,
            }
            let awaited = self.awaited();
            let armed = self.endpoint.arm(awaited);
            armed.map_err(|error| RecvError::Io(error.into()))?;
            match self.find_or_look() {
                // The last sender has left, or a new one has joined.
                Err(RecvError::Empty) if self.awaited() != awaited => {}
                other => return other,
            }
        }
    }
}

impl Sender {
    /// Returns the descriptor to wait on between calls of
    /// [`try_send_or_arm`](Self::try_send_or_arm).
    ///
    /// # Errors
    ///
    /// Returns the system's error, for example when there are too many descriptors.
    pub fn doorbell(&mut self) -> io::Result<Doorbell> {
        self.endpoint.doorbell().cloned()
    }

    /// Sends a copy of `message` if there is room. Otherwise makes the
    /// [`doorbell`](Self::doorbell) become readable when this should be called again.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if there is no room: wait for the doorbell. It may become
    /// readable for no reason. Otherwise as [`send`](Self::send), and [`SendError::Io`] if
    /// there can be no doorbell.
    pub fn try_send_or_arm(&mut self, message: &[u8]) -> Result<(), SendError> {
        let position = self.claim_or_arm(message.len())?;
        self.write_and_publish(position, message)
    }

    /// Sends a copy of `message` when there is room; `readable` waits for the
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
        let position = cooperative(self.claim_when(message.len(), &mut readable)).await?;
        self.write_and_publish(position, message)
    }

    /// Claims the place of the next message, as [`loan`](Self::loan) does, when there is
    /// room; `readable` waits for the [`doorbell`](Self::doorbell), as for
    /// [`Receiver::recv_when`].
    ///
    /// # Errors
    ///
    /// As [`send_when`](Self::send_when).
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has claimed no place.
    pub async fn loan_when<F, R>(
        &mut self,
        len: usize,
        mut readable: F,
    ) -> Result<Loan<'_>, SendError>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        let position = cooperative(self.claim_when(len, &mut readable)).await?;
        Ok(self.lend(position, len))
    }

    /// Sends a copy of `message` when there is room, waiting in the runtime of blitz-io
    /// without blocking it. See [`Receiver::recv_async`].
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and [`SendError::Io`] if the descriptor cannot be made or
    /// registered, or the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in one without I/O, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has sent nothing.
    #[cfg(feature = "async")]
    pub async fn send_async(&mut self, message: &[u8]) -> Result<(), SendError> {
        let position = cooperative(self.claim_async(message.len())).await?;
        self.write_and_publish(position, message)
    }

    /// Claims the place of the next message, as [`loan`](Self::loan) does, when there is
    /// room. Waits as [`send_async`](Self::send_async) does.
    ///
    /// # Errors
    ///
    /// As [`send_async`](Self::send_async).
    ///
    /// # Panics
    ///
    /// Panics as [`send_async`](Self::send_async) does.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has claimed no place.
    #[cfg(feature = "async")]
    pub async fn loan_async(&mut self, len: usize) -> Result<Loan<'_>, SendError> {
        let position = cooperative(self.claim_async(len)).await?;
        Ok(self.lend(position, len))
    }

    #[cfg(feature = "async")]
    async fn claim_async(&mut self, len: usize) -> Result<u64, SendError> {
        match self.claim_now(len) {
            Err(SendError::Full) if !self.fails_when_full() => {}
            other => return other,
        }
        let registered = self.endpoint.registered();
        let doorbell = registered.map_err(|error| SendError::Io(error.into()))?;
        let claimed = self.claim_when(len, &mut || rung(&doorbell)).await;
        if matches!(claimed, Err(SendError::Io(_))) {
            self.endpoint.doorbell.deregister();
        }
        claimed
    }

    /// There is no await between the claim and its use, so a future that is dropped has no
    /// claim.
    async fn claim_when<F, R>(&mut self, len: usize, readable: &mut F) -> Result<u64, SendError>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        loop {
            match self.claim_or_arm(len) {
                Err(SendError::Full) if !self.fails_when_full() => {}
                other => return other,
            }
            let woken = readable().await;
            woken.map_err(|error| SendError::Io(error.into()))?;
        }
    }

    fn claim_or_arm(&mut self, len: usize) -> Result<u64, SendError> {
        match self.claim_now(len) {
            Err(SendError::Full) => {}
            other => return other,
        }
        let armed = self.endpoint.arm(Awaited::Room);
        armed.map_err(|error| SendError::Io(error.into()))?;
        self.claim_now(len)
    }
}
