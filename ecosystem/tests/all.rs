//! One program per library, end to end over loopback; see book/src/moving/ecosystem.md.

mod support;

mod axum;
mod console;
mod hyper;
mod moka;
mod parallel;
mod postgres;
mod redis;
mod reqwest;
mod sqlx;
mod tls;
mod tokio_stream;
mod tokio_util;
mod tonic;
mod tower;
mod tracing;
mod tungstenite;
