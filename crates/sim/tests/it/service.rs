//! An HTTP service of axum on Tokio, with its clients in the same process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use blitz_io_sim::{Faults, Plan, Schedule, Simulator, Verdict};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use crate::support::{is_simulated, passes_twice, test, text};

/// A connection without a request for this long is closed by its client.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// A connection that is kept alive from one request to the next.
struct Client {
    address: SocketAddr,
    connection: Option<(BufReader<TcpStream>, Instant)>,
    connections: u64,
}

impl Client {
    fn new(address: SocketAddr) -> Client {
        Client {
            address,
            connection: None,
            connections: 0,
        }
    }

    async fn request(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<String> {
        let kept = self.connection.take();
        let kept = kept.filter(|(_, since)| since.elapsed() < KEEP_ALIVE);
        let mut stream = match kept {
            Some((stream, _)) => stream,
            None => {
                self.connections += 1;
                BufReader::new(TcpStream::connect(self.address).await?)
            }
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: sim\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        self.connection = Some((stream, Instant::now()));
        Ok(String::from_utf8(body).unwrap())
    }
}

type Total = Arc<AtomicU64>;

fn service() -> Router {
    Router::new()
        .route(
            "/add/{count}",
            post(
                |State(total): State<Total>, Path(count): Path<u64>| async move {
                    (total.fetch_add(count, Ordering::SeqCst) + count).to_string()
                },
            ),
        )
        .route(
            "/slow",
            get(|| async {
                sleep(Duration::from_secs(10)).await;
                "done"
            }),
        )
        .route("/echo", post(|body: String| async move { body }))
        .with_state(Total::default())
}

fn run(work: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work);
}

async fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, service()).await });
    address
}

/// An hour: a client that asks each ten seconds and keeps its connection, and one that asks so seldom
/// that each request needs a new one.
#[test]
fn service_program_serves_for_an_hour() {
    if !is_simulated() {
        return;
    }
    run(async {
        let address = serve().await;
        let start = Instant::now();
        let hour = Duration::from_secs(3600);
        let often = tokio::spawn(async move {
            let mut client = Client::new(address);
            let mut count = 0;
            while start.elapsed() < hour {
                let body = format!("request {count}");
                assert_eq!(client.request("POST", "/echo", &body).await.unwrap(), body);
                count += 1;
                sleep(Duration::from_secs(10)).await;
            }
            assert_eq!(client.connections, 1);
            count
        });
        let seldom = tokio::spawn(async move {
            let mut client = Client::new(address);
            let mut count = 0;
            while start.elapsed() < hour {
                assert_eq!(client.request("GET", "/slow", "").await.unwrap(), "done");
                count += 1;
                sleep(KEEP_ALIVE).await;
            }
            assert_eq!(client.connections, count);
            count
        });
        assert!(often.await.unwrap() > 200);
        assert!(seldom.await.unwrap() > 40);
        assert!(start.elapsed() >= hour);
    });
}

#[test]
fn an_hour_of_a_service_of_axum_passes_with_every_seed() {
    let program = test("service::service_program_serves_for_an_hour");
    passes_twice(&program, Faults::NONE, 5);
    let mut simulator = Simulator::start(&program).unwrap();
    let start = std::time::Instant::now();
    let outcome = simulator.run(&Plan::new(Schedule::Random, 1)).unwrap();
    assert_eq!(outcome.verdict, Verdict::Passed);
    assert!(outcome.nanoseconds >= 3_600_000_000_000);
    println!("{} points in {:?}", outcome.points, start.elapsed());
}

/// Each request is repeated until it is answered. A repetition may count twice, but none is forgotten.
#[test]
fn service_program_survives_its_network() {
    if !is_simulated() {
        return;
    }
    run(async {
        let address = serve().await;
        let mut client = Client::new(address);
        let (mut last, mut attempts) = (0, 0);
        for answered in 1..=10 {
            loop {
                attempts += 1;
                let answer = client.request("POST", "/add/1", "");
                match timeout(Duration::from_secs(30), answer).await {
                    Ok(Ok(total)) => {
                        let total = total.parse().unwrap();
                        assert!(total > last && total >= answered && total <= attempts);
                        last = total;
                        break;
                    }
                    _ => sleep(Duration::from_secs(1)).await,
                }
                assert!(attempts < 1_000, "the network recovers");
            }
        }
    });
}

/// Requests of [`service_program_answers_many_requests`].
pub const REQUESTS: u64 = 20_000;

#[test]
fn service_program_answers_many_requests() {
    if !is_simulated() {
        return;
    }
    run(async {
        let mut client = Client::new(serve().await);
        for _ in 0..REQUESTS {
            assert_eq!(client.request("POST", "/echo", "x").await.unwrap(), "x");
        }
    });
}

#[test]
fn a_service_of_axum_survives_the_faults_of_its_network() {
    let program = test("service::service_program_survives_its_network");
    passes_twice(&program, "usual,net,eagain".parse().unwrap(), 60);
}

/// A client that does not repeat: the service answers at once, so it expects an answer within a second.
#[test]
fn service_program_expects_a_fast_network() {
    if !is_simulated() {
        return;
    }
    run(async {
        let mut client = Client::new(serve().await);
        for _ in 0..10 {
            let answer = client.request("POST", "/echo", "x");
            let answer = timeout(Duration::from_millis(500), answer).await;
            assert!(answer.is_ok(), "no answer in time");
        }
    });
}

#[test]
fn a_client_of_axum_without_patience_is_found() {
    let program = test("service::service_program_expects_a_fast_network");
    let mut simulator = Simulator::start(&program).unwrap();
    let found = (0..500).any(|seed| {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = "latency".parse().unwrap();
        text(&simulator.run(&plan).unwrap()).contains("no answer in time")
    });
    assert!(found);
}
