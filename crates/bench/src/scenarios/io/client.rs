//! The client of the echo rows: one thread, one poll, many connections.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::SocketAddr;

use mio::event::Source;
use mio::{Events, Interest, Poll, Token};

use crate::scenarios::prelude::*;

/// The socket of a client.
pub(super) trait Socket: Source + Sized {
    type Address;
    fn connect(server: &Self::Address) -> io::Result<Self>;
    fn get(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    fn put(&mut self, message: &[u8]) -> io::Result<()>;
}

/// Implements the trait: how a socket connects, and the names of its functions that receive and
/// send.
macro_rules! socket {
    ($socket:ty, $address:ty, |$server:ident| $connect:block, $receive:ident, $send:ident) => {
        impl Socket for $socket {
            type Address = $address;

            fn connect($server: &Self::Address) -> io::Result<Self> {
                let socket = $connect;
                socket.set_nonblocking(true)?;
                Ok(Self::from_std(socket))
            }

            fn get(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.$receive(buffer)
            }

            fn put(&mut self, message: &[u8]) -> io::Result<()> {
                self.$send(message).map(drop)
            }
        }
    };
}

socket!(
    mio::net::TcpStream,
    SocketAddr,
    |server| {
        let stream = std::net::TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream
    },
    read,
    write_all
);

#[cfg(unix)]
socket!(
    mio::net::UnixStream,
    std::path::PathBuf,
    |server| { std::os::unix::net::UnixStream::connect(server)? },
    read,
    write_all
);

// A datagram for each message.
socket!(
    mio::net::UdpSocket,
    SocketAddr,
    |server| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(server)?;
        socket
    },
    recv,
    send
);

/// Connects sockets to one server, and registers each under its number.
pub(super) fn connect_all<S: Socket>(
    server: &S::Address,
    count: usize,
) -> io::Result<(Poll, Vec<S>)> {
    raise_limit();
    let poll = Poll::new()?;
    let connect = |number| {
        let mut socket = S::connect(server)?;
        (poll.registry()).register(&mut socket, Token(number), Interest::READABLE)?;
        Ok(socket)
    };
    let sockets = (0..count).map(connect).collect::<io::Result<_>>()?;
    Ok((poll, sockets))
}

/// A message that does not come back within this time is lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection: when the messages in flight were sent, or should have been, how many
/// came back, and the bytes of the message that is arriving.
struct Connection<S> {
    stream: S,
    sent: u64,
    since: VecDeque<Instant>,
    received: u64,
    filled: usize,
}

/// Connections to one server.
pub(super) struct Client<S> {
    poll: Poll,
    connections: Vec<Connection<S>>,
    size: usize,
    waits: Waits,
}

impl<S: Socket> Client<S> {
    pub(super) fn connect(
        server: &S::Address,
        connections: usize,
        depth: usize,
        size: usize,
    ) -> io::Result<Self> {
        let (poll, streams) = connect_all(server, connections)?;
        let connection = |stream| Connection {
            stream,
            sent: 0,
            since: VecDeque::with_capacity(depth),
            received: 0,
            filled: 0,
        };
        let connections = streams.into_iter().map(connection).collect();
        Ok(Self {
            poll,
            connections,
            size,
            waits: Waits::new(),
        })
    }

    /// Returns how long each message took since the last call, there and back.
    pub(super) fn waits(&mut self) -> Waits {
        std::mem::take(&mut self.waits)
    }

    /// Sends `messages` messages, with up to `depth` in flight on each connection, and
    /// returns how many came back unchanged.
    pub(super) fn exchange(&mut self, messages: u64, depth: usize) -> io::Result<u64> {
        let mut message = vec![0; self.size];
        let mut sent = 0;
        for _ in 0..depth {
            for (token, connection) in self.connections.iter_mut().enumerate() {
                if sent < messages {
                    sent += 1;
                    connection.send(token, &mut message, Instant::now())?;
                }
            }
        }
        let mut receiving = Receiving::new(self.size);
        let mut received = 0;
        while received < messages {
            let again = |connection: &mut Connection<S>, token, now| {
                if sent < messages {
                    sent += 1;
                    connection.send(token, &mut message, now)?;
                }
                Ok(())
            };
            match self.receive(&mut receiving, PATIENCE, again)? {
                None => return Err(io::ErrorKind::TimedOut.into()),
                Some(n) => received += n,
            }
        }
        Ok(received)
    }

