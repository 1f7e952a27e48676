//! Every receiver gets every element.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use blitz_io::sync::broadcast;
use blitz_io::sync::broadcast::error::{RecvError, TryRecvError};

use super::end::{Case, Receives, Sends, deliver, recv_entry};
use super::{Ends, blitz_receiver, blitz_sender};
use crate::element::Element;
use crate::error::{BLITZ_ECLOSED, BLITZ_EEMPTY, BLITZ_ELAGGED, Outcome, record};
use crate::exclusive::Biased;
use crate::wait::{self, Limit};

pub(super) fn channel<T: Element>(size: usize, capacity: usize) -> Ends {
    let (sender, receiver) = broadcast::channel::<T>(capacity);
    (
        blitz_sender::hold(size, Sender(sender)),
        blitz_receiver::hold(size, Receiver(Biased::new(receiver))),
    )
}

struct Sender<T>(broadcast::Sender<T>);

impl<T: Element> Sends for Sender<T> {
    #[inline(always)]
    fn try_send(&self, value: &[u8]) -> Outcome {
        self.0
            .send(T::read(value))
            .map(drop)
            .map_err(|_| BLITZ_ECLOSED)
    }

    fn clone(&self, size: usize) -> Outcome<NonNull<blitz_sender>> {
        Ok(blitz_sender::hold(size, Self(self.0.clone())))
    }

    fn subscribe(&self, size: usize) -> Outcome<NonNull<blitz_receiver>> {
        let receiver = Receiver(Biased::new(self.0.subscribe()));
        Ok(blitz_receiver::hold(size, receiver))
    }

    fn is_closed(&self) -> bool {
        self.0.receiver_count() == 0
    }

    fn wait_closed(&self, limit: Limit) -> Outcome {
        wait::on(self.0.closed(), limit)
    }
}

struct Receiver<T>(Biased<broadcast::Receiver<T>>);

impl<T: Element> Receiver<T> {
    async fn recv(&self, to: &mut [u8]) -> Outcome {
        let received = self.0.enter()?.recv().await;
        let received = received.map_err(|error| match error {
            RecvError::Closed => BLITZ_ECLOSED,
            RecvError::Lagged(missed) => lagged(missed),
        });
        deliver(received, to)
    }
}

#[cold]
fn lagged(missed: u64) -> i32 {
    record(
        BLITZ_ELAGGED,
        format_args!("the receiver missed {missed} elements"),
    )
}

/// The reason why there is no element.
#[cold]
fn nothing(error: TryRecvError) -> i32 {
    match error {
        TryRecvError::Empty => BLITZ_EEMPTY,
        TryRecvError::Closed => BLITZ_ECLOSED,
        TryRecvError::Lagged(missed) => lagged(missed),
    }
}

impl<T: Element> Receives for Receiver<T> {
    #[inline(always)]
    fn try_recv(&self, to: &mut [u8]) -> Outcome {
        deliver(self.0.enter()?.try_recv().map_err(nothing), to)
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
        let receiver = Self(Biased::new(self.0.enter()?.resubscribe()));
        Ok(blitz_receiver::hold(size, receiver))
    }

    fn len(&self) -> usize {
        self.0.enter().map_or(0, |receiver| receiver.len())
    }
}
