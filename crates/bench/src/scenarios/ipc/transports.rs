//! The system's own transports: sockets and pipes.

use std::io::{BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::unix::net::UnixDatagram;

use super::transport::Transport;

/// A pair of datagram sockets for each receiver, or one for all: then each datagram goes to one
/// receiver. Senders share one end.
pub(super) struct Datagrams<const ONE: bool>(Vec<(UnixDatagram, UnixDatagram)>);

impl<const ONE: bool> Transport for Datagrams<ONE> {
    type Sender = Vec<UnixDatagram>;
    type Receiver = UnixDatagram;

    fn new(_: usize, receivers: usize) -> Self {
        let pairs = if ONE { 1 } else { receivers };
        let pair = |_| UnixDatagram::pair().expect("a pair of sockets");
        Self((0..pairs).map(pair).collect())
    }

    fn sender(self, _: usize) -> Self::Sender {
        self.0.into_iter().map(|(sender, _)| sender).collect()
    }

    fn receiver(mut self, number: usize) -> UnixDatagram {
        self.0.swap_remove(if ONE { 0 } else { number }).1
    }

    fn send(sockets: &mut Self::Sender, message: &[u8]) {
        for socket in sockets {
            socket.send(message).expect("a receiver");
        }
    }

    fn receive(socket: &mut UnixDatagram, buffer: &mut [u8; 256]) -> usize {
        socket.recv(buffer).expect("a sender")
    }
}

/// A pipe for each receiver, with the length before each message. For one sender: writes of
/// several senders into one pipe are atomic only up to some length.
pub(super) struct Pipes(Vec<(PipeReader, PipeWriter)>);

impl Transport for Pipes {
    type Sender = Vec<PipeWriter>;
    type Receiver = BufReader<PipeReader>;

    fn new(senders: usize, receivers: usize) -> Self {
        assert_eq!(senders, 1);
        let pipe = |_| std::io::pipe().expect("a pipe");
        Self((0..receivers).map(pipe).collect())
    }

    fn sender(self, _: usize) -> Self::Sender {
        self.0.into_iter().map(|(_, writer)| writer).collect()
    }

    fn receiver(mut self, number: usize) -> Self::Receiver {
        BufReader::with_capacity(1 << 16, self.0.swap_remove(number).0)
    }

    fn send(pipes: &mut Self::Sender, message: &[u8]) {
        let mut framed = [0; 258];
        let len = (message.len() as u16).to_le_bytes();
        framed[..2].copy_from_slice(&len);
        framed[2..][..message.len()].copy_from_slice(message);
        for pipe in pipes {
            let framed = &framed[..2 + message.len()];
            pipe.write_all(framed).expect("a receiver");
        }
    }

    fn receive(pipe: &mut Self::Receiver, buffer: &mut [u8; 256]) -> usize {
        let mut len = [0; 2];
        pipe.read_exact(&mut len).expect("a sender");
        let len = usize::from(u16::from_le_bytes(len));
        pipe.read_exact(&mut buffer[..len]).expect("a sender");
        len
    }
}