    /// Sends a message on each connection in every interval, whether or not earlier ones
    /// have come back, and returns how many did. Their wait begins when they should be
    /// sent.
    pub(super) fn paced(&mut self, rounds: u64, interval: Duration) -> io::Result<u64> {
        let mut message = vec![0; self.size];
        let mut receiving = Receiving::new(self.size);
        let messages = rounds * self.connections.len() as u64;
        let (mut received, mut round) = (0, 0);
        let mut due = Instant::now();
        while received < messages {
            if round < rounds && Instant::now() >= due {
                for (token, connection) in self.connections.iter_mut().enumerate() {
                    connection.send(token, &mut message, due)?;
                }
                round += 1;
                due += interval;
            }
            let is_last = round == rounds;
            let timeout = if is_last {
                PATIENCE
            } else {
                due.saturating_duration_since(Instant::now())
            };
            match self.receive(&mut receiving, timeout, |_, _, _| Ok(()))? {
                None if is_last => return Err(io::ErrorKind::TimedOut.into()),
                n => received += n.unwrap_or(0),
            }
        }
        Ok(received)
    }

    /// Waits for events and receives all available messages. Returns their number, which is
    /// zero if an event announces a part of a message, or bytes that were taken before.
    /// Calls `then` for each message. Returns `None` if nothing happens for too long.
    fn receive(
        &mut self,
        receiving: &mut Receiving,
        timeout: Duration,
        mut then: impl FnMut(&mut Connection<S>, usize, Instant) -> io::Result<()>,
    ) -> io::Result<Option<u64>> {
        match self.poll.poll(&mut receiving.events, Some(timeout)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Some(0)),
            Ok(()) if receiving.events.is_empty() => return Ok(None),
            result => result?,
        }
        let mut received = 0;
        for event in &receiving.events {
            let token = event.token().0;
            let connection = &mut self.connections[token];
            while connection.receive(token, &mut receiving.buffer, &mut receiving.expected)? {
                received += 1;
                let now = Instant::now();
                let sent = connection.since.pop_front().expect("it was sent");
                self.waits.record(now.saturating_duration_since(sent));
                then(connection, token, now)?;
            }
        }
        Ok(Some(received))
    }

    /// Sends an empty message on one connection, which ends a server of datagrams.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.connections[0].stream.put(&[])
    }
}

/// The state that receiving needs.
struct Receiving {
    events: Events,
    buffer: Vec<u8>,
    expected: Vec<u8>,
}

impl Receiving {
    fn new(size: usize) -> Self {
        Self {
            events: Events::with_capacity(1024),
            buffer: vec![0; size],
            expected: vec![0; size],
        }
    }
}

impl<S: Socket> Connection<S> {
    fn send(&mut self, token: usize, message: &mut [u8], since: Instant) -> io::Result<()> {
        fill(message, token, self.sent);
        self.sent += 1;
        self.since.push_back(since);
        // There is room: the messages in flight are far smaller than a socket's buffer.
        self.stream.put(message)
    }

    /// Reads the available bytes of the next message. Returns whether they complete it.
    fn receive(
        &mut self,
        token: usize,
        buffer: &mut [u8],
        expected: &mut [u8],
    ) -> io::Result<bool> {
        let place = &mut buffer[..expected.len() - self.filled];
        let n = match self.stream.get(place) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        fill(expected, token, self.received);
        if place[..n] != expected[self.filled..self.filled + n] {
            return Err(io::Error::other("an echo that differs from what was sent"));
        }
        self.filled += n;
        if self.filled < expected.len() {
            return self.receive(token, buffer, expected);
        }
        self.filled = 0;
        self.received += 1;
        Ok(true)
    }
}

/// Fills a message with bytes that no other message has.
pub(super) fn fill(message: &mut [u8], token: usize, number: u64) {
    let word = (number ^ (token as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for chunk in message.chunks_mut(8) {
        let len = chunk.len();
        chunk.copy_from_slice(&word.to_ne_bytes()[..len]);
    }
}

/// Raises the limit of descriptors. Both ends are in this process, so it needs twice as
/// many descriptors as connections.
pub(super) fn raise_limit() {
    #[cfg(unix)]
    {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: the pointers are valid.
        unsafe {
            if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
                limit.rlim_cur = limit.rlim_max.min(16 * 1024);
                libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event that announces half of a message is not a time-out.
    #[test]
    fn messages_may_come_in_parts() {
        const SIZE: usize = 64;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            let mut message = [0; SIZE];
            while stream.read_exact(&mut message).is_ok() {
                for half in message.chunks(SIZE / 2) {
                    stream.write_all(half).unwrap();
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        let mut client = Client::<mio::net::TcpStream>::connect(&address, 1, 1, SIZE).unwrap();
        assert_eq!(client.exchange(5, 1).unwrap(), 5);
        assert_eq!(client.paced(5, Duration::from_millis(1)).unwrap(), 5);
        drop(client);
        server.join().unwrap();
    }
}
