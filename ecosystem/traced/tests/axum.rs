use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{MatchedPath, Path, Request},
    response::Response,
    routing::get,
};
use blitz_io::trace::RequestLayer;
use tokio::sync::{Notify, mpsc};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};

use crate::support::{ask, count, ended, get as fetch, listener, read_until, requests, run};

// ANCHOR: route
/// Returns the method and the route: the same for all users.
fn route(request: &Request) -> String {
    let route = request.extensions().get::<MatchedPath>();
    let path = route.map_or("(no route)", MatchedPath::as_str);
    format!("{} {path}", request.method())
}
// ANCHOR_END: route

async fn serve(app: Router) -> SocketAddr {
    let (listener, address) = listener().await;
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

const NAP: u32 = line!() + 2;
async fn user(Path(id): Path<u64>) -> String {
    tokio::time::sleep(Duration::from_millis(id)).await;
    format!("user {id}")
}

#[test]
fn each_call_is_a_request_with_the_name_of_its_route() {
    run(async {
        let app = Router::new().route("/users/{id}", get(user));
        let app = app.layer(RequestLayer::new(route));
        let address = serve(app).await;
        let calls = (1..=20).map(|id| async move {
            let answer = fetch(address, &format!("/users/{id}")).await;
            assert!(answer.ends_with(&format!("user {id}")), "{answer}");
        });
        let mut tasks = tokio::task::JoinSet::new();
        for call in calls {
            tasks.spawn(call);
        }
        tasks.join_all().await;
        let requests = requests("GET /users/{id}");
        assert_eq!(requests.len(), 20);
        let nap = format!("axum.rs:{NAP}");
        for request in requests {
            let naps = |part: &&blitz_io_inspect::trace::Node| {
                part.what == "timer Sleep" && part.at.ends_with(&nap)
            };
            assert_eq!(request.parts.iter().filter(naps).count(), 1, "{request:#?}");
        }
        assert_eq!(count("GET /users/1"), 0);
    });
}

#[test]
fn a_route_that_does_not_exist_is_a_request_of_the_fallback() {
    run(async {
        let app = Router::new().fallback(async || "none");
        let address = serve(app.layer(RequestLayer::http())).await;
        assert!(fetch(address, "/missing").await.ends_with("none"));
        assert_eq!(count("GET /missing"), 1);
    });
}

/// Returns an answer in two pieces, the second one when the test says so.
fn pieces(go: Arc<Notify>) -> Response {
    let (sender, receiver) = mpsc::channel::<&str>(1);
    tokio::spawn(async move {
        sender.send("first").await.unwrap();
        go.notified().await;
        // The client may be gone.
        _ = sender.send("second").await;
    });
    let stream = ReceiverStream::new(receiver).map(Ok::<_, Infallible>);
    Response::new(Body::from_stream(stream))
}

#[test]
fn a_request_lasts_until_its_answer_is_sent_if_the_layer_has_bodies() {
    run(async {
        let go = Arc::new(Notify::new());
        let (one, other) = (go.clone(), go.clone());
        let with_body = RequestLayer::http().with_body();
        let app = Router::new()
            .route("/stream", get(async || pieces(one)))
            .layer(with_body);
        let without = Router::new()
            .route("/head", get(async || pieces(other)))
            .layer(RequestLayer::http());
        let address = serve(app.merge(without)).await;

        let mut stream = ask(address, "/stream").await;
        read_until(&mut stream, "first").await;
        assert_eq!(count("GET /stream"), 0);
        go.notify_one();
        read_until(&mut stream, "0\r\n\r\n").await;
        assert_eq!(count("GET /stream"), 1);

        let mut stream = ask(address, "/head").await;
        read_until(&mut stream, "first").await;
        // Without bodies, the request ends with the response.
        assert_eq!(count("GET /head"), 1);
        go.notify_one();
        read_until(&mut stream, "0\r\n\r\n").await;
        assert_eq!(count("GET /head"), 1);
    });
}

/// A handler without an answer, which says that it has begun.
async fn never(begun: Arc<Notify>) -> Response {
    begun.notify_one();
    std::future::pending().await
}

#[test]
fn a_request_ends_when_its_client_goes_away() {
    run(async {
        let begun = Arc::new(Notify::new());
        // A permit of it is never there, so the second piece is never sent.
        let (handler, go) = (begun.clone(), Arc::new(Notify::new()));
        let app = Router::new()
            .route("/never", get(async || never(handler).await))
            .route("/endless", get(async || pieces(go)))
            .layer(RequestLayer::http().with_body());
        let address = serve(app).await;

        let stream = ask(address, "/never").await;
        begun.notified().await;
        assert_eq!(count("GET /never"), 0);
        drop(stream);
        ended("GET /never", 1).await;

        let mut stream = ask(address, "/endless").await;
        read_until(&mut stream, "first").await;
        assert_eq!(count("GET /endless"), 0);
        drop(stream);
        ended("GET /endless", 1).await;
    });
}
