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

use std::time::Duration;
use std::time::Instant;

use blitz_io_core::{Spin, deadline};
use blitz_io_observe::{self as observe, Blocking, Caller};

use crate::kernel::event_count::{EventCount, SLEEPER};
use crate::kernel::ring::Awaited;

/// How an operation waits.
#[derive(Clone, Copy, Debug)]
pub enum Wait {
    /// Does not wait.
    No,
    /// Waits no longer than until this time.
    Until(Instant),
    /// Waits without a deadline.
    Forever,
}

impl Wait {
    /// Waits no longer than `timeout`.
    pub fn after(timeout: Duration) -> Self {
        deadline::after(timeout).map_or(Self::Forever, Self::Until)
    }
}

/// The state of an operation after [`Waiter::settle`].
pub enum Settled<T> {
    Done(T),
    /// It has to wait for this event.
    Waits(Awaited),
}

/// The errors of an operation that may have to wait.
pub trait Failure: Sized {
    /// The operation would have to wait.
    const NOT_NOW: Self;
    const TIMED_OUT: Self;
    const FORKED: Self;
    const CORRUPT: Self;

    /// Returns the error of a wait for the doorbell that has failed.
    #[cfg(unix)]
    fn io(error: std::io::Error) -> Self;

    #[cfg(all(feature = "async", unix))]
    fn is_io(&self) -> bool;
}

/// An end of a segment; in models, a participant.
pub trait End {
    /// Returns an error if this end cannot be used at all.
    fn check<E: Failure>(&self) -> Result<(), E>;

    /// Pauses before another attempt. Returns `false` when the thread should sleep.
    fn spin(&self, spin: &mut Spin) -> bool;

    /// Returns the event count on which this end sleeps while it awaits this event.
    fn event_count(&self, awaited: Awaited) -> EventCount<'_>;

    /// Announces, for records of waits, that this thread may sleep.
    fn announce(&self, kind: observe::Kind, caller: Caller, is_timed: bool) -> Blocking;

    /// Sleeps until a notification, until `deadline`, or until it is time for a look.
    fn sleep(&mut self, awaited: Awaited, key: u32, deadline: Option<Instant>);

    /// Looks for dead participants and reaps them, if it is time to. Returns `true` if it
    /// did.
    fn look_if_due(&mut self) -> bool;

    /// Does what [`look_if_due`](Self::look_if_due) does, for a participant that polls.
    fn look_if_polls_are_due(&mut self) -> bool;
}

/// An operation of an end that may have to wait.
pub trait Waiter {
    type End: End;
    type Output;
    type Error: Failure;
    /// Its kind in records of waits.
    const KIND: observe::Kind;

    fn end(&mut self) -> &mut Self::End;

    /// Returns the event that it awaits, unless [`settle`](Self::settle) finds another.
    fn awaits(&self) -> Awaited {
        Awaited::Published
    }

    /// Attempts the operation. Returns `None` if it has to wait.
    fn attempt(&mut self) -> Result<Option<Self::Output>, Self::Error>;

    /// Attempts the operation, and checks what is too slow to check at each attempt: whether
    /// a wait would be in vain, and for which event to wait.
    fn settle(&mut self) -> Result<Settled<Self::Output>, Self::Error> {
        Ok(match self.attempt()? {
            Some(output) => Settled::Done(output),
            None => Settled::Waits(self.awaits()),
        })
    }

    /// Called after a look for dead participants.
    fn looked(&mut self) {}
}

/// Does the operation, blocking the thread as `wait` says.
#[inline]
#[track_caller]
pub fn block<W: Waiter>(waiter: &mut W, wait: Wait) -> Result<W::Output, W::Error> {
    waiter.end().check::<W::Error>()?;
    match waiter.attempt()? {
        Some(output) => Ok(output),
        None => block_slowly(waiter, wait, Caller::here()),
    }
}

#[cold]
fn block_slowly<W: Waiter>(
    waiter: &mut W,
    wait: Wait,
    caller: Caller,
) -> Result<W::Output, W::Error> {
    let until = match wait {
        Wait::No => return attempt_once_more(waiter),
        Wait::Until(deadline) => Some(deadline),
        Wait::Forever => None,
    };
    let mut spin = Spin::EVENT;
    let mut awaited = waiter.awaits();
    let mut record = None;
    loop {
        if let Some(output) = waiter.attempt()? {
            return Ok(output);
        }
        if waiter.end().spin(&mut spin) {
            continue;
        }
        let key = waiter.end().event_count(awaited).prepare(SLEEPER);
        if waiter.end().look_if_due() {
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
        let end = waiter.end();
        record.get_or_insert_with(|| end.announce(W::KIND, caller, until.is_some()));
        end.sleep(awaited, key, until);
    }
}

fn attempt_once_more<W: Waiter>(waiter: &mut W) -> Result<W::Output, W::Error> {
    if waiter.end().look_if_polls_are_due() {
        waiter.looked();
    }
    match waiter.settle()? {
        Settled::Done(output) => Ok(output),
        Settled::Waits(_) => Err(W::Error::NOT_NOW),
    }
}
