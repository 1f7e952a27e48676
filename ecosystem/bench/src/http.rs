//! An HTTP server with axum: a route for each kind of handler.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use axum::serve::ListenerExt;
use axum::{Json, Router, routing::get};
use bytes::Bytes;
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const TEXT: &str = "Hello, world!";

/// One request of this many is slow in `mixed` and in `blocking`.
const SLOW_EVERY: u64 = 500;

/// Steps of computing, which take about 10 ms. A number and not a time, so that a thread
/// that loses its processor has no less to do.
const SLOW_STEPS: u64 = 10_000_000;

#[derive(Serialize)]
struct Order {
    id: u64,
    name: &'static str,
    lines: [u32; 4],
}

/// Serves the text, a file, and answers that need the keys server at the port `second`.
pub async fn serve(listener: TcpListener, file: &str, second: u16) -> io::Result<()> {
    // A reader can compute the bytes.
    let large: Bytes = (0..64 * 1024_u32).map(|i| (i % 251) as u8).collect();
    let file: Arc<Path> = Path::new(file).into();
    let order = || async {
        Json(Order {
            id: 7,
            name: "an order",
            lines: [1, 2, 3, 4],
        })
    };
    let sleep = || async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        TEXT
    };
    let pool = Arc::new(Pool {
        port: second,
        idle: Mutex::default(),
    });
    let routes = Router::new()
        .route("/fast", get(|| async { TEXT }))
        .route("/json", get(order))
        .route("/large", get(move || std::future::ready(large.clone())))
        .route("/sleep", get(sleep))
        .route("/mixed", get(sometimes(compute)))
        .route(
            "/blocking",
            get(sometimes(|| std::thread::sleep(Duration::from_millis(20)))),
        )
        .route("/file", get(move || read(file.clone())))
        .route("/relay", get(move || relay(pool.clone())));
    let listener = listener.tap_io(|stream| {
        // This affects only the latency.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, routes).await
}

/// A handler in which one request of many calls `slow`, on the worker's thread.
fn sometimes(
    slow: fn(),
) -> impl Fn() -> std::future::Ready<&'static str> + Clone + Send + Sync + 'static {
    let requests = Arc::new(AtomicU64::new(0));
    move || {
        if requests.fetch_add(1, Relaxed) % SLOW_EVERY == SLOW_EVERY - 1 {
            slow();
        }
        std::future::ready(TEXT)
    }
}

fn compute() {
    let mut value = 1_u64;
    for _ in 0..SLOW_STEPS {
        // Each step needs the result of the one before it.
        value = black_box(value.wrapping_mul(6_364_136_223_846_793_005));
    }
}

async fn read(file: Arc<Path>) -> Result<Vec<u8>, StatusCode> {
    tokio::fs::read(file)
        .await
        .map_err(|_| StatusCode::NOT_FOUND)
}

/// Connections to the second server. A request has one for itself while it waits.
struct Pool {
    port: u16,
    idle: Mutex<Vec<TcpStream>>,
}

async fn relay(pool: Arc<Pool>) -> Result<&'static str, StatusCode> {
    match ping(&pool).await {
        Ok(()) => Ok(TEXT),
        Err(_) => Err(StatusCode::BAD_GATEWAY),
    }
}

async fn ping(pool: &Pool) -> io::Result<()> {
    let idle = pool.idle.lock().unwrap().pop();
    let mut stream = match idle {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(("127.0.0.1", pool.port)).await?;
            stream.set_nodelay(true)?;
            stream
        }
    };
    stream.write_all(b"*1\r\n$4\r\nPING\r\n").await?;
    let mut answer = [0; 7];
    stream.read_exact(&mut answer).await?;
    if answer != *b"+PONG\r\n" {
        return Err(io::ErrorKind::InvalidData.into());
    }
    pool.idle.lock().unwrap().push(stream);
    Ok(())
}
