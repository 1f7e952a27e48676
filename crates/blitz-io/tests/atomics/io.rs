//! The driver: readiness that comes while tasks look, clear and wait.

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream, UnixStream};
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::task;

fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all();
    builder.build().unwrap()
}

#[test]
fn both_directions_of_a_socket_wake_their_tasks() {
    runtime().block_on(async {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reads, mut writes) = there.into_split();
        let echo = task::spawn(async move {
            let mut byte = [0];
            while reads.read(&mut byte).await.unwrap() > 0 {
                writes.write_all(&byte).await.unwrap();
            }
        });
        let (mut reads, mut writes) = here.into_split();
        let sends = task::spawn(async move { writes.write_all(b"abc").await.unwrap() });
        let mut bytes = [0; 3];
        reads.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"abc");
        sends.await.unwrap();
        echo.await.unwrap();
    });
}

#[test]
fn connections_are_accepted_and_closed() {
    runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let clients: Vec<_> = (0..2)
            .map(|n| {
                task::spawn(async move {
                    let mut stream = TcpStream::connect(address).await.unwrap();
                    stream.write_all(&[n]).await.unwrap();
                    stream.shutdown().await.unwrap();
                    let mut rest = vec![];
                    stream.read_to_end(&mut rest).await.unwrap();
                    assert_eq!(rest, [n]);
                })
            })
            .collect();
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            task::spawn(async move {
                let mut bytes = vec![];
                stream.read_to_end(&mut bytes).await.unwrap();
                stream.write_all(&bytes).await.unwrap();
            });
        }
        for client in clients {
            client.await.unwrap();
        }
    });
}
