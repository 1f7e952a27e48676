//! A single element.

use blitz_io::sync::oneshot;
use blitz_io::sync::oneshot::error::TryRecvError;

use super::Ends;
use super::end::{Case, Receives, Sends, deliver};
use crate::element::Element;
use crate::error::{BLITZ_ECLOSED, BLITZ_EEMPTY, BLITZ_EINVAL, Outcome};
use crate::exclusive::Exclusive;
use crate::wait::{self, Limit};

pub(super) fn channel<T: Element>() -> Ends {
    let (sender, receiver) = oneshot::channel::<T>();
    (
        Box::new(Sender(Exclusive::new(Some(sender)))),
        Box::new(Receiver(Exclusive::new(Some(receiver)))),
    )
}

/// The sender, until it has sent.
struct Sender<T>(Exclusive<Option<oneshot::Sender<T>>>);

impl<T: Element> Sends for Sender<T> {
    fn try_send(&self, value: &[u8]) -> Outcome {
        let sender = self.0.enter()?.take().ok_or(BLITZ_ECLOSED)?;
        sender.send(T::read(value)).map_err(|_| BLITZ_ECLOSED)
    }

    fn clone(&self) -> Outcome<Box<dyn Sends>> {
        Err(BLITZ_EINVAL)
    }

    fn is_closed(&self) -> bool {
        let is_closed = |sender: &oneshot::Sender<T>| sender.is_closed();
        self.0
            .enter()
            .is_ok_and(|sender| sender.as_ref().is_none_or(is_closed))
    }

    fn wait_closed(&self, limit: Limit) -> Outcome {
        match &mut *self.0.enter()? {
            Some(sender) => wait::on(sender.closed(), limit),
            None => Ok(()),
        }
    }
}

/// The receiver, until it has received.
struct Receiver<T>(Exclusive<Option<oneshot::Receiver<T>>>);

impl<T: Element> Receiver<T> {
    async fn recv(&self, to: &mut [u8]) -> Outcome {
        let mut entered = self.0.enter()?;
        let receiver = entered.as_mut().ok_or(BLITZ_ECLOSED)?;
        let received = receiver.await.map_err(|_| BLITZ_ECLOSED);
        *entered = None;
        deliver(received, to)
    }
}

impl<T: Element> Receives for Receiver<T> {
    fn try_recv(&self, to: &mut [u8]) -> Outcome {
        let mut entered = self.0.enter()?;
        let receiver = entered.as_mut().ok_or(BLITZ_ECLOSED)?;
        let received = match receiver.try_recv() {
            Err(TryRecvError::Empty) => return Err(BLITZ_EEMPTY),
            Err(TryRecvError::Closed) => Err(BLITZ_ECLOSED),
            Ok(value) => Ok(value),
        };
        *entered = None;
        deliver(received, to)
    }

    fn recv(&self, to: &mut [u8], limit: Limit) -> Outcome {
        wait::on(Self::recv(self, to), limit)?
    }

    fn receiving<'a>(&'a self, to: &'a mut [u8]) -> Case<'a> {
        Box::pin(Self::recv(self, to))
    }

    fn close(&self) -> Outcome {
        if let Some(receiver) = &mut *self.0.enter()? {
            receiver.close();
        }
        Ok(())
    }

    fn len(&self) -> usize {
        let has_value = |receiver: &oneshot::Receiver<T>| !receiver.is_empty();
        self.0
            .enter()
            .map_or(0, |entered| entered.as_ref().is_some_and(has_value).into())
    }
}
