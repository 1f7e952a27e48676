//! `PollSender`: a bounded sender as a sink.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_sink::Sink;

use super::error::{SendError, TrySendError};
use super::permit::OwnedPermit;
use super::sender::Sender;
use blitz_io_core::error_text;
use blitz_io_core::{debug_fields, debug_is_name};

/// A bounded [`Sender`] whose waiting for room can be polled, and which is a `Sink`.
///
/// It has the names of tokio-util's `PollSender`. It allocates when it has to wait for
/// room.
///
/// ```
/// # pollster::block_on(async {
/// use blitz_io::sync::mpsc::{self, PollSender};
/// use futures_util::SinkExt; // the crate futures-util
///
/// let (tx, mut rx) = mpsc::channel(2);
/// let mut sink = PollSender::new(tx);
/// sink.send(1).await.unwrap();
/// sink.send(2).await.unwrap();
/// drop(sink);
/// assert_eq!(rx.recv().await, Some(1));
/// assert_eq!(rx.recv().await, Some(2));
/// assert_eq!(rx.recv().await, None);
/// # });
/// ```
pub struct PollSender<T> {
    /// `None` when this end is closed.
    sender: Option<Sender<T>>,
    state: State<T>,
}

type Reserve<T> = Pin<Box<dyn Future<Output = Result<OwnedPermit<T>, SendError<()>>> + Send>>;

/// Its room for the next value.
enum State<T> {
    Nothing,
    Waiting(Reserve<T>),
    Reserved(OwnedPermit<T>),
    /// The channel is closed, or this end is.
    Closed,
}

/// Error of [`PollSender`]: the channel is closed. Contains the value, if there was one.
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct PollSendError<T>(Option<T>);

impl<T> PollSendError<T> {
    /// Returns the value that was not sent, if there was one.
    pub fn into_inner(self) -> Option<T> {
        self.0
    }
}

debug_is_name!(impl<T> PollSendError<T>);

error_text! {
    Display for PollSendError<T> {
        _ => "channel closed",
    }
}

impl<T: Send + 'static> PollSender<T> {
    /// Wraps a sender.
    pub fn new(sender: Sender<T>) -> Self {
        Self {
            sender: Some(sender),
            state: State::Nothing,
        }
    }

    /// Waits for room for one value, and keeps it for [`send_item`](Self::send_item).
    ///
    /// # Errors
    ///
    /// Returns an error if the channel is closed, or this sender is.
    pub fn poll_reserve(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), PollSendError<T>>> {
        loop {
            match &mut self.state {
                State::Reserved(_) => return Poll::Ready(Ok(())),
                State::Closed => return Poll::Ready(Err(PollSendError(None))),
                State::Nothing => self.state = self.reserve(),
                State::Waiting(reserve) => {
                    self.state = match ready!(reserve.as_mut().poll(cx)) {
                        Ok(permit) => State::Reserved(permit),
                        Err(_) => State::Closed,
                    };
                }
            }
        }
    }

    /// Begins to reserve room.
    fn reserve(&self) -> State<T> {
        let Some(sender) = self.sender.clone() else {
            return State::Closed;
        };
        match sender.try_reserve_owned() {
            Ok(permit) => State::Reserved(permit),
            Err(TrySendError::Closed(_)) => State::Closed,
            Err(TrySendError::Full(sender)) => State::Waiting(Box::pin(sender.reserve_owned())),
        }
    }

    /// Sends a value into the room that has been reserved.
    ///
    /// # Errors
    ///
    /// Returns the value if this sender is closed.
    ///
    /// # Panics
    ///
    /// Panics if [`poll_reserve`](Self::poll_reserve) has not been ready before.
    #[track_caller]
    pub fn send_item(&mut self, value: T) -> Result<(), PollSendError<T>> {
        match mem::replace(&mut self.state, State::Nothing) {
            State::Reserved(permit) => {
                drop(permit.send(value));
                if self.sender.is_none() {
                    self.state = State::Closed;
                }
                Ok(())
            }
            State::Closed => {
                self.state = State::Closed;
                Err(PollSendError(Some(value)))
            }
            waiting => {
                self.state = waiting;
                panic!("`send_item` called without first calling `poll_reserve`");
            }
        }
    }

    /// Returns `true` if this sender or the channel is closed.
    pub fn is_closed(&self) -> bool {
        let closed = self.sender.as_ref().is_none_or(Sender::is_closed);
        closed || matches!(self.state, State::Closed)
    }

    /// Returns the sender, unless this one is closed.
    pub fn get_ref(&self) -> Option<&Sender<T>> {
        self.sender.as_ref()
    }

    /// Closes this sender; the channel stays open for others. Room that has been reserved
    /// can still be used, once.
    pub fn close(&mut self) {
        self.sender = None;
        if !matches!(self.state, State::Reserved(_)) {
            self.state = State::Closed;
        }
    }

    /// Gives up reserved room, or the wait for it. Returns `true` if there was something to
    /// give up.
    pub fn abort_send(&mut self) -> bool {
        if !matches!(self.state, State::Waiting(_) | State::Reserved(_)) {
            return false;
        }
        self.state = self.idle();
        true
    }

    /// Returns the state without reserved room.
    fn idle(&self) -> State<T> {
        match self.sender {
            Some(_) => State::Nothing,
            None => State::Closed,
        }
    }
}

impl<T: Send + 'static> Clone for PollSender<T> {
    /// Returns a sender for the same channel, which has reserved nothing.
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            state: self.idle(),
        }
    }
}

debug_fields!(impl<T> PollSender<T>, |this| { sender: this.sender, .. });

impl<T> Unpin for PollSender<T> {}

impl<T: Send + 'static> Sink<T> for PollSender<T> {
    type Error = PollSendError<T>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.get_mut().poll_reserve(cx)
    }

    fn start_send(self: Pin<&mut Self>, value: T) -> Result<(), Self::Error> {
        self.get_mut().send_item(value)
    }

    /// Is ready at once: a value that has been sent is in the channel.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.get_mut().close();
        Poll::Ready(Ok(()))
    }
}
