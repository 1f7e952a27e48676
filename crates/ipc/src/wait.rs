//! Waiting: one loop for threads and one future for tasks, for the operations of all ends.
//!
//! An operation is a [`Waiter`]. A thread waits for it in five steps:
//!
//! 1. *Attempt* the operation, and spin for a while with further attempts.
//! 2. *Announce* the waiter on the event count of the event that it awaits.
//! 3. *Look* for dead participants, if it is time to. Their death may fulfil the condition,
//!    so begin again at 1 after a look.
//! 4. *Settle:* attempt the operation again, and find out which event to await. If that is
//!    not the event of step 2, begin again at 1.
//! 5. *Sleep* until a notification, until the deadline, or until it is time for a look.
//!
//! A task looks and settles first, arms its doorbell instead of step 2, settles again, and
//! awaits the doorbell instead of step 5. Its doorbell has a timer for the looks.
//!
//! **No wake-up is lost**, as in `event_count.rs` and `doorbell.rs`: step 4 is the second
//! look at the condition, and comes after the announcement for the same event.

#[cfg(unix)]
use std::io;
use std::time::{Duration, Instant};

#[cfg(unix)]
use blitz_io_sync::internals::coop::cooperative;
use blitz_io_sync::internals::{EventSpin, deadline};

use crate::endpoint::Endpoint;
use crate::error::Failure;
use crate::event_count::SLEEPER;
use crate::ring::{Awaited, Corrupt};

/// How an operation waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// No longer than until this time.
    Until(Instant),
    /// Without a deadline.
    Forever,
}

impl Wait {
    /// Waits no longer than `timeout`.
    pub(crate) fn after(timeout: Duration) -> Self {
        deadline::after(timeout).map_or(Self::Forever, Self::Until)
    }
}

/// The state of an operation after [`Waiter::settle`].
pub(crate) enum Settled<T> {
    Done(T),
    /// It has to wait for this event.
    Waits(Awaited),
}

/// An operation of an end that may have to wait.
pub(crate) trait Waiter {
    type Output;
    type Error: Failure;

    /// The event that it awaits at first.
    const AWAITS: Awaited;

    fn endpoint(&mut self) -> &mut Endpoint;

    /// Attempts the operation. Returns `None` if it has to wait.
    fn attempt(&mut self) -> Result<Option<Self::Output>, Self::Error>;

    /// Attempts the operation, and checks what is too slow to check at each attempt: whether
    /// a wait would be in vain, and for which event to wait.
    fn settle(&mut self) -> Result<Settled<Self::Output>, Self::Error> {
        Ok(match self.attempt()? {
            Some(output) => Settled::Done(output),
            None => Settled::Waits(Self::AWAITS),
        })
    }

    /// Called after a look for dead participants.
    fn looked(&mut self) {}
}

impl Endpoint {
    /// Returns an error if this end cannot be used at all.
    #[inline]
    pub(crate) fn check<E: Failure>(&self) -> Result<(), E> {
        if self.is_forked() {
            return Err(E::FORKED);
        }
        if self.corrupt {
            Err(E::CORRUPT)
        } else {
            Ok(())
        }
    }

    /// Notes that the segment was overwritten.
    #[inline]
    pub(crate) fn checked<R, E: Failure>(&mut self, result: Result<R, Corrupt>) -> Result<R, E> {
        result.map_err(|Corrupt| self.found_corrupt())
    }

    #[cold]
    pub(crate) fn found_corrupt<E: Failure>(&mut self) -> E {
        self.corrupt = true;
        E::CORRUPT
    }
}

/// Does the operation, blocking the thread as `wait` says.
#[inline]
pub(crate) fn block<W: Waiter>(waiter: &mut W, wait: Wait) -> Result<W::Output, W::Error> {
    waiter.endpoint().check::<W::Error>()?;
    match waiter.attempt()? {
        Some(output) => Ok(output),
        None => block_slowly(waiter, wait),
    }
}

