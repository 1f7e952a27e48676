//! Chapter 8: tests with a paused clock, which takes no time and never flickers.

use std::time::Duration;

use blitz_io::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use blitz_io::time::timeout;

// ANCHOR: connection
const IDLE: Duration = Duration::from_secs(60);

/// Serves one connection; over anything that can be read and written.
async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    loop {
        request.clear();
        let Ok(read) = timeout(IDLE, stream.read_line(&mut request)).await else {
            return stream.write_all(b"error: idle\n").await;
        };
        if read? == 0 {
            return Ok(());
        }
        stream.write_all(request.to_uppercase().as_bytes()).await?;
    }
}
// ANCHOR_END: connection

// ANCHOR: test
/// A minute of silence ends a connection, and 59 seconds do not.
async fn an_idle_connection_is_closed() {
    let (client, server) = blitz_io::io::duplex(64);
    let served = blitz_io::spawn(connection(server));
    let mut client = BufReader::new(client);
    let mut line = String::new();

    blitz_io::time::sleep(Duration::from_secs(59)).await;
    client.write_all(b"still there\n").await.unwrap();
    client.read_line(&mut line).await.unwrap();
    assert_eq!(line, "STILL THERE\n");

    let silent = blitz_io::time::Instant::now();
    line.clear();
    client.read_line(&mut line).await.unwrap();
    assert_eq!(line, "error: idle\n");
    assert_eq!(silent.elapsed().as_secs(), 60);
    served.await.unwrap().unwrap();
}
// ANCHOR_END: test

// In a test: #[blitz_io::test(start_paused = true)]
#[blitz_io::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let start = std::time::Instant::now();
    an_idle_connection_is_closed().await;
    println!("two minutes in {:?}", start.elapsed());
}
