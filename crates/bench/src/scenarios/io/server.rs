//! The servers and clients of the runtimes in these rows, behind one trait.

use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::runtimes::{Later, Spawn, kept};

/// The future of an operation.
pub(super) trait Reply<T>: Later<io::Result<T>> {}

impl<T, F: Later<io::Result<T>>> Reply<T> for F {}

/// A runtime with I/O.
///
/// The functions that start a server return when it listens: the tasks that serve run on.
pub(super) trait Server: Sized + 'static {
    /// A started runtime, which is never stopped.
    type Runtime: Copy + Send + Sync + 'static;
    type Listener: Send + Sync + 'static;
    type Stream: Send + 'static;

    /// Starts a runtime with `workers` workers.
    fn start(workers: usize) -> Self::Runtime;
    /// Spawns from a thread that does not belong to the runtime.
    fn spawn(runtime: Self::Runtime, future: impl Spawn<Output = ()>);
    /// Runs a future on this thread, as a program's main function does.
    #[cfg(target_os = "linux")]
    fn block_on<F: Future>(runtime: Self::Runtime, future: F) -> F::Output;
    fn sleep(duration: Duration) -> impl Later<()>;

    fn listen() -> impl Reply<(Self::Listener, SocketAddr)>;
    fn accept(listener: &Self::Listener) -> impl Reply<Self::Stream>;
    fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> impl Reply<usize>;
    fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> impl Reply<()>;
    /// Runs the library's own copy, to the end.
    fn copy(from: &mut Self::Stream, to: &mut Self::Stream) -> impl Reply<u64>;

    /// Echoes datagrams until an empty one arrives.
    fn udp_echo(runtime: Self::Runtime) -> SocketAddr;

    /// Returns the runtime with `workers` workers, started on first use.
    fn with_workers(workers: usize) -> Self::Runtime {
        kept::<Self, _>(workers, 0, Self::start)
    }

    /// Accepts `connections` connections, and echoes on each what arrives, up to `limit`
    /// bytes. Returns the server's address. Each connection has a buffer of `BUFFER` bytes.
    fn echo<const BUFFER: usize>(
        runtime: Self::Runtime,
        connections: usize,
        limit: usize,
    ) -> SocketAddr {
        Self::listen_on(runtime, async move |listener| {
            for _ in 0..connections {
                let stream = Self::accept(&listener)
                    .await
                    .expect("there are descriptors");
                Self::spawn(runtime, echo::<Self, BUFFER>(stream, limit));
            }
        })
    }

    /// Spawns a task that serves, and returns its address.
    fn listen_on<F: Later<()>>(
        runtime: Self::Runtime,
        serve: impl FnOnce(Self::Listener) -> F + Send + 'static,
    ) -> SocketAddr {
        let (tell, told) = channel();
        Self::spawn(runtime, async move {
            let (listener, address) = Self::listen().await.expect("there are free ports");
            tell.send(address).expect("the client waits");
            serve(listener).await;
        });
        told.recv().expect("the server has told where it is")
    }
}

/// A runtime with files, processes and sockets of Unix.
#[cfg(unix)]
pub(super) trait UnixServer: Server {
    type File: Send + 'static;

    /// Listens at a path and echoes on `connections` connections.
    fn unix_echo(runtime: Self::Runtime, path: &Path, connections: usize);

    fn open(path: &Path, write: bool) -> impl Reply<Self::File>;
    fn read_at(file: &mut Self::File, place: u64, buffer: &mut [u8]) -> impl Reply<()>;
    /// Writes, and waits until the system has the bytes.
    fn write_at(file: &mut Self::File, place: u64, bytes: &[u8]) -> impl Reply<()>;
    fn len(file: &Self::File) -> impl Reply<u64>;

    /// Runs `true` and waits for it. Returns whether it was successful.
    fn process() -> impl Reply<bool>;

    /// Runs tasks to their end, and returns how much all have done. Fails with the first
    /// of their errors.
    fn run<F: Reply<u64> + 'static>(
        runtime: Self::Runtime,
        tasks: usize,
        mut task: impl FnMut(usize) -> F,
    ) -> io::Result<u64> {
        let (tell, told) = channel();
        for number in 0..tasks {
            let (task, tell) = (task(number), tell.clone());
            Self::spawn(runtime, async move {
                // The receiver is dropped once a task has failed.
                _ = tell.send(task.await);
            });
        }
        drop(tell);
        told.iter().sum()
    }
}

/// Echoes the bytes of a stream, until its end or the limit.
pub(super) async fn echo<S: Server, const BUFFER: usize>(mut stream: S::Stream, limit: usize) {
    let mut buffer = vec![0; BUFFER];
    let mut left = limit;
    // An error shows on the client's side.
    while left > 0 {
        match S::read(&mut stream, &mut buffer).await {
            Ok(n @ 1..) if S::write_all(&mut stream, &buffer[..n]).await.is_ok() => left -= n,
            _ => break,
        }
    }
}
