//! Our routes, channels and queues, in segments without a name.

use blitz_io_ipc::{Anonymous, Builder, Receiver, Sender};

use super::transport::Transport;

macro_rules! transport {
    ($name:ident) => {
        pub(super) struct $name(Anonymous);

        impl Transport for $name {
            type Sender = Sender;
            type Receiver = Receiver;

            fn new(_: usize, _: usize) -> Self {
                Self(made(blitz_io_ipc::$name::builder()))
            }

            fn sender(self, _: usize) -> Sender {
                self.0.sender().expect("a place for a sender")
            }

            fn receiver(self, _: usize) -> Receiver {
                self.0.receiver().expect("a place for a receiver")
            }

            #[inline]
            fn send(sender: &mut Sender, message: &[u8]) {
                sender.send(message).expect("a segment that works");
            }

            #[inline]
            fn receive(receiver: &mut Receiver, buffer: &mut [u8; 256]) -> usize {
                receiver.recv_into(buffer).expect("a message")
            }
        }
    };
}

transport!(Route);
transport!(Channel);
transport!(Queue);

fn made(builder: Builder) -> Anonymous {
    let builder = builder.capacity(1024).max_len(256);
    builder.anonymous().expect("memory for a segment")
}
