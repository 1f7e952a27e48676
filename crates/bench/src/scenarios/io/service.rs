//! A small HTTP server with hyper beside its client: a process of its own, as in a service
//! whose processors the client shares.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use mio::net::TcpStream;
use mio::{Events, Poll};

use super::client::connect_all;
use super::server::Server;
use super::smol::Smol;
use super::tokio_names::{Ours, Tokio};
use super::{Bodies, failure};
use crate::scenarios::prelude::*;
use crate::scenarios::processes::{Processes, Role, now};
use crate::work::Work;

/// A slow request takes this many microseconds of computing. One of `SLOW_EVERY` is slow.
const SLOW: usize = 10_000;
const SLOW_EVERY: u64 = 500;

/// Requests before the clock starts. The fork has made the server's memory copy-on-write,
/// so its first writes fault.
const WARM_UP: u64 = 2_000;

/// The digits in a request, which are the body of its response.
const DIGITS: usize = 16;

pub(super) fn scenarios() -> Vec<Scenario> {
    let row = |id: &str, what: &str, workers, bodies: Bodies| {
        let title = format!("HTTP service beside its client, {what}");
        let scenario = Scenario::new(6, id, title, 40_000).decided_by(Compares::P99Ns);
        scenario.threads(workers).with_each(workers, bodies)
    };
    let (of_8, of_64) = ("8 connections", "64 connections");
    let mixed = "64 connections, 1 of 500 computes 10 ms";
    vec![
        row("service_2_64", of_64, 2, bodies!(serve<64, false>)),
        row("service_2_8", of_8, 2, bodies!(serve<8, false>)),
        row("service_8_64", of_64, 8, bodies!(serve<64, false>)),
        row("service_mixed_2_64", mixed, 2, bodies!(serve<64, true>)),
    ]
}

/// A runtime whose streams hyper can use.
trait Hyper: Server {
    type Io: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static;
    fn io(stream: Self::Stream) -> Self::Io;
}

impl Hyper for Ours {
    type Io = Self::Stream;

    fn io(stream: Self::Stream) -> Self::Io {
        stream
    }
}

impl Hyper for Tokio {
    type Io = hyper_util::rt::TokioIo<Self::Stream>;

    fn io(stream: Self::Stream) -> Self::Io {
        Self::Io::new(stream)
    }
}

impl Hyper for Smol {
    type Io = smol_hyper::rt::FuturesIo<Self::Stream>;

    fn io(stream: Self::Stream) -> Self::Io {
        Self::Io::new(stream)
    }
}

fn serve<S: Hyper, const CONNECTIONS: usize, const MIXED: bool>(
    cx: &Context,
    workers: usize,
) -> Measured {
    let (accepts, server) = start::<S>(
        S::with_workers(workers),
        CONNECTIONS,
        MIXED.then_some(cx.microsecond),
    );
    let requests = cx.ops;
    let mut processes = Processes::new(1, requests as usize)?;
    processes.start(&server, |server, role: &Role<'_>| {
        let mut client = Client::connect(server, CONNECTIONS).expect("the server listens");
        client
            .exchange(WARM_UP.min(requests), |_, _| {})
            .expect("the server answers");
        role.wait_for_all();
        let answers = client.exchange(requests, |number, time| role.record(number, time));
        role.ended(answers.expect("the server answers"), 0);
    })?;
    let found = processes.measure()?;
    std::net::TcpStream::connect(server)
        .map(drop)
        .map_err(failure)?;
    accepts.join().expect("the last connection ends it");
    verify("answers", requests, found.reports[0].0)?;
    verify("waits", requests, found.waits.len() as u64)?;
    let span = Span::of(found.elapsed);
    Ok(Sample::new(span, requests)
        .with_waits(found.histogram())
        .with_cpu(found.cpu))
}

