//! The pool of connections to the database has two.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sync::Semaphore;
use blitz_io::time::sleep;
use blitz_io_slow::{Load, planted, serve, two_workers};

fn main() -> io::Result<()> {
    let connections = Arc::new(Semaphore::new(planted(2) as usize).named("connections"));
    let load = Load {
        clients: 12,
        requests: 20,
    };
    two_workers()
        .build()?
        .block_on(serve("GET /order", load, move |_| {
            let connections = connections.clone();
            async move {
                let _connection = connections.acquire().await.expect("it is not closed");
                sleep(Duration::from_millis(4)).await;
            }
        }))
}
