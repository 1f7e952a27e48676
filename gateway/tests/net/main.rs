//! Gateways as processes, each with a directory of segments of its own, over TCP connections that
//! a test can cut. Every receipt is counted and checked: sent = received + reported gaps.

#[path = "host.rs"]
mod host;
#[path = "proxy.rs"]
mod proxy;

mod hostile;
mod jobs;
mod routes;
