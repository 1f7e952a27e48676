//! The connections of clients to a server.

use std::io;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sync::{mpsc, oneshot};
use blitz_io::task;

use super::command::Command;
use super::message::{REQUEST, reply_to_bytes, request_from_bytes};

/// A command, and where its result goes. Without a result, the server is not the leader.
pub type Request = (Command, oneshot::Sender<u64>);

/// Accepts connections, and passes their commands on.
pub async fn accept(listener: TcpListener, requests: mpsc::Sender<Request>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        task::spawn(serve(stream, requests.clone()));
    }
}

async fn serve(mut stream: TcpStream, requests: mpsc::Sender<Request>) -> io::Result<()> {
    let mut bytes = [0; REQUEST];
    loop {
        stream.read_exact(&mut bytes).await?;
        let command = request_from_bytes(&bytes).ok_or(io::ErrorKind::InvalidData)?;
        let (sender, result) = oneshot::channel();
        if requests.send((command, sender)).await.is_err() {
            return Ok(());
        }
        let reply = reply_to_bytes(result.await.ok());
        stream.write_all(&reply).await?;
    }
}
