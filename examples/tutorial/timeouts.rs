//! Chapter 5: limits for a silent client, a slow answer, and the number of connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sync::Semaphore;
use blitz_io::time::{sleep, timeout};

// ANCHOR: limits
const IDLE: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_millis(50);
const CONNECTIONS: usize = 100;

async fn connection(mut socket: TcpStream) -> io::Result<()> {
    let (reader, mut writer) = socket.split();
    let mut requests = BufReader::new(reader).lines();
    loop {
        // Reading a line is cancel safe: what was read stays in the buffer.
        let Ok(request) = timeout(IDLE, requests.next_line()).await else {
            return writer.write_all(b"error: idle\n").await;
        };
        let Some(request) = request? else {
            return Ok(());
        };
        let line = match timeout(ANSWER, answer(&request)).await {
            Ok(line) => line,
            Err(_) => "error: took too long\n".to_owned(),
        };
        writer.write_all(line.as_bytes()).await?;
    }
}

async fn serve(listener: TcpListener) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Before `accept`: clients above the limit wait in the system's queue.
        let permit = permits.clone().acquire_owned().await.unwrap();
        let (socket, _) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        blitz_io::spawn(async move {
            let result = connection(socket).await;
            drop(permit);
            result
        });
    }
}
// ANCHOR_END: limits

async fn answer(request: &str) -> String {
    if request == "slow" {
        std::future::pending::<()>().await;
    }
    format!("{request}\n")
}

#[blitz_io::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // The server starts after this, so the requests cannot come too late for it.
    let mut client = TcpStream::connect(address).await?;
    client.write_all(b"fast\nslow\n").await?;

    let server = blitz_io::spawn(serve(listener));
    let mut answers = String::new();
    // The server closes the connection, since nothing follows.
    client.read_to_string(&mut answers).await?;
    assert_eq!(answers, "fast\nerror: took too long\nerror: idle\n");
    print!("{answers}");
    server.abort();
    Ok(())
}
