//! Keeps keys and values in memory, and speaks the protocol of Redis.
//!
//! ```sh
//! cargo run --release --example key_value -- --listen 127.0.0.1:6379
//! redis-benchmark -q -P 16 -t ping,set,get,incr,lpush,lrange,mset
//! ```
//!
//! Each connection is a task. It decodes commands with a codec of `tokio_util`, which works
//! on the sockets of blitz-io with the feature `tokio`. Replies are sent when no further
//! command is waiting, so that a client with many commands in flight costs few system
//! calls.
//!
//! It has strings, lists, sets and hashes, and keys that expire. An unknown command is
//! answered with an error that names it. The exit code is 0 after Ctrl-C, 1 if the address
//! cannot be used, and 2 if the command line is wrong.

mod commands;
mod resp;
#[path = "../shutdown.rs"]
mod shutdown;
mod store;

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::select;
use blitz_io::sync::CancellationToken;
use blitz_io::task::TaskTracker;
use blitz_io::time::{interval, sleep};
use clap::Parser;
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio_util::codec::Framed;

use resp::{Reply, Resp};
use store::Store;

/// Keeps keys and values in memory, and speaks the protocol of Redis.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where to listen; port 0 lets the system choose
    #[arg(long, default_value = "127.0.0.1:6379", value_name = "ADDRESS")]
    listen: SocketAddr,
}

#[blitz_io::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let listener = match TcpListener::bind(options.listen).await {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("key_value: cannot listen at {}: {error}", options.listen);
            return ExitCode::FAILURE;
        }
    };
    let end = CancellationToken::new();
    let ending = end.clone();
    shutdown::on_request("key_value", move || ending.cancel());
    if let Ok(address) = listener.local_addr() {
        println!("listening on {address}");
    }
    let store = Arc::new(Store::default());
    select! {
        () = serve(listener, store.clone(), end) => {}
        () = expire(&store) => {}
    }
    ExitCode::SUCCESS
}

/// Removes expired keys, for ever.
async fn expire(store: &Store) {
    let mut ticks = interval(Duration::from_millis(100));
    loop {
        ticks.tick().await;
        store.expire();
    }
}

/// Accepts clients until the end.
async fn serve(listener: TcpListener, store: Arc<Store>, end: CancellationToken) {
    let clients = TaskTracker::new();
    loop {
        let accepted = select! {
            accepted = listener.accept() => accepted,
            () = end.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (store, end) = (store.clone(), end.clone());
                clients.spawn(async move {
                    select! {
                        // A client that has left cannot be told about an error.
                        _ = converse(stream, &store) => {}
                        () = end.cancelled() => {}
                    }
                });
            }
            Err(error) => {
                // For example, there are no descriptors left, which lasts for a while.
                eprintln!("key_value: cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
    clients.close();
    clients.wait().await;
}

/// Serves one client until it leaves or breaks the protocol.
async fn converse(stream: TcpStream, store: &Store) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut client = Framed::new(stream, Resp::default());
    loop {
        let command = match client.next().now_or_never() {
            Some(command) => command,
            None => {
                client.flush().await?;
                client.next().await
            }
        };
        let command = match command {
            Some(Ok(command)) => command,
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                let reply = Reply::Error(format!("ERR Protocol error: {error}"));
                return client.send(reply).await;
            }
            Some(Err(error)) => return Err(error),
            None => return client.flush().await,
        };
        let quits = command[0].eq_ignore_ascii_case(b"quit");
        client.feed(commands::run(&command, store)).await?;
        if quits {
            return client.flush().await;
        }
    }
}
