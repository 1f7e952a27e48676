//! Servers on each runtime, behind one trait.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::channel;

use crate::runtimes::Cache;

/// A runtime that serves.
pub(super) trait Server: Sized + 'static {
    type Listener: Send + Sync + 'static;
    type Stream: Send + 'static;

    /// Spawns onto the runtime with so many workers, which is started when it is asked for
    /// first.
    fn spawn_from_outside(workers: usize, future: impl Future<Output = ()> + Send + 'static);
    /// Spawns from a task of the same runtime.
    fn spawn(workers: usize, future: impl Future<Output = ()> + Send + 'static);
    fn listen() -> impl Future<Output = io::Result<(Self::Listener, SocketAddr)>> + Send;
    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;
    fn read(
        stream: &mut Self::Stream,
        buffer: &mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send;
    fn write_all(
        stream: &mut Self::Stream,
        bytes: &[u8],
    ) -> impl Future<Output = io::Result<()>> + Send;

    /// Accepts so many connections, and sends back on each what comes, up to `limit` bytes.
    /// Returns where.
    fn echo(workers: usize, connections: u64, limit: usize) -> SocketAddr {
        let (tell, told) = channel();
        Self::spawn_from_outside(workers, async move {
            let (listener, address) = Self::listen().await.expect("there are free ports");
            tell.send(address).expect("the client waits");
            for _ in 0..connections {
                let stream = Self::accept(&listener)
                    .await
                    .expect("there are descriptors");
                Self::spawn(workers, echo::<Self>(stream, limit));
            }
        });
        told.recv().expect("the server has told where it is")
    }
}

/// Sends back what comes, until the end or the limit.
async fn echo<S: Server>(mut stream: S::Stream, limit: usize) {
    let mut buffer = vec![0; 16 * 1024];
    let mut left = limit;
    // An error shows on the client's side.
    while left > 0 {
        match S::read(&mut stream, &mut buffer).await {
            Ok(n @ 1..) if S::write_all(&mut stream, &buffer[..n]).await.is_ok() => left -= n,
            _ => break,
        }
    }
}

/// The trait, with what the modules `runtime`, `task`, `net` and `io` of the place of use
/// hold.
macro_rules! under_tokios_names {
    ($server:ident) => {
        pub(crate) struct $server;

        impl super::Server for $server {
            type Listener = net::TcpListener;
            type Stream = net::TcpStream;

            fn spawn_from_outside(
                workers: usize,
                future: impl Future<Output = ()> + Send + 'static,
            ) {
                static CACHE: Cache<&'static runtime::Runtime> = Cache::new();
                let start = |workers| {
                    let runtime = runtime::Builder::new_multi_thread()
                        .worker_threads(workers)
                        .enable_all()
                        .build()
                        .expect("the system has threads for a runtime");
                    &*Box::leak(Box::new(runtime))
                };
                CACHE.get(workers, 0, start).spawn(future);
            }

            fn spawn(_: usize, future: impl Future<Output = ()> + Send + 'static) {
                task::spawn(future);
            }

            async fn listen() -> io::Result<(net::TcpListener, SocketAddr)> {
                let listener = net::TcpListener::bind("127.0.0.1:0").await?;
                let address = listener.local_addr()?;
                Ok((listener, address))
            }

            async fn accept(listener: &net::TcpListener) -> io::Result<net::TcpStream> {
                Ok(listener.accept().await?.0)
            }

            async fn read(stream: &mut net::TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
                stream.read(buffer).await
            }

            async fn write_all(stream: &mut net::TcpStream, bytes: &[u8]) -> io::Result<()> {
                stream.write_all(bytes).await
            }
        }
    };
}

mod ours {
    use std::io;
    use std::net::SocketAddr;

    use blitz_aio::{AsyncReadExt, AsyncWriteExt};
    use blitz_net as net;
    use blitz_runtime::{runtime, task};

    use crate::runtimes::Cache;

    under_tokios_names!(Ours);
}

mod theirs {
    use std::io;
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::{net, runtime, task};

    use crate::runtimes::Cache;

    under_tokios_names!(Tokio);
}

pub(super) use ours::Ours;
pub(super) use theirs::Tokio;

/// smol: its executor on threads that block for the reactor, as its documentation shows it.
pub(super) struct Smol;

impl Smol {
    fn executor(workers: usize) -> &'static async_executor::StaticExecutor {
        static CACHE: Cache<&'static async_executor::StaticExecutor> = Cache::new();
        CACHE.get(workers, 0, |workers| {
            let executor = async_executor::Executor::new().leak();
            for worker in 0..workers {
                std::thread::Builder::new()
                    .name(format!("smol-io-{worker}"))
                    .spawn(|| async_io::block_on(executor.run(std::future::pending::<()>())))
                    .expect("the system has threads for a runtime");
            }
            executor
        })
    }
}

impl Server for Smol {
    type Listener = async_io::Async<std::net::TcpListener>;
    type Stream = async_io::Async<std::net::TcpStream>;

    fn spawn_from_outside(workers: usize, future: impl Future<Output = ()> + Send + 'static) {
        Self::executor(workers).spawn(future).detach();
    }

    fn spawn(workers: usize, future: impl Future<Output = ()> + Send + 'static) {
        Self::executor(workers).spawn(future).detach();
    }

    async fn listen() -> io::Result<(Self::Listener, SocketAddr)> {
        let listener = async_io::Async::<std::net::TcpListener>::bind(([127, 0, 0, 1], 0))?;
        let address = listener.get_ref().local_addr()?;
        Ok((listener, address))
    }

    async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
        Ok(listener.accept().await?.0)
    }

    async fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> io::Result<usize> {
        futures_lite::AsyncReadExt::read(stream, buffer).await
    }

    async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
        futures_lite::AsyncWriteExt::write_all(stream, bytes).await
    }
}
