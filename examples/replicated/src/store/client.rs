//! A client, which repeats a command until a leader answers.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::TcpStream;
use blitz_io::time::{sleep, timeout};

use super::command::{Client as Id, Command, Operation};
use super::message::{REPLY, reply_from_bytes, request_to_bytes};

/// The time that a server has to answer.
const PATIENCE: Duration = Duration::from_millis(400);
/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(30);

pub struct Client {
    id: Id,
    /// The number of the last command.
    number: u64,
    servers: Vec<SocketAddr>,
    /// The server that is tried next.
    server: usize,
    stream: Option<TcpStream>,
}

impl Client {
    pub fn new(id: Id, servers: Vec<SocketAddr>) -> Self {
        Self {
            id,
            number: 0,
            server: id as usize % servers.len(),
            servers,
            stream: None,
        }
    }

    /// Executes an operation, and returns its result.
    pub async fn execute(&mut self, operation: Operation) -> u64 {
        self.number += 1;
        let command = Command {
            client: self.id,
            number: self.number,
            operation,
        };
        loop {
            match timeout(PATIENCE, self.attempt(&command)).await {
                Ok(Ok(Some(result))) => return result,
                Ok(Ok(None)) => {}
                // An answer that comes later is none to the next command.
                _ => self.stream = None,
            }
            self.server = (self.server + 1) % self.servers.len();
            self.stream = None;
            sleep(PAUSE).await;
        }
    }

    /// Sends a command to a server. `None` if that is not the leader.
    async fn attempt(&mut self, command: &Command) -> io::Result<Option<u64>> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(TcpStream::connect(self.servers[self.server]).await?),
        };
        stream.write_all(&request_to_bytes(command)).await?;
        let mut reply = [0; REPLY];
        stream.read_exact(&mut reply).await?;
        Ok(reply_from_bytes(&reply))
    }
}
