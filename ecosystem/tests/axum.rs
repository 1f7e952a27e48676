use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Body,
    extract::{
        Path, Query, State,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    http::StatusCode,
    response::Response,
    routing::{get, post},
};
use futures::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::{
    net::TcpStream,
    sync::{Notify, oneshot},
};

use crate::support::{client, limit, listener, pattern};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    lines: Vec<String>,
}

#[derive(Deserialize)]
struct Range {
    from: u64,
    to: u64,
}

struct Shared {
    arrived: Notify,
    release: Notify,
}

fn routes(state: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/orders/{id}", get(order))
        .route("/sum", get(|Query(range): Query<Range>| async move {
            (range.from..=range.to).sum::<u64>().to_string()
        }))
        .route("/echo", post(|Json(order): Json<Order>| async move { Json(order) }))
        .route("/upload", post(|body: Body| async move {
            Response::new(Body::from_stream(body.into_data_stream()))
        }))
        .route("/socket", get(|upgrade: WebSocketUpgrade| async { upgrade.on_upgrade(socket) }))
        .route("/wait", get(wait))
        .with_state(state)
}

async fn order(Path(id): Path<u64>) -> Result<Json<Order>, StatusCode> {
    tokio::time::sleep(Duration::from_millis(1)).await;
    match id {
        0 => Err(StatusCode::NOT_FOUND),
        _ => Ok(Json(Order {
            id,
            lines: vec![format!("line {id}")],
        })),
    }
}

async fn socket(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        let Message::Text(text) = message else {
            continue;
        };
        let answer = text.chars().rev().collect::<String>();
        if socket.send(Message::Text(answer.into())).await.is_err() {
            break;
        }
    }
}

async fn wait(State(state): State<Arc<Shared>>) -> &'static str {
    state.arrived.notify_one();
    state.release.notified().await;
    "released"
}

struct Running {
    base: String,
    address: std::net::SocketAddr,
    state: Arc<Shared>,
    stop: oneshot::Sender<()>,
    server: tokio::task::JoinHandle<std::io::Result<()>>,
}

async fn serve() -> Running {
    let (listener, address) = listener().await;
    let state = Arc::new(Shared {
        arrived: Notify::new(),
        release: Notify::new(),
    });
    let (stop, stopped) = oneshot::channel();
    let app = routes(state.clone());
    let server = tokio::spawn(async move {
        axum::serve(listener, app)
            .with_graceful_shutdown(async { stopped.await.unwrap() })
            .await
    });
    Running {
        base: format!("http://{address}"),
        address,
        state,
        stop,
        server,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_and_json() {
    let running = serve().await;
    let base = running.base;
    let client = client().build().unwrap();
    limit(async {
        assert_eq!(
            client
                .get(&base)
                .send()
                .await
                .unwrap()
                .text()
                .await
                .unwrap(),
            "hello"
        );
        let sum = client
            .get(format!("{base}/sum"))
            .query(&[("from", 1), ("to", 100)]);
        assert_eq!(sum.send().await.unwrap().text().await.unwrap(), "5050");
        let missing = client.get(format!("{base}/orders/0")).send().await.unwrap();
        assert_eq!(missing.status(), 404);
        let wrong = client
            .get(format!("{base}/orders/many"))
            .send()
            .await
            .unwrap();
        assert_eq!(wrong.status(), 400);

        let sent = Order {
            id: 7,
            lines: (0..1000).map(|i| format!("line {i}")).collect(),
        };
        let answer = client
            .post(format!("{base}/echo"))
            .json(&sent)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.json::<Order>().await.unwrap(), sent);

        let body = pattern(1 << 20);
        let answer = client
            .post(format!("{base}/upload"))
            .body(body.clone())
            .send()
            .await
            .unwrap();
        assert!(answer.bytes().await.unwrap() == body);

        let many = (1..=200).map(|id| {
            let request = client.get(format!("{base}/orders/{id}")).send();
            async move { request.await.unwrap().json::<Order>().await.unwrap().id }
        });
        let ids = futures::future::join_all(many).await;
        assert_eq!(ids.iter().sum::<u64>(), 200 * 201 / 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn web_sockets() {
    let running = serve().await;
    let one = |n: usize| {
        let url = format!("ws://{}/socket", running.address);
        async move {
            let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
            for i in 0..100 {
                let text = format!("{n}-{i}-abc");
                let reversed: String = text.chars().rev().collect();
                socket.send(text.into()).await.unwrap();
                let answer = socket.next().await.unwrap().unwrap();
                assert_eq!(answer.into_text().unwrap().as_str(), reversed);
            }
            socket.close(None).await.unwrap();
            while let Some(Ok(_)) = socket.next().await {}
        }
    };
    let mut sockets = tokio::task::JoinSet::new();
    for n in 0..10 {
        sockets.spawn(one(n));
    }
    limit(sockets.join_all()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn graceful_shutdown_waits_for_requests() {
    let mut running = serve().await;
    let client = client().build().unwrap();
    let request = tokio::spawn(client.get(format!("{}/wait", running.base)).send());
    limit(running.state.arrived.notified()).await;
    running.stop.send(()).unwrap();
    // The listener is closed although the request is still running.
    limit(async {
        while TcpStream::connect(running.address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert!(
        tokio::time::timeout(Duration::from_millis(20), &mut running.server)
            .await
            .is_err()
    );
    running.state.release.notify_one();
    let answer = limit(request).await.unwrap().unwrap();
    assert_eq!(answer.text().await.unwrap(), "released");
    limit(running.server).await.unwrap().unwrap();
}

/// Connections that clients drop in the middle do not disturb the others.
#[tokio::test]
async fn clients_that_go_away() {
    use tokio::io::AsyncWriteExt;
    let running = serve().await;
    for _ in 0..50 {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        stream
            .write_all(b"POST /upload HTTP/1.1\r\ncontent-length: 1000\r\n\r\nabc")
            .await
            .unwrap();
    }
    let client = client().build().unwrap();
    let answer = limit(client.get(&running.base).send()).await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "hello");
}
