//! Chapter 1: a server that sends back all it receives, and a client that checks it.

// ANCHOR: serve
use std::io;
use std::net::SocketAddr;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::time::{Duration, sleep};

async fn serve(listener: TcpListener) {
    loop {
        let (socket, _) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        blitz_io::spawn(async move {
            if let Err(error) = echo(socket).await {
                eprintln!("a connection failed: {error}");
            }
        });
    }
}

async fn echo(mut socket: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match socket.read(&mut buffer).await? {
            0 => return Ok(()), // the client has closed its side
            read => socket.write_all(&buffer[..read]).await?,
        }
    }
}
// ANCHOR_END: serve

// ANCHOR: main
#[blitz_io::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = blitz_io::spawn(serve(listener));
    client(address).await?;
    server.abort();
    Ok(())
}

async fn client(address: SocketAddr) -> io::Result<()> {
    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(b"hello").await?;
    let mut answer = [0; 5];
    socket.read_exact(&mut answer).await?;
    assert_eq!(&answer, b"hello");
    println!("{}", String::from_utf8_lossy(&answer));
    Ok(())
}
// ANCHOR_END: main
