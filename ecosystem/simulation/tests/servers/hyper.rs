//! hyper, with HTTP 1 and HTTP 2.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::ledger::Ledger;
use crate::requests::{PING, over_http1, over_http2, over_reqwest};
use crate::site::{BoxError, LIMIT, PORT, Stop, check, stopped};

/// Serves connections until it is to end, and then those that are left.
async fn serve(ledger: Ledger, stop: Stop) -> Result<(), BoxError> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(LIMIT);
    builder.http2().timer(TokioTimer::new());
    builder
        .http2()
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING);
    let graceful = GracefulShutdown::new();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            () = stopped(stop.clone()) => break,
        };
        let ledger = ledger.clone();
        let service = service_fn(move |request| answer(ledger.clone(), request));
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection.into_owned());
        // It fails if its client crashes.
        tokio::spawn(async move { _ = connection.await });
    }
    graceful.shutdown().await;
    Ok(())
}

async fn answer(
    ledger: Ledger,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, BoxError> {
    // The client may have crashed after the head.
    let body = timeout(LIMIT, request.into_body().collect()).await??;
    let number = std::str::from_utf8(&body.to_bytes())?.parse()?;
    let answer = ledger.serve(number).await;
    Ok(Response::new(Full::from(answer.to_string())))
}

#[test]
fn hyper_answers_each_request_once_over_http1() {
    let report = check(serve, over_http1);
    assert!(report.never().is_empty(), "{report:?}");
}

#[test]
fn hyper_answers_each_request_once_over_http2() {
    let report = check(serve, over_http2);
    assert!(report.never().is_empty(), "{report:?}");
}

#[test]
fn hyper_answers_each_request_of_reqwest_once() {
    let report = check(serve, over_reqwest);
    assert!(report.never().is_empty(), "{report:?}");
}
