//! The client of the echo rows: one thread, one poll, many connections.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use mio::{Events, Interest, Poll, Token};

/// One connection: how many messages were sent and came back, and the bytes of the one that
/// is coming.
struct Connection {
    stream: mio::net::TcpStream,
    sent: u64,
    received: u64,
    filled: usize,
}

/// Connections to one server.
pub(super) struct Client {
    poll: Poll,
    connections: Vec<Connection>,
    size: usize,
}

impl Client {
    pub(super) fn connect(server: SocketAddr, connections: usize, size: usize) -> io::Result<Self> {
        raise_limit();
        let poll = Poll::new()?;
        let connect = |token| {
            let stream = TcpStream::connect(server)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = mio::net::TcpStream::from_std(stream);
            (poll.registry()).register(&mut stream, Token(token), Interest::READABLE)?;
            Ok(Connection {
                stream,
                sent: 0,
                received: 0,
                filled: 0,
            })
        };
        let connections = (0..connections).map(connect).collect::<io::Result<_>>()?;
        Ok(Self {
            poll,
            connections,
            size,
        })
    }

    /// Sends so many messages, up to `depth` at a time on each connection, and returns how
    /// many came back as they were.
    pub(super) fn exchange(&mut self, messages: u64, depth: usize) -> io::Result<u64> {
        let mut buffer = vec![0; self.size];
        let mut message = vec![0; self.size];
        let (mut sent, mut received) = (0, 0);
        for _ in 0..depth {
            for (token, connection) in self.connections.iter_mut().enumerate() {
                if sent < messages {
                    sent += 1;
                    connection.send(token, &mut message)?;
                }
            }
        }
        let mut events = Events::with_capacity(1024);
        while received < messages {
            self.poll.poll(&mut events, None)?;
            for event in &events {
                let token = event.token().0;
                let connection = &mut self.connections[token];
                while connection.receive(token, &mut buffer, &mut message)? {
                    received += 1;
                    if sent < messages {
                        sent += 1;
                        connection.send(token, &mut message)?;
                    }
                }
            }
        }
        Ok(received)
    }
}

impl Connection {
    fn send(&mut self, token: usize, message: &mut [u8]) -> io::Result<()> {
        fill(message, token, self.sent);
        self.sent += 1;
        // There is room: what is on its way is far less than a socket's buffer.
        self.stream.write_all(message)
    }

    /// Reads what is there of the next message. Whether that is all of it.
    fn receive(
        &mut self,
        token: usize,
        buffer: &mut [u8],
        expected: &mut [u8],
    ) -> io::Result<bool> {
        let place = &mut buffer[..expected.len() - self.filled];
        let n = match self.stream.read(place) {
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

/// A message that no other is like.
fn fill(message: &mut [u8], token: usize, number: u64) {
    let word = (number ^ (token as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for chunk in message.chunks_mut(8) {
        let len = chunk.len();
        chunk.copy_from_slice(&word.to_ne_bytes()[..len]);
    }
}

/// Both ends are in this process, so it needs twice as many descriptors as connections.
fn raise_limit() {
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
