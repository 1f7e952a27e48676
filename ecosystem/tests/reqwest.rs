use std::{convert::Infallible, io, time::Duration};

use axum::{
    Json, Router,
    body::Body,
    extract::Request,
    routing::{any, get, post},
};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::io::AsyncReadExt;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::support::{Certificate, client, limit, listener, pattern};

fn app() -> Router {
    Router::new()
        .route("/", get(|| async { "plain" }))
        .route(
            "/version",
            any(|request: Request| async move { format!("{:?}", request.version()) }),
        )
        .route(
            "/json",
            post(|Json(value): Json<serde_json::Value>| async move { Json(value) }),
        )
        .route(
            "/echo",
            post(|body: Body| async { Body::from_stream(body.into_data_stream()) }),
        )
        .route(
            "/never",
            get(|| async { std::future::pending::<&str>().await }),
        )
        .route(
            "/stuck",
            get(|| async {
                let first = futures::stream::iter([Ok::<_, Infallible>("first")]);
                Body::from_stream(first.chain(futures::stream::pending()))
            }),
        )
}

async fn plain() -> String {
    let (listener, address) = listener().await;
    tokio::spawn(async move { axum::serve(listener, app()).await });
    format!("http://{address}")
}

async fn with_tls(certificate: &Certificate) -> String {
    let (listener, address) = listener().await;
    let acceptor = tokio_rustls::TlsAcceptor::from(certificate.server(&["h2", "http/1.1"]));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let service = TowerToHyperService::new(app());
                let builder = auto::Builder::new(TokioExecutor::new());
                let _ = builder
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    format!("https://localhost:{}", address.port())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_requests() {
    let base = plain().await;
    let client = client().build().unwrap();
    limit(async {
        let json = serde_json::json!({"a": [1, 2, {"b": null}]});
        let answer = client
            .post(format!("{base}/json"))
            .json(&json)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.json::<serde_json::Value>().await.unwrap(), json);
        let tasks = (0..20).map(|_| {
            let (client, base) = (client.clone(), base.clone());
            tokio::spawn(async move {
                for _ in 0..25 {
                    let answer = client.get(&base).send().await.unwrap();
                    assert_eq!(answer.text().await.unwrap(), "plain");
                }
            })
        });
        futures::future::try_join_all(tasks).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls() {
    let certificate = Certificate::new();
    let base = with_tls(&certificate).await;
    let root = reqwest::Certificate::from_der(&certificate.der).unwrap();
    limit(async {
        let client2 = client().tls_certs_only([root.clone()]).build().unwrap();
        let client1 = client()
            .tls_certs_only([root])
            .http1_only()
            .build()
            .unwrap();
        for (client, version) in [(client1, "HTTP/1.1"), (client2, "HTTP/2.0")] {
            let answer = client.get(format!("{base}/version")).send().await.unwrap();
            assert_eq!(answer.text().await.unwrap(), version);
            let body = pattern(1 << 20);
            let answer = client
                .post(format!("{base}/echo"))
                .body(body.clone())
                .send()
                .await
                .unwrap();
            assert!(answer.bytes().await.unwrap() == body);
        }
        // A client that does not know the certificate rejects it.
        let other = Certificate::new();
        let root = reqwest::Certificate::from_der(&other.der).unwrap();
        let stranger = client().tls_certs_only([root]).build().unwrap();
        assert!(stranger.get(&base).send().await.unwrap_err().is_connect());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_both_ways() {
    let base = plain().await;
    let client = client().build().unwrap();
    limit(async {
        let data = pattern(2 << 20);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("upload");
        tokio::fs::write(&path, &data).await.unwrap();
        let file = tokio::fs::File::open(&path).await.unwrap();
        let body = reqwest::Body::wrap_stream(ReaderStream::new(file));
        let answer = client
            .post(format!("{base}/echo"))
            .body(body)
            .send()
            .await
            .unwrap();
        let stream = answer.bytes_stream().map_err(io::Error::other);
        let mut back = Vec::new();
        StreamReader::new(stream)
            .read_to_end(&mut back)
            .await
            .unwrap();
        assert!(back == data);

        // A body that fails in the middle fails the request.
        let parts = [Ok(Bytes::from("abc")), Err(io::Error::other("lost"))];
        let body = reqwest::Body::wrap_stream(futures::stream::iter(parts));
        let request = client.post(format!("{base}/json")).body(body);
        assert!(request.send().await.is_err());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeouts() {
    let base = plain().await;
    let short = Duration::from_millis(50);
    limit(async {
        let whole = client()
            .build()
            .unwrap()
            .get(format!("{base}/never"))
            .timeout(short);
        assert!(whole.send().await.unwrap_err().is_timeout());
        let reading = client().read_timeout(short).build().unwrap();
        let mut answer = reading.get(format!("{base}/stuck")).send().await.unwrap();
        assert_eq!(answer.chunk().await.unwrap().unwrap(), "first");
        assert!(answer.chunk().await.unwrap_err().is_timeout());
        // A request that is dropped cancels the server's handler; other requests continue.
        let client = client().build().unwrap();
        for _ in 0..20 {
            let request = client.get(format!("{base}/never")).send();
            assert!(
                tokio::time::timeout(Duration::from_millis(1), request)
                    .await
                    .is_err()
            );
        }
        let answer = client
            .get(&base)
            .timeout(Duration::from_secs(60))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.text().await.unwrap(), "plain");
        // No server listens there.
        let (closed, address) = listener().await;
        drop(closed);
        assert!(
            client
                .get(format!("http://{address}"))
                .send()
                .await
                .unwrap_err()
                .is_connect()
        );
    })
    .await;
}