#[cold]
fn block_slowly<W: Waiter>(waiter: &mut W, wait: Wait) -> Result<W::Output, W::Error> {
    let until = match wait {
        Wait::No => return attempt_once_more(waiter),
        Wait::Until(deadline) => Some(deadline),
        Wait::Forever => None,
    };
    let mut spin = EventSpin::new();
    let mut awaited = W::AWAITS;
    loop {
        if let Some(output) = waiter.attempt()? {
            return Ok(output);
        }
        if waiter.endpoint().policy.spin(&mut spin) {
            continue;
        }
        let key = waiter.endpoint().event_count(awaited).prepare(SLEEPER);
        if waiter.endpoint().look_if_due() {
            waiter.looked();
            continue;
        }
        match waiter.settle()? {
            Settled::Done(output) => return Ok(output),
            Settled::Waits(event) if event == awaited => {}
            Settled::Waits(event) => {
                awaited = event;
                continue;
            }
        }
        if deadline::is_past(until) {
            return Err(W::Error::TIMED_OUT);
        }
        waiter.endpoint().sleep(awaited, key, until);
    }
}

fn attempt_once_more<W: Waiter>(waiter: &mut W) -> Result<W::Output, W::Error> {
    if waiter.endpoint().look_if_polls_are_due() {
        waiter.looked();
    }
    match waiter.settle()? {
        Settled::Done(output) => Ok(output),
        Settled::Waits(_) => Err(W::Error::NOT_NOW),
    }
}

/// Does the operation if it need not wait. Otherwise returns `None`, and the doorbell becomes
/// readable when this should be called again.
#[cfg(unix)]
pub(crate) fn attempt_or_arm<W: Waiter>(waiter: &mut W) -> Result<Option<W::Output>, W::Error> {
    waiter.endpoint().check::<W::Error>()?;
    loop {
        let awaited = match attempt_or_look(waiter)? {
            Settled::Done(output) => return Ok(Some(output)),
            Settled::Waits(event) => event,
        };
        waiter.endpoint().arm(awaited).map_err(W::Error::io)?;
        match waiter.settle()? {
            Settled::Done(output) => return Ok(Some(output)),
            Settled::Waits(event) if event == awaited => return Ok(None),
            Settled::Waits(_) => {}
        }
    }
}

#[cfg(unix)]
fn attempt_or_look<W: Waiter>(waiter: &mut W) -> Result<Settled<W::Output>, W::Error> {
    if let Some(output) = waiter.attempt()? {
        return Ok(Settled::Done(output));
    }
    if waiter.endpoint().look_if_due() {
        waiter.looked();
    }
    waiter.settle()
}

/// Does the operation in a task; `readable` waits for the doorbell.
///
/// A future that is dropped has not done it: there is no await after the last attempt.
#[cfg(unix)]
pub(crate) async fn when<W, F, R>(waiter: &mut W, readable: F) -> Result<W::Output, W::Error>
where
    W: Waiter,
    F: FnMut() -> R,
    R: Future<Output = io::Result<()>>,
{
    cooperative(until_done(waiter, readable)).await
}

#[cfg(unix)]
async fn until_done<W, F, R>(waiter: &mut W, mut readable: F) -> Result<W::Output, W::Error>
where
    W: Waiter,
    F: FnMut() -> R,
    R: Future<Output = io::Result<()>>,
{
    loop {
        if let Some(output) = attempt_or_arm(waiter)? {
            return Ok(output);
        }
        readable().await.map_err(W::Error::io)?;
    }
}

/// Does the operation in a task of the runtime of blitz-io, which also waits for the
/// doorbell.
#[cfg(all(feature = "async", unix))]
pub(crate) async fn in_runtime<W: Waiter>(waiter: &mut W) -> Result<W::Output, W::Error> {
    cooperative(until_done_in_runtime(waiter)).await
}

#[cfg(all(feature = "async", unix))]
async fn until_done_in_runtime<W: Waiter>(waiter: &mut W) -> Result<W::Output, W::Error> {
    waiter.endpoint().check::<W::Error>()?;
    // Only a wait needs a runtime.
    if let Settled::Done(output) = attempt_or_look(waiter)? {
        return Ok(output);
    }
    let doorbell = waiter.endpoint().registered().map_err(W::Error::io)?;
    let result = until_done(waiter, || crate::doorbell::rung(&doorbell)).await;
    if result.as_ref().is_err_and(W::Error::is_io) {
        waiter.endpoint().doorbell.deregister();
    }
    result
}
