//! smol: its executor on threads that block for the reactor, as its documentation shows it.

#[cfg(unix)]
use std::fs::File;
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(unix)]
use std::path::Path;
use std::sync::mpsc::channel;

use async_executor::{Executor, StaticExecutor};
use async_io::{Async, Timer};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

use super::server::*;
use crate::runtimes::Spawn;
use crate::scenarios::prelude::*;

/// smol.
pub(super) struct Smol;

impl Server for Smol {
    type Runtime = &'static StaticExecutor;
    type Listener = Async<std::net::TcpListener>;
    type Stream = Async<std::net::TcpStream>;

    fn start(workers: usize) -> &'static StaticExecutor {
        let executor = Executor::new().leak();
        for worker in 0..workers {
            std::thread::Builder::new()
                .name(format!("smol-io-{worker}"))
                .spawn(|| async_io::block_on(executor.run(std::future::pending::<()>())))
                .expect("the system has threads for a runtime");
        }
        executor
    }

    fn spawn(executor: Self::Runtime, future: impl Spawn<Output = ()>) {
        executor.spawn(future).detach();
    }

    #[cfg(target_os = "linux")]
    fn block_on<F: Future>(_: Self::Runtime, future: F) -> F::Output {
        async_io::block_on(future)
    }

    async fn sleep(duration: Duration) {
        Timer::after(duration).await;
    }

    async fn listen() -> io::Result<(Self::Listener, SocketAddr)> {
        let listener = Async::<std::net::TcpListener>::bind(([127, 0, 0, 1], 0))?;
        let address = listener.get_ref().local_addr()?;
        Ok((listener, address))
    }

    async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
        Ok(listener.accept().await?.0)
    }

    async fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> io::Result<usize> {
        stream.read(buffer).await
    }

    async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
        stream.write_all(bytes).await
    }

    async fn copy(from: &mut Self::Stream, to: &mut Self::Stream) -> io::Result<u64> {
        futures_lite::io::copy(from, to).await
    }

    fn udp_echo(executor: Self::Runtime) -> SocketAddr {
        let (tell, told) = channel();
        Self::spawn(executor, async move {
            let socket = Async::<std::net::UdpSocket>::bind(([127, 0, 0, 1], 0));
            let socket = socket.expect("there are free ports");
            let address = socket.get_ref().local_addr().expect("it is bound");
            tell.send(address).expect("the client waits");
            let mut buffer = vec![0; 16 * 1024];
            while let Ok((n @ 1.., from)) = socket.recv_from(&mut buffer).await {
                // The client notices a lost message.
                _ = socket.send_to(&buffer[..n], from).await;
            }
        });
        told.recv().expect("the server has told where it is")
    }
}

#[cfg(unix)]
impl UnixServer for Smol {
    // `async_fs::File` reads ahead by megabytes, which a seek to another position discards.
    type File = Arc<File>;

    fn unix_echo(executor: Self::Runtime, path: &Path, connections: usize) {
        let listener = Async::<std::os::unix::net::UnixListener>::bind(path);
        let listener = listener.expect("the path is free");
        Self::spawn(executor, async move {
            for _ in 0..connections {
                let (mut stream, _) = listener.accept().await.expect("the client comes");
                Self::spawn(executor, async move {
                    let mut buffer = vec![0; 16 * 1024];
                    // An error shows on the client's side.
                    while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                        if stream.write_all(&buffer[..n]).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
    }

    async fn open(path: &Path, write: bool) -> io::Result<Arc<File>> {
        let path = path.to_owned();
        let open = move || File::options().read(true).write(write).open(path);
        Ok(Arc::new(blocking::unblock(open).await?))
    }

    async fn read_at(file: &mut Arc<File>, place: u64, buffer: &mut [u8]) -> io::Result<()> {
        let (file, mut bytes) = (file.clone(), vec![0; buffer.len()]);
        let read = move || file.read_exact_at(&mut bytes, place).map(|()| bytes);
        buffer.copy_from_slice(&blocking::unblock(read).await?);
        Ok(())
    }

    async fn write_at(file: &mut Arc<File>, place: u64, bytes: &[u8]) -> io::Result<()> {
        let (file, bytes) = (file.clone(), bytes.to_vec());
        blocking::unblock(move || file.write_all_at(&bytes, place)).await
    }

    async fn len(file: &Arc<File>) -> io::Result<u64> {
        let file = file.clone();
        blocking::unblock(move || Ok(file.metadata()?.len())).await
    }

    async fn process() -> io::Result<bool> {
        Ok(async_process::Command::new("true")
            .status()
            .await?
            .success())
    }
}
