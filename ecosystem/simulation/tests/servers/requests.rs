//! Requests of hyper's client, also as a part of reqwest: a number in the body, and its double as the answer.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, header};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::ledger::Ledger;
use crate::site::{BoxError, PORT, send_requests};

type OwnClient = Client<HttpConnector, Full<Bytes>>;

/// The interval of pings of HTTP 2, and the time in which an answer must come.
pub const PING: Duration = Duration::from_secs(2);

/// A client with a pool of connections of HTTP 1.
pub async fn over_http1(ledger: Ledger, server: IpAddr) {
    let mut builder = Client::builder(TokioExecutor::new());
    let client = builder.pool_timer(TokioTimer::new()).build_http();
    send(ledger, client, server).await;
}

/// A client with one connection of HTTP 2.
pub async fn over_http2(ledger: Ledger, server: IpAddr) {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new());
    builder.http2_only(true).http2_keep_alive_interval(PING);
    builder
        .http2_keep_alive_timeout(PING)
        .http2_keep_alive_while_idle(true);
    send(ledger, builder.build_http(), server).await;
}

async fn send(ledger: Ledger, client: OwnClient, server: IpAddr) {
    send_requests(ledger, |number| ask(&client, server, number)).await;
}

async fn ask(client: &OwnClient, server: IpAddr, number: u64) -> Result<u64, BoxError> {
    let request = Request::post(format!("http://{server}:{PORT}/"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::from(number.to_string()))?;
    let response = client.request(request).await?;
    if !response.status().is_success() {
        return Err(response.status().to_string().into());
    }
    let answer = response.into_body().collect().await?.to_bytes();
    Ok(std::str::from_utf8(&answer)?.parse()?)
}

/// reqwest, which finds the server by its name.
pub async fn over_reqwest(ledger: Ledger, _: IpAddr) {
    let client = reqwest::Client::new();
    let ask = |number: u64| {
        let request = client.post(format!("http://server:{PORT}/"));
        async move {
            let response = request.body(number.to_string()).send().await?;
            let answer = response.error_for_status()?.text().await?;
            Ok(answer.parse()?)
        }
    };
    send_requests(ledger, ask).await;
}
