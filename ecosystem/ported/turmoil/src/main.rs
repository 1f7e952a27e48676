//! The examples of turmoil, with what they share in `../shared`, on turmoil.

#[path = "../../shared/cluster.rs"]
mod cluster;
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
mod world;

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use async_stream::stream;
use tonic::transport::Server;
use turmoil::{Builder, IpVersion, Sim};

use greeter::Greets;
use greeter::greeter_server::GreeterServer;
use world::{Accepted, TcpListener};

fn build<'a>(seed: u64, version: IpVersion) -> Sim<'a> {
    let limit = Duration::from_secs(600);
    let mut builder = Builder::new();
    builder.rng_seed(seed).simulation_duration(limit);
    builder.ip_version(version).build()
}

/// Where clients put what they have seen.
type Seen<T> = Rc<RefCell<T>>;

fn cluster(seed: u64) -> String {
    let mut sim = build(seed, IpVersion::V4);
    for server in 0..cluster::SERVERS {
        sim.host(cluster::name(server), || async {
            Ok(cluster::serve().await?)
        });
    }
    let (answers, failures) = (Seen::<u32>::default(), Seen::<usize>::default());
    let crashed = Seen::<Vec<u64>>::default();
    let seen = answers.clone();
    sim.client("clients", async move {
        let count = cluster::clients(seed).await;
        *seen.borrow_mut() = count;
        Ok(())
    });
    let (seen, crashes) = (failures.clone(), crashed.clone());
    sim.client("failures", async move {
        let count = cluster::fail(seed, |server| crashes.borrow_mut().push(server)).await;
        *seen.borrow_mut() = count;
        Ok(())
    });
    while !sim.step().unwrap() {
        for server in crashed.take() {
            sim.crash(cluster::name(server));
        }
    }
    format!(
        "{} answers, {} failures",
        answers.borrow(),
        failures.borrow()
    )
}

fn axum(seed: u64) -> String {
    let mut sim = build(seed, IpVersion::V4);
    sim.host("server", || async {
        let listener = TcpListener::bind(("0.0.0.0", http::PORT)).await?;
        axum::serve(world::Listener(listener), http::routes()).await?;
        Ok(())
    });
    ask(sim, http::ask())
}

fn grpc(seed: u64) -> String {
    let mut sim = build(seed, IpVersion::V4);
    sim.host("server", || async {
        let server = Server::builder().add_service(GreeterServer::new(Greets));
        let connections = stream! {
            let listener = TcpListener::bind(("0.0.0.0", grpc::PORT)).await?;
            loop {
                yield listener.accept().await.map(|(stream, _)| Accepted(stream));
            }
        };
        server.serve_with_incoming(connections).await?;
        Ok(())
    });
    ask(sim, grpc::ask())
}

/// Runs a client, and returns its result.
fn ask(mut sim: Sim<'_>, client: impl Future<Output = String> + 'static) -> String {
    let answer = Seen::<String>::default();
    let seen = answer.clone();
    sim.client("client", async move {
        let text = client.await;
        *seen.borrow_mut() = text;
        Ok(())
    });
    sim.run().unwrap();
    answer.take()
}

fn group(seed: u64, to: IpAddr) -> String {
    let version = if to.is_ipv4() {
        IpVersion::V4
    } else {
        IpVersion::V6
    };
    let mut sim = build(seed, version);
    let received = Seen::<[Vec<u8>; 2]>::default();
    for (index, name) in ["first", "second"].into_iter().enumerate() {
        let seen = received.clone();
        sim.client(name, async move {
            let bytes = groups::listen(to).await?;
            seen.borrow_mut()[index] = bytes;
            Ok(())
        });
    }
    sim.client("sender", async move { Ok(groups::send(to).await?) });
    sim.run().unwrap();
    format!("{:?}", received.borrow())
}

fn main() {
    harness::main(&[
        ("cluster", cluster),
        ("axum", axum),
        ("grpc", grpc),
        ("broadcast", |seed| group(seed, groups::ALL)),
        ("multicast, IPv4", |seed| group(seed, groups::GROUP_V4)),
        ("multicast, IPv6", |seed| group(seed, groups::GROUP_V6)),
    ]);
}
