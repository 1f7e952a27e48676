//! The operation that a selection has chosen.

use std::thread;

use super::super::error::{RecvError, SendError};
use super::super::receiver::Receiver;
use super::super::request::{Outcome, Queue};
use super::super::sender::Sender;
use super::Case;
use blitz_io_core::debug_is_name;

/// An operation that has been chosen, and must be completed now: the other side may
/// be waiting for it.
///
/// # Panics
///
/// When it is dropped without having been completed.
#[must_use = "a selected operation must be completed"]
pub struct SelectedOperation<'a> {
    case: Case<'a>,
    /// `None` when it is completed.
    outcome: Option<Outcome>,
}

impl<'a> SelectedOperation<'a> {
    pub(super) fn new(case: Case<'a>, outcome: Outcome) -> Self {
        let outcome = Some(outcome);
        Self { case, outcome }
    }

    /// Returns which operation it is.
    #[must_use]
    pub fn index(&self) -> usize {
        self.case.index
    }

    /// Completes it by sending this value.
    ///
    /// # Errors
    ///
    /// If the channel is closed. The value comes back.
    ///
    /// # Panics
    ///
    /// If this is not the sender that was selected.
    #[track_caller]
    pub fn send<T>(mut self, sender: &Sender<T>, value: T) -> Result<(), SendError<T>> {
        assert!(
            self.case.is_of(&sender.channel, Queue::Senders),
            "passed a sender that wasn't selected"
        );
        match self.outcome.take() {
            Some(outcome) => sender.channel.finish_send(outcome, value),
            None => Err(SendError(value)),
        }
    }

    /// Completes it by receiving a value.
    ///
    /// # Errors
    ///
    /// If the channel is empty and closed.
    ///
    /// # Panics
    ///
    /// If this is not the receiver that was selected.
    #[track_caller]
    pub fn recv<T>(mut self, receiver: &Receiver<T>) -> Result<T, RecvError> {
        assert!(
            self.case.is_of(&receiver.channel, Queue::Receivers),
            "passed a receiver that wasn't selected"
        );
        match self.outcome.take() {
            Some(Outcome::Reserved) => receiver.channel.finish_recv().ok_or(RecvError),
            _ => Err(RecvError),
        }
    }
}

debug_is_name!(impl SelectedOperation<'_>);

impl Drop for SelectedOperation<'_> {
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            self.case.channel.abandon(outcome);
            if !thread::panicking() {
                panic!("dropped `SelectedOperation` without completing the operation");
            }
        }
    }
}
