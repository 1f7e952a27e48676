//! The runtimes with Tokio's names: ours and Tokio's.

/// Implements the trait, with the contents of the modules `fs`, `io`, `net`, `process`,
/// `runtime`, `task` and `time` at the place of use.
macro_rules! under_tokios_names {
    ($server:ident) => {
        use std::io;
        #[cfg(unix)]
        use std::io::SeekFrom;
        use std::net::SocketAddr;
        #[cfg(unix)]
        use std::path::Path;
        use std::sync::mpsc::channel;
        use std::time::Duration;

        use crate::runtimes::{Later, Spawn};
        use crate::scenarios::io::server::*;

        pub(crate) struct $server;

        impl Server for $server {
            type Runtime = &'static runtime::Runtime;
            type Listener = net::TcpListener;
            type Stream = net::TcpStream;

            fn start(workers: usize) -> &'static runtime::Runtime {
                let runtime = runtime::Builder::new_multi_thread()
                    .worker_threads(workers)
                    .enable_all()
                    .build()
                    .expect("the system has threads for a runtime");
                Box::leak(Box::new(runtime))
            }

            fn spawn(runtime: Self::Runtime, future: impl Spawn<Output = ()>) {
                runtime.spawn(future);
            }

            #[cfg(target_os = "linux")]
            fn block_on<F: Future>(runtime: Self::Runtime, future: F) -> F::Output {
                runtime.block_on(future)
            }

            fn sleep(duration: Duration) -> impl Later<()> {
                time::sleep(duration)
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

            async fn copy(from: &mut net::TcpStream, to: &mut net::TcpStream) -> io::Result<u64> {
                streams::copy(from, to).await
            }

            fn udp_echo(runtime: Self::Runtime) -> SocketAddr {
                let (tell, told) = channel();
                runtime.spawn(async move {
                    let socket = net::UdpSocket::bind("127.0.0.1:0").await;
                    let socket = socket.expect("there are free ports");
                    let address = socket.local_addr().expect("it is bound");
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
        impl UnixServer for $server {
            type File = fs::File;

            fn unix_echo(runtime: Self::Runtime, path: &Path, connections: usize) {
                let _entered = runtime.enter();
                let listener = net::UnixListener::bind(path).expect("the path is free");
                runtime.spawn(async move {
                    for _ in 0..connections {
                        let (mut stream, _) = listener.accept().await.expect("the client comes");
                        runtime.spawn(async move {
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

            async fn open(path: &Path, write: bool) -> io::Result<fs::File> {
                let mut options = fs::OpenOptions::new();
                options.read(true).write(write).open(path).await
            }

            async fn read_at(file: &mut fs::File, place: u64, buffer: &mut [u8]) -> io::Result<()> {
                file.seek(SeekFrom::Start(place)).await?;
                file.read_exact(buffer).await.map(|_| ())
            }

            async fn write_at(file: &mut fs::File, place: u64, bytes: &[u8]) -> io::Result<()> {
                file.seek(SeekFrom::Start(place)).await?;
                file.write_all(bytes).await?;
                file.flush().await
            }

            async fn len(file: &fs::File) -> io::Result<u64> {
                Ok(file.metadata().await?.len())
            }

            async fn process() -> io::Result<bool> {
                Ok(process::Command::new("true").status().await?.success())
            }
        }
    };
}

mod ours {
    use blitz_io_aio as streams;
    #[cfg(unix)]
    use blitz_io_aio::AsyncSeekExt;
    use blitz_io_aio::{AsyncReadExt, AsyncWriteExt};
    use blitz_io_net as net;
    #[cfg(unix)]
    use blitz_io_os::{fs, process};
    use blitz_io_runtime::{runtime, time};

    under_tokios_names!(Ours);
}

mod theirs {
    use tokio::io as streams;
    #[cfg(unix)]
    use tokio::io::AsyncSeekExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    #[cfg(unix)]
    use tokio::{fs, process};
    use tokio::{net, runtime, time};

    under_tokios_names!(Tokio);
}

pub(super) use ours::Ours;
pub(super) use theirs::Tokio;
