//! Sending within a time, with the timers of a runtime.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use blitz_io_core::coop;
use blitz_io_core::timers::{self, Timer};
use blitz_io_observe::CalledAt;

use super::error::SendTimeoutError;
use super::sender::Sender;

impl<T> Sender<T> {
    /// Sends a value. Waits for room if need be, behind the senders that wait already, but not
    /// for longer than `timeout`.
    ///
    /// The timer is the current runtime's, which must be `blitz-io-runtime`'s. If there is
    /// room, none is needed; otherwise it is allocated. For a thread there is
    /// [`blocking_send_timeout`](Self::blocking_send_timeout).
    ///
    /// # Errors
    ///
    /// [`Timeout`](SendTimeoutError::Timeout) if `timeout` elapses,
    /// [`Closed`](SendTimeoutError::Closed) if the channel is closed. Both give the value
    /// back.
    ///
    /// # Panics
    ///
    /// If there is no current runtime, or its timers are not enabled
    /// (`Builder::enable_time`).
    ///
    /// # Cancel safety
    ///
    /// As [`send`](Self::send).
    ///
    /// ```no_run
    /// use blitz_io::sync::mpsc::{self, error::SendTimeoutError};
    /// use std::time::Duration;
    ///
    /// # async fn in_a_runtime() {
    /// let (tx, _rx) = mpsc::channel(1);
    /// let timeout = Duration::from_millis(10);
    /// assert_eq!(tx.send_timeout(1, timeout).await, Ok(()));
    /// assert_eq!(tx.send_timeout(2, timeout).await, Err(SendTimeoutError::Timeout(2)));
    /// # }
    /// ```
    #[track_caller]
    pub fn send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), SendTimeoutError<T>>> {
        CalledAt::new(async move {
            let timers = timers::installed();
            timers.assert_here();
            if let Some(claim) = self.tx.claim_in_budget() {
                self.tx.fill(claim, value);
                return Ok(());
            }
            let mut room = pin!(self.tx.reserve(1));
            let mut timer = timers.timer(timeout);
            match poll_fn(|cx| poll_in_time(room.as_mut(), &mut timer, cx)).await {
                Some(Ok(())) => {
                    self.tx.send_permitted(value);
                    Ok(())
                }
                Some(Err(_)) => Err(SendTimeoutError::Closed(value)),
                None => Err(SendTimeoutError::Timeout(value)),
            }
        })
    }
}

/// Polls a future and its timer. Returns `None` if the timer expires before the future is ready.
fn poll_in_time<F: Future>(
    future: Pin<&mut F>,
    timer: &mut Timer,
    cx: &mut Context<'_>,
) -> Poll<Option<F::Output>> {
    let had_budget = coop::has_budget_remaining();
    if let Poll::Ready(output) = future.poll(cx) {
        return Poll::Ready(Some(output));
    }
    let mut up = || timer.as_mut().poll(cx).map(|()| None);
    // A future that uses up the budget must not keep the time from being up. One that waits has been a point just now.
    if had_budget && !coop::has_budget_remaining() || coop::waits() {
        coop::unconstrained(up)
    } else {
        up()
    }
}
