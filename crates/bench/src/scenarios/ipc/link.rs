//! Links from one process to one other, for messages that may be large.

use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixDatagram, UnixStream};

use blitz_io_ipc::{Anonymous, Receiver, RecvError, Route, Sender};

use super::posix::MessageQueue;

/// A link from one process to one other, for messages of one length.
///
/// With shared memory, messages are written and read in place. Otherwise they are written
/// to one buffer and read from another.
pub(super) trait Link: Sized {
    type Sender;
    type Receiver;
    /// Created before the processes are; each of them has a copy.
    fn new(len: usize) -> Self;
    fn sender(self) -> Self::Sender;
    fn receiver(self) -> Self::Receiver;
    /// Sends the message that `write` writes.
    fn send(sender: &mut Self::Sender, write: impl FnOnce(&mut [u8]));
    /// Blocks until there is a message.
    fn receive<R>(receiver: &mut Self::Receiver, read: impl FnOnce(&[u8]) -> R) -> R;

    /// Sends a copy of a message.
    fn send_copy(sender: &mut Self::Sender, message: &[u8]) {
        Self::send(sender, |bytes| bytes.copy_from_slice(message));
    }

    /// Blocks until there is a message, and copies it.
    fn receive_into(receiver: &mut Self::Receiver, buffer: &mut [u8]) {
        Self::receive(receiver, |message| buffer.copy_from_slice(message));
    }
}

/// A link that can be polled for a message.
pub(super) trait Poll: Link {
    /// Reads the next message if there is one.
    fn poll<R>(receiver: &mut Self::Receiver, read: impl FnOnce(&[u8]) -> R) -> Option<R>;

    /// Polls until there is a message.
    fn spin<R>(receiver: &mut Self::Receiver, mut read: impl FnMut(&[u8]) -> R) -> R {
        loop {
            for _ in 0..1000 {
                if let Some(read) = Self::poll(receiver, &mut read) {
                    return read;
                }
                std::hint::spin_loop();
            }
            // The other process may need this processor.
            std::thread::yield_now();
        }
    }
}

/// A [`Route`].
pub(super) struct Ours {
    route: Anonymous,
    len: usize,
}

impl Link for Ours {
    type Sender = (Sender, usize);
    type Receiver = Receiver;

    fn new(len: usize) -> Self {
        let route = Route::builder().capacity(4).max_len(len).anonymous();
        let route = route.expect("memory for a segment");
        Self { route, len }
    }

    fn sender(self) -> Self::Sender {
        (self.route.sender().expect("a place for a sender"), self.len)
    }

    fn receiver(self) -> Receiver {
        self.route.receiver().expect("a place for a receiver")
    }

    #[inline]
    fn send((sender, len): &mut Self::Sender, write: impl FnOnce(&mut [u8])) {
        let mut loan = sender.loan(*len).expect("a segment that works");
        write(&mut loan);
        loan.send().expect("a segment that works");
    }

    #[inline]
    fn receive<R>(receiver: &mut Receiver, read: impl FnOnce(&[u8]) -> R) -> R {
        read(&receiver.recv().expect("a message"))
    }

    fn send_copy((sender, _): &mut Self::Sender, message: &[u8]) {
        sender.send(message).expect("a segment that works");
    }

    fn receive_into(receiver: &mut Receiver, buffer: &mut [u8]) {
        receiver.recv_into(buffer).expect("a message");
    }
}

impl Poll for Ours {
    #[inline]
    fn poll<R>(receiver: &mut Receiver, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        match receiver.try_recv() {
            Ok(message) => Some(read(&message)),
            Err(RecvError::Empty) => None,
            Err(error) => panic!("{error}"),
        }
    }
}

macro_rules! link {
    ($(#[$attribute:meta])* $name:ident, $send:ty, $receive:ty, $new:expr,
        |$to:ident, $message:ident| $put:expr, |$from:ident, $buffer:ident| $get:expr) => {
        $(#[$attribute])*
        pub(super) struct $name {
            ends: ($send, $receive),
            len: usize,
        }

        impl $name {
            #[inline]
            fn put($to: &mut $send, $message: &[u8]) {
                $put;
            }

            #[inline]
            fn get($from: &mut $receive, $buffer: &mut [u8]) {
                $get;
            }
        }

        impl Link for $name {
            type Sender = ($send, Vec<u8>);
            type Receiver = ($receive, Vec<u8>);

            fn new(len: usize) -> Self {
                let new: fn(usize) -> ($send, $receive) = $new;
                Self { ends: new(len), len }
            }

            fn sender(self) -> Self::Sender {
                (self.ends.0, vec![0; self.len])
            }

            fn receiver(self) -> Self::Receiver {
                (self.ends.1, vec![0; self.len])
            }

            #[inline]
            fn send((end, buffer): &mut Self::Sender, write: impl FnOnce(&mut [u8])) {
                write(buffer);
                Self::put(end, buffer);
            }

            #[inline]
            fn receive<R>((end, buffer): &mut Self::Receiver, read: impl FnOnce(&[u8]) -> R) -> R {
                Self::get(end, buffer);
                read(buffer)
            }

            fn send_copy((end, _): &mut Self::Sender, message: &[u8]) {
                Self::put(end, message);
            }

            fn receive_into((end, _): &mut Self::Receiver, buffer: &mut [u8]) {
                Self::get(end, buffer);
            }
        }
    };
}

link!(
    /// A pair of datagram sockets.
    Datagrams, UnixDatagram, UnixDatagram, |_| UnixDatagram::pair().expect("a pair of sockets"),
    |socket, message| socket.send(message).expect("a receiver"),
    |socket, buffer| assert_eq!(socket.recv(buffer).expect("a sender"), buffer.len())
);
link!(
    /// A pair of stream sockets.
    Streams, UnixStream, UnixStream, |_| UnixStream::pair().expect("a pair of sockets"),
    |socket, message| socket.write_all(message).expect("a receiver"),
    |socket, buffer| socket.read_exact(buffer).expect("a sender")
);
link!(
    /// A pipe, as long as the system allows.
    Pipes, PipeWriter, PipeReader, |_| pipe(),
    |pipe, message| pipe.write_all(message).expect("a receiver"),
    |pipe, buffer| pipe.read_exact(buffer).expect("a sender")
);
link!(
    /// A POSIX message queue.
    MessageQueues, MessageQueue, MessageQueue, queue,
    |queue, message| queue.send(message),
    |queue, buffer| assert_eq!(queue.receive(buffer), buffer.len())
);

impl Poll for Datagrams {
    #[inline]
    fn poll<R>((socket, buffer): &mut Self::Receiver, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let (bytes, len) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: there is room for `len` bytes.
        let received = unsafe { libc::recv(socket.as_raw_fd(), bytes, len, libc::MSG_DONTWAIT) };
        if received < 0 {
            let error = std::io::Error::last_os_error();
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "recv: {error}");
            return None;
        }
        assert_eq!(received as usize, len, "a message in one piece");
        Some(read(buffer))
    }
}

fn pipe() -> (PipeWriter, PipeReader) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // SAFETY: the descriptor is open. Where the system refuses, the pipe stays as it was.
    unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, 1 << 20) };
    (writer, reader)
}

fn queue(len: usize) -> (MessageQueue, MessageQueue) {
    let queue = MessageQueue::new(10, len).expect("a message queue");
    let other = queue.try_clone().expect("a descriptor");
    (queue, other)
}
