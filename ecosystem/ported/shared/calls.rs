//! Clients and servers of the services in `greeter.rs`, with failures of both. Each scenario returns what it has seen.
//!
//! The server is the first host, and so each host has the same address in each program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use async_stream::stream;
use futures_core::Stream;
use tokio::time::{Instant, sleep};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Status};

use crate::greeter::greeter_client::GreeterClient;
use crate::greeter::greeter_server::GreeterServer;
use crate::greeter::sleeper_client::SleeperClient;
use crate::greeter::sleeper_server::SleeperServer;
use crate::greeter::{Greets, Name, Sleeps, TIMES, name};
use crate::random::Random;
use crate::world::{self, host, run_on, serve};

const SERVER: &str = "http://10.0.0.2:50051";
const SECOND: Duration = Duration::from_secs(1);

async fn greeter() -> GreeterClient<Channel> {
    GreeterClient::connect(SERVER).await.unwrap()
}

/// Starts a server with both services, and waits until it listens.
async fn start() -> world::Host {
    let server = host("server", || {
        serve(
            Server::builder()
                .add_service(GreeterServer::new(Greets))
                .add_service(SleeperServer::new(Sleeps)),
        )
    });
    sleep(SECOND).await;
    server
}

/// A name each second.
fn names() -> impl Stream<Item = Name> + Send + 'static {
    stream! {
        for number in 0..3 {
            yield name(&format!("ada-{number}"));
            sleep(SECOND).await;
        }
    }
}

/// Each kind of call, from a host of its own.
pub async fn kinds() -> String {
    start().await;
    let unary = run_on("unary", async {
        let mut client = greeter().await;
        let text = client.greet(name("ada")).await.unwrap().into_inner().text;
        let refused = client.greet(name("")).await.unwrap_err();
        format!("{text}, {:?}", refused.code())
    });
    let other = run_on("other", async {
        let mut client = SleeperClient::connect(SERVER).await.unwrap();
        client.greet(name("ada")).await.unwrap().into_inner().text
    });
    let from_server = run_on("from-server", async {
        let mut texts = Vec::new();
        let answer = greeter().await.repeat(name("ada")).await.unwrap();
        let mut greetings = answer.into_inner();
        for _ in 0..TIMES {
            texts.push(greetings.message().await.unwrap().unwrap().text);
        }
        let end = greetings.message().await.unwrap_err();
        format!("{}, {:?}", texts.join(", "), end.code())
    });
    let from_client = run_on("from-client", async {
        let answer = greeter().await.gather(names()).await.unwrap();
        answer.into_inner().text
    });
    let both = run_on("both", async {
        let mut client = greeter().await;
        let mut greetings = client.chat(names()).await.unwrap().into_inner();
        let mut texts = Vec::new();
        while let Some(greeting) = greetings.message().await.unwrap() {
            texts.push(greeting.text);
        }
        texts.join(", ")
    });
    let mut all = Vec::new();
    for text in [unary, other, from_server, from_client, both] {
        all.push(text.await);
    }
    all.join("; ")
}

/// No server is there.
pub async fn no_server() -> String {
    host("server", std::future::pending);
    let attempt = run_on("client", GreeterClient::connect(SERVER));
    format!("an error: {}", attempt.await.is_err())
}

/// A client stops in the middle of its calls again and again. The server answers the next one.
pub async fn clients_that_stop(seed: u64) -> String {
    start().await;
    let client = host("client", || async {
        let mut client = greeter().await;
        loop {
            let mut greetings = client.chat(names()).await.unwrap().into_inner();
            sleep(SECOND).await;
            let text = client.greet(name("ada")).await.unwrap().into_inner().text;
            assert_eq!(text, "hello ada");
            let mut number = 0;
            while let Some(greeting) = greetings.message().await.unwrap() {
                assert_eq!(greeting.text, format!("hello ada-{number} at 10.0.0.3"));
                number += 1;
            }
            assert_eq!(number, 3);
        }
    });
    let mut random = Random(seed);
    for _ in 0..10 {
        sleep(Duration::from_millis(random.below(5_000))).await;
        client.restart();
    }
    run_on("last", async {
        let mut client = greeter().await;
        client.greet(name("eve")).await.unwrap().into_inner().text
    })
    .await
}

