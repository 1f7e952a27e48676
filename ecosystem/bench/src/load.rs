//! The client of the gRPC server: on each connection it makes one call after the other, or
//! sends one message after the other in a stream. It checks every answer, and prints its
//! measurements.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Barrier, mpsc};
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};

use crate::invalid;
use crate::rpc::Number;
use crate::rpc::generated::doubles_client::DoublesClient;

type Client = DoublesClient<Channel>;

pub async fn run(port: u16, kind: &str, connections: usize, seconds: u64) -> io::Result<()> {
    let stream = match kind {
        "call" => false,
        "stream" => true,
        _ => return Err(invalid("call or stream?")),
    };
    let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}"));
    let endpoint = endpoint.map_err(io::Error::other)?.tcp_nodelay(true);
    let length = Duration::from_secs(seconds);
    let all = Arc::new(Barrier::new(connections + 1));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let channel = endpoint.connect().await.map_err(io::Error::other)?;
        let (client, all) = (DoublesClient::new(channel), all.clone());
        tasks.spawn(async move {
            all.wait().await;
            let end = Instant::now() + length;
            if stream {
                messages(client, end).await
            } else {
                calls(client, end).await
            }
        });
    }
    all.wait().await;
    let begin = Instant::now();
    let mut latencies = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        latencies.append(&mut ended?.map_err(io::Error::other)?);
    }
    let took = begin.elapsed();
    latencies.sort_unstable();
    let at =
        |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e6;
    println!(
        "{{\"count\": {}, \"seconds\": {}, \"p50\": {}, \"p90\": {}, \"p99\": {}, \"p999\": {}}}",
        latencies.len(),
        took.as_secs_f64(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
    );
    Ok(())
}

async fn calls(mut client: Client, end: Instant) -> Result<Vec<Duration>, tonic::Status> {
    let mut latencies = Vec::new();
    for value in 0.. {
        let begin = Instant::now();
        if begin >= end && value > 0 {
            break;
        }
        let answer = client.call(Number { value }).await?.into_inner();
        check(value, Some(answer))?;
        latencies.push(begin.elapsed());
    }
    Ok(latencies)
}

async fn messages(mut client: Client, end: Instant) -> Result<Vec<Duration>, tonic::Status> {
    let mut latencies = Vec::new();
    let (sender, receiver) = mpsc::channel(1);
    let answers = client.stream(ReceiverStream::new(receiver)).await?;
    let mut answers = answers.into_inner();
    for value in 0.. {
        let begin = Instant::now();
        if begin >= end && value > 0 {
            break;
        }
        let sent = sender.send(Number { value }).await;
        sent.map_err(|_| tonic::Status::unavailable("the stream has ended"))?;
        check(value, answers.message().await?)?;
        latencies.push(begin.elapsed());
    }
    drop(sender);
    match answers.message().await? {
        None => Ok(latencies),
        Some(_) => Err(tonic::Status::data_loss("an answer too many")),
    }
}

fn check(value: i64, answer: Option<Number>) -> Result<(), tonic::Status> {
    match answer {
        Some(answer) if answer.value == 2 * value => Ok(()),
        _ => Err(tonic::Status::data_loss(format!(
            "{value} doubled is {answer:?}"
        ))),
    }
}
