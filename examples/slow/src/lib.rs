//! The server and the clients of all slow services. A connection has a task, and a client makes a fixed number of
//! requests.

use std::future::Future;
use std::io;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::runtime::Builder;
use blitz_io::task::JoinSet;
use blitz_io::trace;

/// The load of a service.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of clients, each with a connection.
    pub clients: u32,
    /// Number of requests of each client, one after the other.
    pub requests: u32,
}

/// Returns the first argument of the program, or what it is without one. It is what a service is slow by: the tests change
/// it to see whether `blitz trace report --what-if` is right.
///
/// # Panics
///
/// Panics if the argument is no number.
#[must_use]
pub fn planted(default: u32) -> u32 {
    let argument = std::env::args().nth(1);
    argument.map_or(default, |text| text.parse().expect("it is a number"))
}

/// Returns the builder of a runtime with two workers.
#[must_use]
pub fn two_workers() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all();
    builder
}

/// Serves all requests of the load with `handler`, which gets the number of the request.
///
/// # Errors
///
/// Fails if a socket does.
pub async fn serve<H, F>(name: &'static str, load: Load, handler: H) -> io::Result<()>
where
    H: Fn(u32) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut tasks = JoinSet::new();
    for client in 0..load.clients {
        tasks.spawn(async move {
            let stream = TcpStream::connect(address).await?;
            request_all(stream, client * load.requests, load.requests).await
        });
        let (stream, _) = listener.accept().await?;
        tasks.spawn(answer_all(name, stream, handler.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.expect("no task panics")?;
    }
    Ok(())
}

async fn request_all(mut stream: TcpStream, first: u32, count: u32) -> io::Result<()> {
    for number in first..first + count {
        stream.write_all(&number.to_le_bytes()).await?;
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await?;
        assert_eq!(u32::from_le_bytes(answer), number, "another answer");
    }
    Ok(())
}

async fn answer_all<H, F>(name: &'static str, mut stream: TcpStream, handler: H) -> io::Result<()>
where
    H: Fn(u32) -> F,
    F: Future<Output = ()>,
{
    let mut question = [0; 4];
    while stream.read_exact(&mut question).await.is_ok() {
        let number = u32::from_le_bytes(question);
        trace::request(name).instrument(handler(number)).await;
        stream.write_all(&question).await?;
    }
    Ok(())
}
