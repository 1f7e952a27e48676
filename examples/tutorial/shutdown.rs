//! Chapter 7: an orderly end. No new connections, a time for the old ones, then an abort.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use blitz_io::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sync::CancellationToken;
use blitz_io::task::TaskTracker;
use blitz_io::time::{sleep, timeout};

// ANCHOR: server
struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    connections: TaskTracker,
}

impl Server {
    async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (stop, connections) = (CancellationToken::new(), TaskTracker::new());
        let (token, tracker) = (stop.clone(), connections.clone());
        connections.spawn(async move {
            // The listener is closed when the token is cancelled.
            while let Some(accepted) = token.run_until_cancelled(listener.accept()).await {
                match accepted {
                    Ok((socket, _)) => _ = tracker.spawn(connection(socket, token.clone())),
                    Err(error) => {
                        eprintln!("cannot accept: {error}");
                        sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        });
        Ok(Self {
            address,
            stop,
            connections,
        })
    }

    /// Ends the server. Returns whether all connections ended within `grace`.
    async fn shutdown(self, grace: Duration) -> bool {
        self.stop.cancel();
        self.connections.close();
        timeout(grace, self.connections.wait()).await.is_ok()
    }
}

async fn connection(mut socket: TcpStream, stop: CancellationToken) -> io::Result<()> {
    let (reader, mut writer) = socket.split();
    let mut requests = BufReader::new(reader).lines();
    // Between two requests a connection may end; within one it may not.
    while let Some(request) = stop.run_until_cancelled(requests.next_line()).await {
        let Some(request) = request? else {
            return Ok(());
        };
        sleep(Duration::from_millis(20)).await; // the work
        writer.write_all(format!("{request}\n").as_bytes()).await?;
    }
    writer.write_all(b"closing\n").await
}
// ANCHOR_END: server

// ANCHOR: main
#[blitz_io::main]
async fn main() -> io::Result<()> {
    let server = Server::start().await?;
    let mut client = TcpStream::connect(server.address).await?;
    client.write_all(b"one\n").await?;
    let mut first = [0; 4];
    client.read_exact(&mut first).await?;
    assert_eq!(&first, b"one\n");

    // A service waits for a signal here: `blitz_io::signal::ctrl_c().await?`
    assert!(server.shutdown(Duration::from_secs(30)).await);
    let mut rest = String::new();
    client.read_to_string(&mut rest).await?;
    assert_eq!(rest, "closing\n");
    println!("all connections have ended");
    Ok(())
}
// ANCHOR_END: main