/// Starts a server of `connections` connections. As in most programs, a thread that is no
/// worker accepts them. It ends with one connection more.
fn start<S: Hyper>(
    runtime: S::Runtime,
    connections: usize,
    slow: Option<Work>,
) -> (JoinHandle<()>, SocketAddr) {
    let (tell, told) = channel();
    let served = Arc::new(AtomicU64::new(0));
    let accept = async move || {
        let (listener, address) = S::listen().await.expect("there are free ports");
        tell.send(address).expect("the starter waits");
        for _ in 0..connections {
            let stream = S::accept(&listener).await.expect("there are descriptors");
            let served = served.clone();
            S::spawn(runtime, async move {
                let respond = service_fn(move |request| respond(request, served.clone(), slow));
                let connection = http1::Builder::new().serve_connection(S::io(stream), respond);
                // An error shows on the client's side.
                _ = connection.await;
            });
        }
        _ = S::accept(&listener).await;
    };
    let thread = std::thread::spawn(move || S::block_on(runtime, accept()));
    (
        thread,
        told.recv().expect("the server has told where it is"),
    )
}

/// Answers with the path.
async fn respond(
    request: Request<Incoming>,
    served: Arc<AtomicU64>,
    slow: Option<Work>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if let Some(microsecond) = slow
        && served.fetch_add(1, Relaxed) % SLOW_EVERY == SLOW_EVERY - 1
    {
        (0..SLOW).for_each(|_| microsecond.run());
    }
    let path = request.uri().path();
    let digits = Bytes::copy_from_slice(path.trim_start_matches('/').as_bytes());
    Ok(Response::new(Full::new(digits)))
}

/// Connections to the server, each with one request in flight.
struct Client {
    poll: Poll,
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    /// The number of the request, and when it was sent.
    sent: (u64, u64),
    answer: Vec<u8>,
}

impl Client {
    fn connect(server: SocketAddr, connections: usize) -> io::Result<Self> {
        let (poll, streams) = connect_all(&server, connections)?;
        let connection = |stream| Connection {
            stream,
            sent: (0, 0),
            answer: Vec::with_capacity(1024),
        };
        let connections = streams.into_iter().map(connection).collect();
        Ok(Self { poll, connections })
    }

    /// Sends `requests` requests, with one in flight on each connection, and calls `record`
    /// with the number of each and how many nanoseconds its answer took. Returns the number
    /// of right answers.
    fn exchange(&mut self, requests: u64, mut record: impl FnMut(u64, u64)) -> io::Result<u64> {
        let mut numbers = 0..requests;
        for (connection, number) in self.connections.iter_mut().zip(&mut numbers) {
            connection.send(number)?;
        }
        let mut events = Events::with_capacity(1024);
        let mut answers = 0;
        while answers < requests {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            for event in &events {
                let connection = &mut self.connections[event.token().0];
                if connection.receive()? {
                    let (number, since) = connection.sent;
                    record(number, now() - since);
                    answers += 1;
                    if let Some(number) = numbers.next() {
                        connection.send(number)?;
                    }
                }
            }
        }
        Ok(answers)
    }
}

impl Connection {
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.answer.clear();
        self.sent = (number, now());
        // There is room: it is the only request on this connection.
        let request = format!("GET /{number:0DIGITS$} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        self.stream.write_all(request.as_bytes())
    }

    /// Reads the available bytes. Returns whether they complete the right answer.
    fn receive(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.answer.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
            let head = self.answer.windows(4).position(|four| four == b"\r\n\r\n");
            let body = head.map_or(&[][..], |end| &self.answer[end + 4..]);
            if body.len() >= DIGITS {
                let expected = format!("{:0DIGITS$}", self.sent.0);
                let is_right =
                    self.answer.starts_with(b"HTTP/1.1 200 OK\r\n") && body == expected.as_bytes();
                // Nothing follows an answer, so no event is lost by not reading on.
                return if is_right {
                    Ok(true)
                } else {
                    Err(io::Error::other("another answer than to this request"))
                };
            }
        }
    }
}
