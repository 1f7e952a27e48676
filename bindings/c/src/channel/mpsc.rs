//! Many senders, one receiver.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use blitz_io::sync::mpsc;
use blitz_io::sync::mpsc::error::{TryRecvError, TrySendError};

use super::end::{Case, Receives, Sends, deliver, recv_entry, send_entry};
use super::{Ends, blitz_receiver, blitz_sender};
use crate::element::Element;
use crate::error::{BLITZ_ECLOSED, BLITZ_EEMPTY, BLITZ_EFULL, Outcome};
use crate::exclusive::Biased;
use crate::wait::{self, Limit, is_fiber};

pub(super) fn bounded<T: Element>(size: usize, capacity: usize) -> Ends {
    let (sender, receiver) = mpsc::channel::<T>(capacity);
    (
        blitz_sender::hold(size, Sender(sender)),
        blitz_receiver::hold(size, Receiver(Biased::new(receiver))),
    )
}

pub(super) fn unbounded<T: Element>(size: usize) -> Ends {
    let (sender, receiver) = mpsc::unbounded_channel::<T>();
    (
        blitz_sender::hold(size, UnboundedSender(sender)),
        blitz_receiver::hold(size, UnboundedReceiver(Biased::new(receiver))),
    )
}

struct Sender<T>(mpsc::Sender<T>);

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
            if matches!(limit, Limit::Never) && !is_fiber() {
                let sent = self.0.blocking_send(T::read(value));
                return sent.map_err(|_| BLITZ_ECLOSED);
            }
            wait::on(Self::send(self, value), limit)?
        })
    }

    fn sending<'a>(&'a self, value: &'a [u8]) -> Option<Case<'a>> {
        Some(Box::pin(Self::send(self, value)))
    }

    fn clone(&self, size: usize) -> Outcome<NonNull<blitz_sender>> {
        Ok(blitz_sender::hold(size, Self(self.0.clone())))
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn wait_closed(&self, limit: Limit) -> Outcome {
        wait::on(self.0.closed(), limit)
    }
}

struct UnboundedSender<T>(mpsc::UnboundedSender<T>);

impl<T: Element> Sends for UnboundedSender<T> {
    #[inline(always)]
    fn try_send(&self, value: &[u8]) -> Outcome {
        self.0.send(T::read(value)).map_err(|_| BLITZ_ECLOSED)
    }

    fn clone(&self, size: usize) -> Outcome<NonNull<blitz_sender>> {
        Ok(blitz_sender::hold(size, Self(self.0.clone())))
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn wait_closed(&self, limit: Limit) -> Outcome {
        wait::on(self.0.closed(), limit)
    }
}

/// The two receivers differ in their type only.
macro_rules! receiver {
    ($name:ident) => {
        struct $name<T>(Biased<mpsc::$name<T>>);

        impl<T: Element> $name<T> {
            async fn recv(&self, to: &mut [u8]) -> Outcome {
                let received = self.0.enter()?.recv().await;
                deliver(received.ok_or(BLITZ_ECLOSED), to)
            }
        }

        impl<T: Element> Receives for $name<T> {
            #[inline(always)]
            fn try_recv(&self, to: &mut [u8]) -> Outcome {
                let received = self.0.enter()?.try_recv();
                deliver(
                    received.map_err(|error| match error {
                        TryRecvError::Empty => BLITZ_EEMPTY,
                        TryRecvError::Disconnected => BLITZ_ECLOSED,
                    }),
                    to,
                )
            }

            extern "C" fn recv_until(
                &self,
                to: *mut c_void,
                size: usize,
                deadline_ns: u64,
            ) -> c_int {
                recv_entry(to, size, deadline_ns, |to, limit| {
                    if matches!(limit, Limit::Never) && !is_fiber() {
                        let received = self.0.enter()?.blocking_recv();
                        return deliver(received.ok_or(BLITZ_ECLOSED), to);
                    }
                    wait::on(Self::recv(self, to), limit)?
                })
            }

            fn receiving<'a>(&'a self, to: &'a mut [u8]) -> Case<'a> {
                Box::pin(Self::recv(self, to))
            }

            fn close(&self) -> Outcome {
                self.0.enter()?.close();
                Ok(())
            }

            fn len(&self) -> usize {
                self.0.enter().map_or(0, |receiver| receiver.len())
            }
        }
    };
}

receiver!(Receiver);
receiver!(UnboundedReceiver);
