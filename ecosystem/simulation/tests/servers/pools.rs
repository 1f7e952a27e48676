//! bb8 and deadpool: pools of connections to a server that crashes. Users who give up leave connections on which an answer is
//! still to come, so a pool that gave such a connection to another user would mix up answers.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::ledger::Ledger;
use crate::site::{BoxError, LIMIT, PORT, Stop, check, send_requests, stopped};

/// The number of connections of a pool.
const CONNECTIONS: usize = 2;
/// The number of users of a pool.
const USERS: usize = 3;

/// Answers numbers with their doubles, on any number of connections.
pub async fn serve(ledger: Ledger, stop: Stop) -> Result<(), BoxError> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            () = stopped(stop.clone()) => break,
        };
        connections.spawn(answer(stream, ledger.clone()));
    }
    // The other end of some has crashed, and sends nothing any more.
    connections.shutdown().await;
    Ok(())
}

async fn answer(mut stream: TcpStream, ledger: Ledger) -> io::Result<()> {
    loop {
        let number = stream.read_u64().await?;
        stream.write_u64(ledger.serve(number).await).await?;
    }
}

/// A connection, which counts as open until it is dropped.
struct Connection {
    stream: TcpStream,
    /// An answer is still to come.
    is_busy: bool,
    open: Arc<AtomicUsize>,
}

impl Connection {
    async fn ask(&mut self, number: u64) -> Result<u64, BoxError> {
        assert!(!self.is_busy, "the pool gives out a broken connection");
        self.is_busy = true;
        self.stream.write_u64(number).await?;
        let answer = self.stream.read_u64().await?;
        self.is_busy = false;
        Ok(answer)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.open.fetch_sub(1, SeqCst);
    }
}

/// Opens connections of one pool.
struct Connector {
    server: IpAddr,
    open: Arc<AtomicUsize>,
}

impl Connector {
    fn new(server: IpAddr) -> Self {
        let open = Arc::default();
        Self { server, open }
    }

    async fn connection(&self) -> io::Result<Connection> {
        let connects = TcpStream::connect((self.server, PORT));
        let stream = timeout(LIMIT, connects).await??;
        let open = self.open.fetch_add(1, SeqCst) + 1;
        assert!(open <= CONNECTIONS, "a pool has too many connections");
        Ok(Connection {
            stream,
            is_busy: false,
            open: self.open.clone(),
        })
    }
}

impl bb8::ManageConnection for Connector {
    type Connection = Connection;
    type Error = io::Error;

    async fn connect(&self) -> io::Result<Connection> {
        self.connection().await
    }

    async fn is_valid(&self, _: &mut Connection) -> io::Result<()> {
        Ok(())
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        connection.is_busy
    }
}

impl deadpool::managed::Manager for Connector {
    type Type = Connection;
    type Error = io::Error;

    async fn create(&self) -> io::Result<Connection> {
        self.connection().await
    }

    async fn recycle(
        &self,
        connection: &mut Connection,
        _: &deadpool::managed::Metrics,
    ) -> deadpool::managed::RecycleResult<io::Error> {
        if connection.is_busy {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
        }
        Ok(())
    }
}

async fn over_bb8(ledger: Ledger, server: IpAddr) {
    let builder = bb8::Pool::builder().max_size(CONNECTIONS as u32);
    // These use the system's clock.
    let builder = builder.max_lifetime(None).idle_timeout(None);
    let builder = builder.connection_timeout(LIMIT);
    let pool = builder.build_unchecked(Connector::new(server));
    let mut users = JoinSet::new();
    for _ in 0..USERS {
        let (ledger, pool) = (ledger.clone(), pool.clone());
        users.spawn(send_requests(ledger, move |number| {
            let pool = pool.clone();
            async move { pool.get().await?.ask(number).await }
        }));
    }
    users.join_all().await;
}

async fn over_deadpool(ledger: Ledger, server: IpAddr) {
    let pool = deadpool::managed::Pool::<Connector>::builder(Connector::new(server));
    let pool = pool.max_size(CONNECTIONS).build().unwrap();
    let mut users = JoinSet::new();
    for _ in 0..USERS {
        let (ledger, pool) = (ledger.clone(), pool.clone());
        users.spawn(send_requests(ledger, move |number| {
            let pool = pool.clone();
            async move { pool.get().await?.ask(number).await }
        }));
    }
    users.join_all().await;
}

#[test]
fn bb8_mixes_up_no_answers_and_recovers() {
    let report = check(serve, over_bb8);
    assert!(report.never().is_empty(), "{report:?}");
}

#[test]
fn deadpool_mixes_up_no_answers_and_recovers() {
    let report = check(serve, over_deadpool);
    assert!(report.never().is_empty(), "{report:?}");
}
