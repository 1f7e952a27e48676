//! Waiting for something other than a message: the loop of listeners, semaphores and
//! barriers, for threads and for tasks.
//!
//! `attempt` checks the awaited condition. The loop calls it again after the announcement,
//! and after each look for dead participants, since their death may fulfil the condition.

#[cfg(unix)]
use std::io;
use std::time::Instant;

#[cfg(unix)]
use blitz_io_sync::internals::coop::cooperative;
use blitz_io_sync::internals::{EventSpin, deadline};

use crate::endpoint::Endpoint;
use crate::error::WaitError;
use crate::event_count::SLEEPER;
#[cfg(unix)]
use crate::ring::Awaited;
use crate::ring::Corrupt;

/// The result of an attempt; `None` means not yet.
pub(crate) type Attempt<R> = Result<Option<R>, WaitError>;

impl Endpoint {
    /// Returns an error if this end cannot be used at all.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), WaitError> {
        if self.is_forked() {
            return Err(WaitError::Forked);
        }
        if self.corrupt {
            Err(WaitError::Corrupt)
        } else {
            Ok(())
        }
    }

    /// Notes that the segment was overwritten.
    pub(crate) fn checked<R>(&mut self, result: Result<R, Corrupt>) -> Result<R, WaitError> {
        result.map_err(|Corrupt| {
            self.corrupt = true;
            WaitError::Corrupt
        })
    }

    /// Blocks until `attempt` has a result.
    #[inline]
    pub(crate) fn wait<R>(
        &mut self,
        until: Option<Instant>,
        mut attempt: impl FnMut(&mut Self) -> Attempt<R>,
    ) -> Result<R, WaitError> {
        self.check()?;
        match attempt(self)? {
            Some(result) => Ok(result),
            None => self.wait_slowly(until, attempt),
        }
    }

    #[cold]
    fn wait_slowly<R>(
        &mut self,
        until: Option<Instant>,
        mut attempt: impl FnMut(&mut Self) -> Attempt<R>,
    ) -> Result<R, WaitError> {
        let mut spin = EventSpin::new();
        loop {
            if let Some(result) = attempt(self)? {
                return Ok(result);
            }
            if self.patience.turn(&mut spin) {
                continue;
            }
            let key = self.segment.ring.published().prepare(SLEEPER);
            if let Some(result) = attempt(self)? {
                return Ok(result);
            }
            if self.look_if_due() {
                continue;
            }
            if deadline::is_past(until) {
                return Err(WaitError::TimedOut);
            }
            self.patience
                .sleep(self.segment.ring.published(), key, until);
        }
    }

    /// Waits until `attempt` has a result; `readable` waits for the doorbell.
    #[cfg(unix)]
    pub(crate) async fn wait_when<T, F, R>(
        &mut self,
        attempt: &mut impl FnMut(&mut Self) -> Attempt<T>,
        readable: &mut F,
    ) -> Result<T, WaitError>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        cooperative(self.attempt_when(attempt, readable)).await
    }

    #[cfg(unix)]
    async fn attempt_when<T, F, R>(
        &mut self,
        attempt: &mut impl FnMut(&mut Self) -> Attempt<T>,
        readable: &mut F,
    ) -> Result<T, WaitError>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        self.check()?;
        loop {
            if let Some(result) = attempt(self)? {
                return Ok(result);
            }
            self.look_if_due();
            let armed = self.arm(Awaited::Published);
            armed.map_err(|error| WaitError::Io(error.into()))?;
            if let Some(result) = attempt(self)? {
                return Ok(result);
            }
            let woken = readable().await;
            woken.map_err(|error| WaitError::Io(error.into()))?;
        }
    }

    /// Waits until `attempt` has a result, in the runtime of blitz-io.
    #[cfg(all(feature = "async", unix))]
    pub(crate) async fn wait_async<T>(
        &mut self,
        attempt: impl FnMut(&mut Self) -> Attempt<T>,
    ) -> Result<T, WaitError> {
        cooperative(self.wait_registered(attempt)).await
    }

    #[cfg(all(feature = "async", unix))]
    async fn wait_registered<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Attempt<T>,
    ) -> Result<T, WaitError> {
        self.check()?;
        if let Some(result) = attempt(self)? {
            return Ok(result);
        }
        let registered = self.registered();
        let doorbell = registered.map_err(|error| WaitError::Io(error.into()))?;
        let mut readable = || crate::doorbell::rung(&doorbell);
        let result = self.attempt_when(&mut attempt, &mut readable).await;
        if matches!(result, Err(WaitError::Io(_))) {
            self.doorbell.deregister();
        }
        result
    }
}
