//! A service of axum, and a client of hyper that asks it once.

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use crate::world::TcpStream;

pub const PORT: u16 = 9_999;

pub fn routes() -> Router {
    let greet = |Path(name): Path<String>| async move { format!("hello {name}") };
    Router::new().route("/greet/{name}", get(greet))
}

/// Asks the server for a greeting. Returns the status and the text.
pub async fn ask() -> String {
    let stream = TcpStream::connect(("server", PORT)).await.unwrap();
    let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = Request::get("/greet/ada").header("host", "server");
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let answer = client.send_request(request).await.unwrap();
    let status = answer.status();
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    drop(client);
    connection.await.unwrap().unwrap();
    format!("{status}: {}", String::from_utf8_lossy(&text))
}
