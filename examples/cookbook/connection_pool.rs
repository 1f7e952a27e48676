//! A pool of connections: a semaphore counts them, a list keeps the idle ones.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sync::{OwnedSemaphorePermit, Semaphore};
use blitz_io::thread::Mutex;
use blitz_io::time::{Duration, sleep};

struct Pool {
    address: std::net::SocketAddr,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<TcpStream>>,
}

/// A connection that goes back to its pool when it is dropped.
struct Connection {
    stream: Option<TcpStream>,
    pool: Arc<Pool>,
    // Dropped after the stream is back in the list.
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    fn new(address: std::net::SocketAddr, size: usize) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(size));
        Arc::new(Self {
            address,
            permits,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// Takes an idle connection or makes one; waits while all are in use, first come, first served.
    async fn get(self: &Arc<Self>) -> io::Result<Connection> {
        let permit = self.permits.clone().acquire_owned().await.unwrap();
        let idle = self.idle.lock().pop();
        let stream = match idle {
            Some(stream) => stream,
            None => TcpStream::connect(self.address).await?,
        };
        Ok(Connection {
            stream: Some(stream),
            pool: self.clone(),
            _permit: permit,
        })
    }
}

impl Connection {
    /// Closes the connection instead of giving it back: after an error, its state is unknown.
    fn discard(mut self) {
        self.stream = None;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.pool.idle.lock().extend(self.stream.take());
    }
}

impl Deref for Connection {
    type Target = TcpStream;
    fn deref(&self) -> &TcpStream {
        self.stream.as_ref().expect("present until the drop")
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut TcpStream {
        self.stream.as_mut().expect("present until the drop")
    }
}

#[blitz_io::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let pool = Pool::new(listener.local_addr()?, 3);
    let server = blitz_io::spawn(async move {
        let mut accepted = 0;
        loop {
            let (mut socket, _) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    eprintln!("cannot accept: {error}");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            accepted += 1;
            assert!(accepted <= 3, "the pool has at most three connections");
            blitz_io::spawn(async move {
                let mut byte = [0];
                while socket.read_exact(&mut byte).await.is_ok() {
                    socket.write_all(&byte).await.unwrap();
                }
            });
        }
    });

    let mut clients = blitz_io::task::JoinSet::new();
    for client in 0..20_u8 {
        let pool = pool.clone();
        clients.spawn(async move {
            let mut connection = pool.get().await.unwrap();
            connection.write_all(&[client]).await.unwrap();
            let mut answer = [0];
            connection.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, [client]);
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    let idle = pool.idle.lock().len();
    println!("20 clients, {idle} connections");
    assert!((1..=3).contains(&idle) && pool.permits.available_permits() == 3);
    pool.get().await?.discard();
    assert_eq!(pool.idle.lock().len(), idle - 1);
    server.abort();
    Ok(())
}
