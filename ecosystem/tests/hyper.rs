use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Body, Frame, Incoming},
    service::service_fn,
};
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
};

use crate::support::{limit, listener, pattern};

type Answer = Response<BoxBody<Bytes, hyper::Error>>;

fn full(bytes: impl Into<Bytes>) -> BoxBody<Bytes, hyper::Error> {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed()
}

async fn answer(request: Request<Incoming>) -> Result<Answer, Infallible> {
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => Response::new(full("hello")),
        // The body is sent back while it arrives.
        (&Method::POST, "/echo") => Response::new(request.into_body().boxed()),
        (&Method::POST, "/count") => {
            let collected = request.into_body().collect().await.unwrap();
            let trailers = collected.trailers().is_some_and(|t| t["last"] == "yes");
            Response::new(full(format!("{} {trailers}", collected.to_bytes().len())))
        }
        (&Method::GET, "/slow") => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Response::new(full("slow"))
        }
        _ => {
            let mut response = Response::new(full(""));
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    })
}

/// Serves HTTP/1 and HTTP/2 on one port until `stop`, then waits for the connections.
async fn serve(listener: TcpListener, stop: Arc<Notify>) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(30));
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(10));
    let graceful = GracefulShutdown::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = stop.notified() => break,
        };
        let connection =
            builder.serve_connection_with_upgrades(TokioIo::new(stream), service_fn(answer));
        let connection = graceful.watch(connection.into_owned());
        tokio::spawn(async move {
            let _ = connection.await;
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

async fn start() -> (SocketAddr, Arc<Notify>, tokio::task::JoinHandle<()>) {
    let (listener, address) = listener().await;
    let stop = Arc::new(Notify::new());
    (address, stop.clone(), tokio::spawn(serve(listener, stop)))
}

fn get(address: SocketAddr, path: &str) -> Request<BoxBody<Bytes, hyper::Error>> {
    let uri = format!("http://{address}{path}");
    Request::get(uri)
        .header("host", "localhost")
        .body(full(""))
        .unwrap()
}

fn post<B>(address: SocketAddr, path: &str, body: B) -> Request<BoxBody<Bytes, hyper::Error>>
where
    B: Body<Data = Bytes, Error = hyper::Error> + Send + Sync + 'static,
{
    let uri = format!("http://{address}{path}");
    Request::post(uri)
        .header("host", "localhost")
        .body(body.boxed())
        .unwrap()
}

/// Returns a body of 100 frames and a trailer that arrives bit by bit.
fn slowly() -> BoxBody<Bytes, hyper::Error> {
    let frames = futures::stream::unfold(0, |i| async move {
        tokio::task::yield_now().await;
        let frame = match i {
            0..100 => Frame::data(Bytes::from(vec![i as u8; 1000])),
            100 => {
                let mut trailers = HeaderMap::new();
                trailers.insert("last", "yes".parse().unwrap());
                Frame::trailers(trailers)
            }
            _ => return None,
        };
        Some((Ok::<_, hyper::Error>(frame), i + 1))
    });
    BodyExt::boxed(StreamBody::new(frames))
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(
        response
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
            .into(),
    )
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_keeps_a_connection() {
    let (address, stop, server) = start().await;
    limit(async {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        let connection = tokio::spawn(connection);
        for _ in 0..200 {
            sender.ready().await.unwrap();
            let response = sender.send_request(get(address, "/")).await.unwrap();
            assert_eq!(text(response).await, "hello");
        }
        sender.ready().await.unwrap();
        let response = sender
            .send_request(post(address, "/count", slowly()))
            .await
            .unwrap();
        assert!(text(response).await.starts_with("100000 "));
        let body = pattern(3 << 20);
        sender.ready().await.unwrap();
        let response = sender
            .send_request(post(address, "/echo", full(body.clone())))
            .await
            .unwrap();
        assert!(response.into_body().collect().await.unwrap().to_bytes() == body);
        drop(sender);
        connection.await.unwrap().unwrap();
        stop.notify_one();
        server.await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_carries_many_requests_at_once() {
    let (address, stop, server) = start().await;
    limit(async {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(Duration::from_secs(10))
            .handshake(TokioIo::new(stream))
            .await
            .unwrap();
        let connection = tokio::spawn(connection);
        let mut requests = tokio::task::JoinSet::new();
        for n in 0..100usize {
            let mut sender = sender.clone();
            requests.spawn(async move {
                match n % 4 {
                    0 => {
                        let response = sender.send_request(get(address, "/slow")).await.unwrap();
                        assert_eq!(text(response).await, "slow");
                    }
                    1 => {
                        let request = post(address, "/count", slowly());
                        let response = sender.send_request(request).await.unwrap();
                        assert_eq!(text(response).await, "100000 true");
                    }
                    2 => {
                        // More than the windows of the flow control.
                        let body = pattern(200_000 + n);
                        let request = post(address, "/echo", full(body.clone()));
                        let response = sender.send_request(request).await.unwrap();
                        assert!(response.into_body().collect().await.unwrap().to_bytes() == body);
                    }
                    _ => {
                        let response = sender.send_request(get(address, "/no")).await.unwrap();
                        assert_eq!(response.status(), StatusCode::NOT_FOUND);
                    }
                }
            });
        }
        requests.join_all().await;
        drop(sender);
        connection.await.unwrap().unwrap();
        stop.notify_one();
        server.await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_of_connections_and_a_graceful_end() {
    let (address, stop, server) = start().await;
    limit(async {
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(20))
            .build_http::<BoxBody<Bytes, hyper::Error>>();
        let mut requests = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let client = client.clone();
            requests.spawn(async move {
                for _ in 0..20 {
                    assert_eq!(
                        text(client.request(get(address, "/")).await.unwrap()).await,
                        "hello"
                    );
                }
            });
        }
        requests.join_all().await;

        let running = tokio::spawn(client.request(get(address, "/slow")));
        tokio::time::sleep(Duration::from_millis(10)).await;
        stop.notify_one();
        // The request was accepted before the end, or it was refused; it is not cut off.
        if let Ok(response) = running.await.unwrap() {
            assert_eq!(text(response).await, "slow");
        }
        server.await.unwrap();
        assert!(client.request(get(address, "/")).await.is_err());
    })
    .await;
}

/// h2 without hyper: a stream that is reset, and one that waits for capacity.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h2_alone() {
    let (listener, address) = listener().await;
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let mut reset = 0;
        while let Some(request) = connection.accept().await {
            let Ok((request, mut respond)) = request else {
                break;
            };
            if request.uri().path() == "/reset" {
                respond.send_reset(h2::Reason::REFUSED_STREAM);
                reset += 1;
                continue;
            }
            tokio::spawn(async move {
                let mut body = request.into_body();
                let mut length = 0;
                while let Some(data) = body.data().await {
                    let data = data.unwrap();
                    length += data.len();
                    body.flow_control().release_capacity(data.len()).unwrap();
                }
                let mut send = respond.send_response(Response::new(()), false).unwrap();
                send.send_data(length.to_string().into(), true).unwrap();
            });
        }
        reset
    });
    limit(async {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
        let connection = tokio::spawn(connection);
        client = client.ready().await.unwrap();
        let reset = Request::get(format!("http://{address}/reset"))
            .body(())
            .unwrap();
        let (response, _) = client.send_request(reset, true).unwrap();
        assert_eq!(
            response.await.unwrap_err().reason(),
            Some(h2::Reason::REFUSED_STREAM)
        );
        client = client.ready().await.unwrap();
        let request = Request::post(format!("http://{address}/"))
            .body(())
            .unwrap();
        let (response, mut send) = client.send_request(request, false).unwrap();
        let mut left = 1 << 20;
        while left > 0 {
            send.reserve_capacity(left.min(1 << 14));
            let room = std::future::poll_fn(|cx| send.poll_capacity(cx))
                .await
                .unwrap()
                .unwrap();
            left -= room.min(left);
            send.send_data(vec![1; room].into(), left == 0).unwrap();
        }
        let mut body = response.await.unwrap().into_body();
        assert_eq!(
            body.data().await.unwrap().unwrap(),
            (1 << 20).to_string().as_bytes()
        );
        drop((client, send, body));
        connection.await.unwrap().unwrap();
        assert_eq!(server.await.unwrap(), 1);
    })
    .await;
}
