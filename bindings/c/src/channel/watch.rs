//! The latest element.

use blitz_io::sync::watch;

use super::Ends;
use super::end::{Case, Receives, Sends};
use crate::element::Element;
use crate::error::{BLITZ_ECLOSED, BLITZ_EEMPTY, Outcome};
use crate::exclusive::Exclusive;
use crate::wait::{self, Limit};

pub(super) fn channel<T: Element>(initial: &[u8]) -> Ends {
    let (sender, receiver) = watch::channel(T::read(initial));
    (
        Box::new(Sender(sender)),
        Box::new(Receiver(Exclusive::new(receiver))),
    )
}

struct Sender<T>(watch::Sender<T>);

impl<T: Element> Sends for Sender<T> {
    fn try_send(&self, value: &[u8]) -> Outcome {
        self.0.send(T::read(value)).map_err(|_| BLITZ_ECLOSED)
    }

    fn clone(&self) -> Outcome<Box<dyn Sends>> {
        Ok(Box::new(Self(self.0.clone())))
    }

    fn subscribe(&self) -> Outcome<Box<dyn Receives>> {
        Ok(Box::new(Receiver(Exclusive::new(self.0.subscribe()))))
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn wait_closed(&self, limit: Limit) -> Outcome {
        wait::on(self.0.closed(), limit)
    }
}

struct Receiver<T>(Exclusive<watch::Receiver<T>>);

impl<T: Element> Receiver<T> {
    async fn recv(&self, to: &mut [u8]) -> Outcome {
        let mut receiver = self.0.enter()?;
        receiver.changed().await.map_err(|_| BLITZ_ECLOSED)?;
        receiver.borrow_and_update().write(to);
        Ok(())
    }
}

impl<T: Element> Receives for Receiver<T> {
    fn try_recv(&self, to: &mut [u8]) -> Outcome {
        let mut receiver = self.0.enter()?;
        let is_new = receiver.has_changed().map_err(|_| BLITZ_ECLOSED)?;
        if !is_new {
            return Err(BLITZ_EEMPTY);
        }
        receiver.borrow_and_update().write(to);
        Ok(())
    }

    fn recv(&self, to: &mut [u8], limit: Limit) -> Outcome {
        wait::on(Self::recv(self, to), limit)?
    }

    fn receiving<'a>(&'a self, to: &'a mut [u8]) -> Case<'a> {
        Box::pin(Self::recv(self, to))
    }

    fn clone(&self) -> Outcome<Box<dyn Receives>> {
        Ok(Box::new(Self(Exclusive::new(self.0.enter()?.clone()))))
    }

    fn latest(&self, to: &mut [u8]) -> Outcome {
        self.0.enter()?.borrow_and_update().write(to);
        Ok(())
    }

    fn len(&self) -> usize {
        self.0
            .enter()
            .map_or(0, |receiver| receiver.has_changed().unwrap_or(false).into())
    }
}
