//! Helpers that the tests share.

use std::future::Future;
use std::time::Duration;

use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::time::timeout;

/// A wait in a test that lasts longer than this has failed.
pub const LIMIT: Duration = Duration::from_secs(900);

pub fn multi(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

/// Runs the test on runtimes of both flavours.
pub fn on_both<F: Future<Output = ()>>(test: impl Fn() -> F) {
    let current = Builder::new_current_thread().enable_all().build().unwrap();
    for runtime in [current, multi(2)] {
        runtime.block_on(async { timeout(LIMIT, test()).await.expect("too slow") });
    }
}

/// Returns the two ends of a TCP connection.
pub async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await;
    (client.unwrap(), listener.accept().await.unwrap().0)
}
