//! The examples of turmoil and madsim, with what they share in `../shared`, on the simulator of blitz-io.

#[path = "../../shared/calls.rs"]
mod calls;
#[path = "../../shared/cluster.rs"]
mod cluster;
#[path = "../../shared/echo.rs"]
mod echo;
#[path = "../../shared/greeter.rs"]
mod greeter;
#[path = "../../shared/groups.rs"]
mod groups;
#[path = "../../shared/grpc.rs"]
mod grpc;
#[path = "../../shared/harness.rs"]
mod harness;
#[path = "../../shared/http.rs"]
mod http;
#[path = "../../shared/random.rs"]
mod random;
mod rpc;
mod world;

use std::net::IpAddr;
use std::time::Duration;

use blitz_io::sim::{self, Link};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;

use greeter::Greets;
use greeter::greeter_server::GreeterServer;
use world::{run_on, simulate};

/// Turmoil's mean latency.
fn turmoil() -> Link {
    Link::new().latency(Duration::ZERO, Duration::from_millis(40))
}

/// Madsim's latency.
fn madsim() -> Link {
    Link::new().latency(Duration::from_millis(1), Duration::from_millis(10))
}

fn cluster(seed: u64) -> String {
    simulate(seed, turmoil(), move || async move {
        for server in 0..cluster::SERVERS {
            sim::host(&cluster::name(server), |_| cluster::serve());
        }
        let clients = tokio::spawn(cluster::clients(seed));
        let crash = |server| sim::named(&cluster::name(server)).crash();
        let failures = cluster::fail(seed, crash).await;
        let answers = clients.await.unwrap();
        format!("{answers} answers, {failures} failures")
    })
}

fn axum(seed: u64) -> String {
    simulate(seed, turmoil(), || async {
        sim::host("server", |_| async {
            let listener = TcpListener::bind(("0.0.0.0", http::PORT)).await?;
            axum::serve(listener, http::routes()).await
        });
        sleep(Duration::from_secs(1)).await;
        http::ask().await
    })
}

fn grpc(seed: u64) -> String {
    simulate(seed, turmoil(), || async {
        sim::host("server", |_| async {
            let listener = TcpListener::bind(("0.0.0.0", grpc::PORT)).await.unwrap();
            let server = Server::builder().add_service(GreeterServer::new(Greets));
            let connections = TcpListenerStream::new(listener);
            server.serve_with_incoming(connections).await.unwrap();
        });
        sleep(Duration::from_secs(1)).await;
        grpc::ask().await
    })
}

fn group(seed: u64, to: IpAddr) -> String {
    simulate(seed, turmoil(), move || async move {
        let listeners = ["first", "second"].map(|name| run_on(name, groups::listen(to)));
        let sender = run_on("sender", groups::send(to));
        let mut received = Vec::new();
        for listener in listeners {
            received.push(listener.await.unwrap());
        }
        sender.await.unwrap();
        format!("{received:?}")
    })
}

fn main() {
    harness::main(&[
        ("cluster", cluster),
        ("axum", axum),
        ("grpc", grpc),
        ("broadcast", |seed| group(seed, groups::ALL)),
        ("multicast, IPv4", |seed| group(seed, groups::GROUP_V4)),
        ("multicast, IPv6", |seed| group(seed, groups::GROUP_V6)),
        ("rpc", |seed| simulate(seed, madsim(), rpc::texts)),
        ("erpc", |seed| simulate(seed, madsim(), rpc::numbers)),
        ("tonic: kinds of calls", |seed| {
            simulate(seed, madsim(), calls::kinds)
        }),
        ("tonic: no server", |seed| {
            simulate(seed, madsim(), calls::no_server)
        }),
        ("tonic: clients that stop", |seed| {
            simulate(seed, madsim(), move || calls::clients_that_stop(seed))
        }),
        ("tonic: a dropped stream", |seed| {
            simulate(seed, madsim(), calls::a_dropped_stream)
        }),
        ("tonic: a server that stops", |seed| {
            simulate(seed, madsim(), calls::a_server_that_stops)
        }),
        ("tonic: no service", |seed| {
            simulate(seed, madsim(), calls::no_service)
        }),
        ("tonic: interceptors", |seed| {
            simulate(seed, madsim(), calls::interceptors)
        }),
        ("tonic: limits", |seed| {
            simulate(seed, madsim(), calls::limits)
        }),
    ]);
}
