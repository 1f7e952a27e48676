//! A TCP proxy: both directions at once, half-closed connections, and a limit for the connect.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::time::{sleep, timeout};

async fn proxy(listener: TcpListener, backend: SocketAddr) {
    loop {
        let (mut client, _) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        blitz_io::spawn(async move {
            let connect = timeout(Duration::from_secs(5), TcpStream::connect(backend));
            let mut server = connect.await??;
            // Passes on the end of one direction, and returns after the end of both.
            copy_bidirectional(&mut client, &mut server).await
        });
    }
}

#[blitz_io::main]
async fn main() -> io::Result<()> {
    let backend = TcpListener::bind("127.0.0.1:0").await?;
    let backend_address = backend.local_addr()?;
    let front = TcpListener::bind("127.0.0.1:0").await?;
    let address = front.local_addr()?;
    let proxy = blitz_io::spawn(proxy(front, backend_address));
    let server = blitz_io::spawn(async move {
        let (mut socket, _) = backend.accept().await?;
        let mut request = String::new();
        socket.read_to_string(&mut request).await?; // until the client's side is closed
        socket.write_all(request.to_uppercase().as_bytes()).await
    });

    let mut client = TcpStream::connect(address).await?;
    client.write_all(b"through two sockets").await?;
    client.shutdown().await?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).await?;
    println!("{answer}");
    assert_eq!(answer, "THROUGH TWO SOCKETS");
    server.await??;
    proxy.abort();
    Ok(())
}
