//! An HTTP server with axum.

use std::io;
use std::time::Duration;

use axum::serve::ListenerExt;
use axum::{Json, Router, routing::get};
use bytes::Bytes;
use serde::Serialize;
use tokio::net::TcpListener;

const TEXT: &str = "Hello, world!";

#[derive(Serialize)]
struct Order {
    id: u64,
    name: &'static str,
    lines: [u32; 4],
}

pub async fn serve(listener: TcpListener) -> io::Result<()> {
    // A reader can compute the bytes.
    let large: Bytes = (0..64 * 1024_u32).map(|i| (i % 251) as u8).collect();
    let order = || async {
        Json(Order {
            id: 7,
            name: "an order",
            lines: [1, 2, 3, 4],
        })
    };
    let routes = Router::new()
        .route("/text", get(|| async { TEXT }))
        .route("/json", get(order))
        .route("/large", get(move || std::future::ready(large.clone())))
        .route("/sleep", get(sleep));
    let listener = listener.tap_io(|stream| {
        // This affects only the latency.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, routes).await
}

async fn sleep() -> &'static str {
    tokio::time::sleep(Duration::from_millis(10)).await;
    TEXT
}
