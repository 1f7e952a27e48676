//! Operations of the ends of all kinds of channels.

use std::future::Future;
use std::pin::Pin;

use crate::error::{BLITZ_EINVAL, Outcome};
use crate::wait::Limit;

/// A future of a case of a selection. It does nothing if it is dropped before it is ready.
pub(crate) type Case<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// A sending end. An operation that a kind does not have is `BLITZ_EINVAL`.
pub(crate) trait Sends: Send + Sync {
    /// Sends without waiting, or returns `BLITZ_EFULL`.
    fn try_send(&self, value: &[u8]) -> Outcome;
    /// Waits for room and sends. Kinds that are never full need not have it.
    fn send(&self, value: &[u8], _: Limit) -> Outcome {
        self.try_send(value)
    }
    /// The same for a selection.
    fn sending<'a>(&'a self, value: &'a [u8]) -> Case<'a> {
        Box::pin(async move { self.try_send(value) })
    }
    fn clone(&self) -> Outcome<Box<dyn Sends>>;
    fn subscribe(&self) -> Outcome<Box<dyn Receives>> {
        Err(BLITZ_EINVAL)
    }
    fn close(&self) -> Outcome {
        Err(BLITZ_EINVAL)
    }
    fn is_closed(&self) -> bool;
    fn wait_closed(&self, limit: Limit) -> Outcome;
}

/// A receiving end. An operation that a kind does not have is `BLITZ_EINVAL`.
pub(crate) trait Receives: Send + Sync {
    /// Receives without waiting, or returns `BLITZ_EEMPTY`.
    fn try_recv(&self, to: &mut [u8]) -> Outcome;
    /// Waits for an element.
    fn recv(&self, to: &mut [u8], limit: Limit) -> Outcome;
    /// The same for a selection.
    fn receiving<'a>(&'a self, to: &'a mut [u8]) -> Case<'a>;
    fn clone(&self) -> Outcome<Box<dyn Receives>> {
        Err(BLITZ_EINVAL)
    }
    fn latest(&self, _: &mut [u8]) -> Outcome {
        Err(BLITZ_EINVAL)
    }
    fn close(&self) -> Outcome {
        Err(BLITZ_EINVAL)
    }
    fn len(&self) -> usize;
}

/// Copies an element that has arrived.
pub(crate) fn deliver<T: crate::element::Element>(
    received: Result<T, i32>,
    to: &mut [u8],
) -> Outcome {
    received.map(|value| value.write(to))
}
