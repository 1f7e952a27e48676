//! axum, with hyper's client.

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use tokio::net::TcpListener;

use crate::ledger::Ledger;
use crate::requests::over_http1;
use crate::site::{BoxError, PORT, Stop, check, stopped};

async fn double(State(ledger): State<Ledger>, Json(number): Json<u64>) -> Json<u64> {
    Json(ledger.serve(number).await)
}

async fn serve(ledger: Ledger, stop: Stop) -> Result<(), BoxError> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    let router = Router::new().route("/", post(double)).with_state(ledger);
    let server = axum::serve(listener, router).with_graceful_shutdown(stopped(stop));
    Ok(server.await?)
}

#[test]
fn axum_answers_each_request_once() {
    let report = check(serve, over_http1);
    assert!(report.never().is_empty(), "{report:?}");
}
