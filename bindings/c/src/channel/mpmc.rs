//! Many senders, many receivers.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use blitz_io::sync::mpmc;
use blitz_io::sync::mpmc::{TryRecvError, TrySendError};

use super::end::{Case, Receives, Sends, deliver, recv_entry, send_entry};
use super::{BLITZ_UNBOUNDED, Ends, blitz_receiver, blitz_sender};
use crate::element::Element;
use crate::error::{BLITZ_ECLOSED, BLITZ_EEMPTY, BLITZ_EFULL, Outcome};
use crate::wait::{self, Limit, is_fiber};

pub(super) fn channel<T: Element>(size: usize, capacity: usize) -> Ends {
    let (sender, receiver) = match capacity {
        BLITZ_UNBOUNDED => mpmc::unbounded::<T>(),
        _ => mpmc::bounded::<T>(capacity),
    };
    (
        blitz_sender::hold(size, Sender(sender)),
        blitz_receiver::hold(size, Receiver(receiver)),
    )
}

struct Sender<T>(mpmc::Sender<T>);

impl<T: Element> Sender<T> {
    async fn send(&self, value: &[u8]) -> Outcome {
        self.0.send(T::read(value)).await.map_err(|_| BLITZ_ECLOSED)
    }
}

impl<T: Element> Sends for Sender<T> {
    #[inline(always)]
    fn try_send(&self, value: &[u8]) -> Outcome {
        self.0
            .try_send(T::read(value))
            .map_err(|error| match error {
                TrySendError::Full(_) => BLITZ_EFULL,
                TrySendError::Closed(_) => BLITZ_ECLOSED,
            })
    }

    extern "C" fn send_until(&self, value: *const c_void, size: usize, deadline_ns: u64) -> c_int {
        send_entry(value, size, deadline_ns, |value, limit| {
            let sent = if matches!(limit, Limit::Never) && !is_fiber() {
                self.0.blocking_send(T::read(value))
            } else {
                wait::on(self.0.send(T::read(value)), limit)?
            };
            sent.map_err(|_| BLITZ_ECLOSED)
        })
    }

    fn sending<'a>(&'a self, value: &'a [u8]) -> Option<Case<'a>> {
        Some(Box::pin(Self::send(self, value)))
    }

    fn clone(&self, size: usize) -> Outcome<NonNull<blitz_sender>> {
        Ok(blitz_sender::hold(size, Self(self.0.clone())))
    }

    fn close(&self) -> Outcome {
        self.0.close();
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn wait_closed(&self, limit: Limit) -> Outcome {
        wait::on(self.0.closed(), limit)
    }
}

struct Receiver<T>(mpmc::Receiver<T>);

impl<T: Element> Receiver<T> {
    async fn recv(&self, to: &mut [u8]) -> Outcome {
        deliver(self.0.recv().await.map_err(|_| BLITZ_ECLOSED), to)
    }
}

impl<T: Element> Receives for Receiver<T> {
    #[inline(always)]
    fn try_recv(&self, to: &mut [u8]) -> Outcome {
        let received = self.0.try_recv().map_err(|error| match error {
            TryRecvError::Empty => BLITZ_EEMPTY,
            TryRecvError::Closed => BLITZ_ECLOSED,
        });
        deliver(received, to)
    }

    extern "C" fn recv_until(&self, to: *mut c_void, size: usize, deadline_ns: u64) -> c_int {
        recv_entry(to, size, deadline_ns, |to, limit| {
            let received = if matches!(limit, Limit::Never) && !is_fiber() {
                self.0.blocking_recv()
            } else {
                wait::on(self.0.recv(), limit)?
            };
            deliver(received.map_err(|_| BLITZ_ECLOSED), to)
        })
    }

    fn receiving<'a>(&'a self, to: &'a mut [u8]) -> Case<'a> {
        Box::pin(Self::recv(self, to))
    }

    fn clone(&self, size: usize) -> Outcome<NonNull<blitz_receiver>> {
        Ok(blitz_receiver::hold(size, Self(self.0.clone())))
    }

    fn close(&self) -> Outcome {
        self.0.close();
        Ok(())
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
