//! A chat over TCP: each line goes to all members. A member that reads too slowly is told so.

use std::io;

use blitz_io::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sync::broadcast::{self, error::RecvError};
use blitz_io::time::{Duration, sleep};

async fn member(mut socket: TcpStream, room: broadcast::Sender<String>) -> io::Result<()> {
    let mut messages = room.subscribe();
    let (reader, mut writer) = socket.split();
    let mut lines = BufReader::new(reader).lines();
    writer.write_all(b"welcome\n").await?;
    loop {
        blitz_io::select! {
            line = lines.next_line() => match line? {
                Some(line) => _ = room.send(line),
                None => return Ok(()),
            },
            message = messages.recv() => {
                let text = match message {
                    Ok(message) => message,
                    Err(RecvError::Lagged(missed)) => format!("({missed} messages missed)"),
                    Err(RecvError::Closed) => return Ok(()),
                };
                writer.write_all(format!("{text}\n").as_bytes()).await?;
            }
        }
    }
}

async fn join(address: std::net::SocketAddr) -> io::Result<Lines<BufReader<TcpStream>>> {
    let mut lines = BufReader::new(TcpStream::connect(address).await?).lines();
    assert_eq!(lines.next_line().await?.unwrap(), "welcome");
    Ok(lines)
}

#[blitz_io::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = blitz_io::spawn(async move {
        let room = broadcast::channel(64).0;
        loop {
            let (socket, _) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    eprintln!("cannot accept: {error}");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            blitz_io::spawn(member(socket, room.clone()));
        }
    });

    let (mut ada, mut bob) = (join(address).await?, join(address).await?);
    ada.get_mut().get_mut().write_all(b"hello\n").await?;
    let heard = bob.next_line().await?.unwrap();
    println!("Bob heard: {heard}");
    assert_eq!(heard, "hello");
    assert_eq!(ada.next_line().await?.unwrap(), "hello");
    server.abort();
    Ok(())
}
