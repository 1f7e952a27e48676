//! The latest element.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use blitz_io::sync::watch;

use super::end::{Case, Receives, Sends, recv_entry};
use super::{Ends, blitz_receiver, blitz_sender};
use crate::element::Element;
use crate::error::{BLITZ_ECLOSED, BLITZ_EEMPTY, Outcome};
use crate::exclusive::Biased;
use crate::wait::{self, Limit};

pub(super) fn channel<T: Element>(size: usize, initial: &[u8]) -> Ends {
    let (sender, receiver) = watch::channel(T::read(initial));
    (
        blitz_sender::hold(size, Sender(sender)),
        blitz_receiver::hold(size, Receiver(Biased::new(receiver))),
    )
}

struct Sender<T>(watch::Sender<T>);

impl<T: Element> Sends for Sender<T> {
    #[inline(always)]
    fn try_send(&self, value: &[u8]) -> Outcome {
        self.0.send(T::read(value)).map_err(|_| BLITZ_ECLOSED)
    }

    fn clone(&self, size: usize) -> Outcome<NonNull<blitz_sender>> {
        Ok(blitz_sender::hold(size, Self(self.0.clone())))
    }

    fn subscribe(&self, size: usize) -> Outcome<NonNull<blitz_receiver>> {
        let receiver = Receiver(Biased::new(self.0.subscribe()));
        Ok(blitz_receiver::hold(size, receiver))
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn wait_closed(&self, limit: Limit) -> Outcome {
        wait::on(self.0.closed(), limit)
    }
}

struct Receiver<T>(Biased<watch::Receiver<T>>);

impl<T: Element> Receiver<T> {
    async fn recv(&self, to: &mut [u8]) -> Outcome {
        let mut receiver = self.0.enter()?;
        receiver.changed().await.map_err(|_| BLITZ_ECLOSED)?;
        receiver.borrow_and_update().write(to);
        Ok(())
    }
}

impl<T: Element> Receives for Receiver<T> {
    #[inline(always)]
    fn try_recv(&self, to: &mut [u8]) -> Outcome {
        let mut receiver = self.0.enter()?;
        if let Ok(false) = receiver.has_changed() {
            return Err(BLITZ_EEMPTY);
        }
        let latest = receiver.borrow_and_update();
        // After the last sender too, an element that this receiver has not seen comes first.
        if !latest.has_changed() {
            return Err(BLITZ_ECLOSED);
        }
        latest.write(to);
        Ok(())
    }

    extern "C" fn recv_until(&self, to: *mut c_void, size: usize, deadline_ns: u64) -> c_int {
        recv_entry(to, size, deadline_ns, |to, limit| {
            wait::on(Self::recv(self, to), limit)?
        })
    }

    fn receiving<'a>(&'a self, to: &'a mut [u8]) -> Case<'a> {
        Box::pin(Self::recv(self, to))
    }

    fn clone(&self, size: usize) -> Outcome<NonNull<blitz_receiver>> {
        let receiver = Self(Biased::new(self.0.enter()?.clone()));
        Ok(blitz_receiver::hold(size, receiver))
    }

    fn latest(&self, to: &mut [u8]) -> Outcome {
        self.0.enter()?.borrow_and_update().write(to);
        Ok(())
    }

    fn len(&self) -> usize {
        self.0
            .enter()
            .map_or(0, |receiver| receiver.borrow().has_changed().into())
    }
}
