//! Sends and loans that do not wait as usual.

#[cfg(unix)]
use std::future::Future;
#[cfg(unix)]
use std::io;
use std::time::{Duration, Instant};

#[cfg(unix)]
use blitz_io_observe::Caller;

use crate::api::error::SendError;
use crate::api::fingerprint::Fingerprint;
use crate::api::loan::Loan;
use crate::api::sender::Sender;
use crate::kernel::wait::Wait;

/// How long a sender waits for room: for [`Sender::with`]. By default without a limit.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct SendOptions {
    wait: Wait,
    #[cfg(unix)]
    arms: bool,
}

impl SendOptions {
    /// Returns the options of [`Sender::send`]: it waits until there is room.
    pub const fn new() -> Self {
        Self {
            wait: Wait::Forever,
            #[cfg(unix)]
            arms: false,
        }
    }

    /// Does not wait: [`SendError::Full`] if there is no room.
    pub const fn no_wait(self) -> Self {
        Self {
            wait: Wait::No,
            ..Self::new()
        }
    }

    /// Waits no longer than `timeout` from now on: [`SendError::TimedOut`] after that.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self {
            wait: Wait::after(timeout),
            ..Self::new()
        }
    }

    /// Waits no longer than until `deadline`: [`SendError::TimedOut`] after that.
    pub const fn deadline(self, deadline: Instant) -> Self {
        Self {
            wait: Wait::Until(deadline),
            ..Self::new()
        }
    }

    /// Does not wait, and makes the [`doorbell`](Sender::doorbell) become readable when the caller
    /// should try again: after [`SendError::Full`] it waits for the doorbell. That may become readable
    /// for no reason. [`SendError::Io`] if there can be no doorbell.
    #[cfg(unix)]
    pub const fn arm(self) -> Self {
        Self {
            wait: Wait::No,
            arms: true,
        }
    }
}

impl Default for SendOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A sender with options, for one message. Made by [`Sender::with`].
#[derive(Debug)]
#[must_use]
pub struct SendWith<'a> {
    sender: &'a mut Sender,
    options: SendOptions,
}

impl<'a> SendWith<'a> {
    pub(crate) fn new(sender: &'a mut Sender, options: SendOptions) -> Self {
        Self { sender, options }
    }

    /// Sends a copy of `message`.
    ///
    /// # Errors
    ///
    /// As [`Sender::send`], and those of the [options](SendOptions).
    #[track_caller]
    pub fn send(self, message: &[u8]) -> Result<(), SendError> {
        let ring = &mut self.sender.ring;
        #[cfg(unix)]
        if self.options.arms {
            let position = ring.claim_or_arm(message.len())?;
            return ring.write_and_publish(position, message, Fingerprint::UNKNOWN);
        }
        ring.send(message, Fingerprint::UNKNOWN, self.options.wait)
    }

    /// Claims the place of the next message, as [`Sender::loan`] does.
    ///
    /// # Errors
    ///
    /// As [`Sender::send`], and those of the [options](SendOptions).
    #[track_caller]
    pub fn loan(self, len: usize) -> Result<Loan<'a>, SendError> {
        #[cfg(unix)]
        if self.options.arms {
            let ring = &mut self.sender.ring;
            let position = ring.claim_or_arm(len)?;
            return Ok(Loan::new(ring, position, len));
        }
        self.sender.lend(len, self.options.wait)
    }

    /// Sends a copy of `message` when there is room; `readable` waits for the
    /// [`doorbell`](Sender::doorbell), as for [`Receiver::recv_when`](crate::Receiver::recv_when). The
    /// caller limits the time: it drops the future.
    ///
    /// # Errors
    ///
    /// As [`Sender::send`], and [`SendError::Io`] if `readable` fails.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has sent nothing.
    #[cfg(unix)]
    #[track_caller]
    pub fn send_when<F, R>(
        self,
        message: &[u8],
        readable: F,
    ) -> impl Future<Output = Result<(), SendError>>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        let caller = Caller::here();
        let ring = &mut self.sender.ring;
        async move {
            let position = ring.claim_when(message.len(), readable, caller).await?;
            ring.write_and_publish(position, message, Fingerprint::UNKNOWN)
        }
    }

    /// Claims the place of the next message, as [`Sender::loan`] does, when there is room; `readable`
    /// waits as for [`send_when`](Self::send_when).
    ///
    /// # Errors
    ///
    /// As [`send_when`](Self::send_when).
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has claimed no place.
    #[cfg(unix)]
    #[track_caller]
    pub fn loan_when<F, R>(
        self,
        len: usize,
        readable: F,
    ) -> impl Future<Output = Result<Loan<'a>, SendError>>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        let caller = Caller::here();
        let ring = &mut self.sender.ring;
        async move {
            let position = ring.claim_when(len, readable, caller).await?;
            Ok(Loan::new(ring, position, len))
        }
    }
}
