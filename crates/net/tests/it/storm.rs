//! Many connections that are opened and closed at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::time::timeout;

use crate::help::{LIMIT, multi};

const CONNECTIONS: usize = 10_000;
const CLIENTS: usize = 50;

#[test]
fn ten_thousand_connections_come_and_go() {
    let runtime = multi(2);
    let served = Arc::new(AtomicUsize::new(0));
    let work = async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let count = served.clone();
        let server = blitz_io::spawn(async move {
            for _ in 0..CONNECTIONS {
                let (mut stream, _) = listener.accept().await.unwrap();
                let count = count.clone();
                blitz_io::spawn(async move {
                    let byte = stream.read_u8().await.unwrap();
                    stream.write_u8(byte ^ 0xff).await.unwrap();
                    count.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                blitz_io::spawn(async move {
                    for round in 0..CONNECTIONS / CLIENTS {
                        let mut stream = TcpStream::connect(address).await.unwrap();
                        // So that no port stays in use for minutes.
                        stream.set_zero_linger().unwrap();
                        let byte = (client + round) as u8;
                        stream.write_u8(byte).await.unwrap();
                        assert_eq!(stream.read_u8().await.unwrap(), byte ^ 0xff);
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        server.await.unwrap();
    };
    runtime.block_on(async { timeout(LIMIT, work).await.expect("too slow") });
    let metrics = runtime.metrics();
    drop(runtime);
    assert_eq!(served.load(Ordering::Relaxed), CONNECTIONS);
    let registered = metrics.io_driver_fd_registered_count();
    assert_eq!(registered, 2 * CONNECTIONS as u64 + 1);
    assert_eq!(metrics.io_driver_fd_deregistered_count(), registered);
}