/// A client drops a stream that has not ended.
pub async fn a_dropped_stream() -> String {
    start().await;
    run_on("client", async {
        let mut client = greeter().await;
        drop(client.repeat(name("ada")).await.unwrap());
        sleep(10 * SECOND).await;
        client.greet(name("ada")).await.unwrap().into_inner().text
    })
    .await
}

/// The server is killed in the middle of a stream.
pub async fn a_server_that_stops() -> String {
    let server = start().await;
    let client = run_on("client", async move {
        let mut client = greeter().await;
        client.greet(name("ada")).await.unwrap();
        let mut greetings = client.chat(names()).await.unwrap().into_inner();
        let mut texts = 0;
        let end = loop {
            match greetings.message().await {
                Ok(Some(_)) => texts += 1,
                end => break end,
            }
        };
        // Until then, the channel may still use the connection that has ended.
        sleep(SECOND).await;
        let next = client.greet(name("ada")).await.unwrap_err();
        format!(
            "an error: {}, after some: {}; {:?}",
            end.is_err(),
            texts > 0,
            next.code()
        )
    });
    sleep(Duration::from_millis(1_500)).await;
    server.kill();
    client.await
}

/// The server has not the service that the client calls.
pub async fn no_service() -> String {
    host("server", || {
        serve(Server::builder().add_service(SleeperServer::new(Sleeps)))
    });
    sleep(SECOND).await;
    run_on("client", async {
        let mut client = greeter().await;
        let unary = client.greet(name("ada")).await.unwrap_err();
        let stream = client.repeat(name("ada")).await.unwrap_err();
        let kind = unary.metadata().get("content-type").cloned();
        format!("{:?}, {:?}, {kind:?}", unary.code(), stream.code())
    })
    .await
}

/// Refuses each second request.
fn every_other() -> impl FnMut(Request<()>) -> Result<Request<()>, Status> + Clone + Send + Sync {
    let count = Arc::new(AtomicU32::new(0));
    move |request| match count.fetch_add(1, Relaxed) % 2 {
        0 => Ok(request),
        _ => Err(Status::unavailable("not this one")),
    }
}

/// Both sides refuse requests before they are handled.
pub async fn interceptors() -> String {
    host("server", || {
        let service = GreeterServer::with_interceptor(Greets, every_other());
        serve(Server::builder().add_service(service))
    });
    sleep(SECOND).await;
    run_on("client", async {
        let channel = Endpoint::from_static(SERVER).connect().await.unwrap();
        let mut client = GreeterClient::with_interceptor(channel, every_other());
        let mut results = Vec::new();
        for _ in 0..5 {
            let code = client
                .greet(name("ada"))
                .await
                .map_or_else(|error| error.code(), |_| Code::Ok);
            results.push(format!("{code:?}"));
        }
        results.join(", ")
    })
    .await
}

/// Calls that take too long: a limit of the channel, and one of the request.
pub async fn limits() -> String {
    start().await;
    run_on("client", async {
        let endpoint = Endpoint::from_static(SERVER);
        let channel = endpoint.clone().timeout(SECOND).connect().await.unwrap();
        let began = Instant::now();
        let end = SleeperClient::new(channel).slow(name("ada")).await;
        let first = (end.is_err(), began.elapsed().as_secs());

        let channel = endpoint.connect().await.unwrap();
        let mut request = Request::new(name("ada"));
        request.set_timeout(5 * SECOND);
        let began = Instant::now();
        let end = SleeperClient::new(channel).slow(request).await;
        format!("{first:?}, {:?}", (end.is_err(), began.elapsed().as_secs()))
    })
    .await
}
