//! The service of axum.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;

use crate::handlers::{State, handle};

/// Serves until a handler wants the end.
pub async fn serve(listener: TcpListener, state: Arc<State>) {
    let end = state.clone();
    let router = Router::new()
        .route("/{name}", get(request))
        .with_state(state);
    let served = axum::serve(listener, router)
        .with_graceful_shutdown(async move { end.ends.notified().await });
    served.await.expect("the listener works");
}

async fn request(Shared(state): Shared<Arc<State>>, Path(name): Path<String>) -> StatusCode {
    if handle(&state, &name).await {
        StatusCode::OK
    } else {
        StatusCode::NOT_FOUND
    }
}
