//! Gateways as processes, each with a directory of segments of its own, over TCP connections that
//! a test can cut. Every receipt is counted and checked: sent = received + reported gaps.

#[path = "host.rs"]
mod host;
#[path = "lossy.rs"]
mod lossy;
#[path = "namespace.rs"]
mod namespace;
#[path = "proxy.rs"]
mod proxy;

mod forged;
mod hostile;
mod hosts;
mod jobs;
mod names;
mod peers;
mod recipe;
mod routes;
