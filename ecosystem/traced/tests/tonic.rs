use std::{net::SocketAddr, pin::Pin};

use blitz_io::trace::RequestLayer;
use tokio::sync::mpsc;
use tokio_stream::{
    Stream, StreamExt,
    wrappers::{ReceiverStream, TcpListenerStream},
};
use tonic::{
    Request, Response, Status, Streaming,
    transport::{Channel, Server},
};

use crate::support::{count, ended, listener, run};

/// The only message: `message Number { int64 value = 1; }`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Number {
    #[prost(int64, tag = "1")]
    pub value: i64,
}

mod generated {
    include!(concat!(env!("OUT_DIR"), "/ecosystem.Sums.rs"));
}
use generated::{
    sums_client::SumsClient,
    sums_server::{Sums, SumsServer},
};

struct Service;

type Numbers = Pin<Box<dyn Stream<Item = Result<Number, Status>> + Send>>;

#[tonic::async_trait]
impl Sums for Service {
    async fn double(&self, request: Request<Number>) -> Result<Response<Number>, Status> {
        match request.into_inner().value {
            0 => std::future::pending().await,
            value => Ok(Response::new(Number { value: 2 * value })),
        }
    }

    type CountStream = ReceiverStream<Result<Number, Status>>;

    /// Counts up to the requested number, or endlessly.
    async fn count(&self, request: Request<Number>) -> Result<Response<Self::CountStream>, Status> {
        let end = request.into_inner().value;
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move {
            let mut value = 0;
            while value != end && sender.send(Ok(Number { value })).await.is_ok() {
                value += 1;
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn sum(&self, request: Request<Streaming<Number>>) -> Result<Response<Number>, Status> {
        let mut numbers = request.into_inner();
        let mut value = 0;
        while let Some(number) = numbers.message().await? {
            value += number.value;
        }
        Ok(Response::new(Number { value }))
    }

    type SumsStream = Numbers;

    async fn sums(&self, request: Request<Streaming<Number>>) -> Result<Response<Numbers>, Status> {
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}

/// Starts the service, whose requests last until the ends of the bodies, and connects to it.
async fn start() -> (SocketAddr, SumsClient<Channel>) {
    let (listener, address) = listener().await;
    let router = Server::builder()
        .layer(RequestLayer::http().with_body())
        .add_service(SumsServer::new(Service));
    tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
    let client = SumsClient::connect(format!("http://{address}"));
    (address, client.await.unwrap())
}

/// The names are those of all tests of this file, so there is one.
#[test]
fn each_call_is_a_request_until_its_answer_is_sent() {
    run(async {
        let (_, client) = start().await;
        // Many calls of one connection at a time.
        let mut tasks = tokio::task::JoinSet::new();
        for value in 1..=20 {
            let mut client = client.clone();
            tasks.spawn(async move {
                let answer = client.double(Number { value }).await.unwrap();
                assert_eq!(answer.into_inner().value, 2 * value);
            });
        }
        tasks.join_all().await;
        ended("POST /ecosystem.Sums/Double", 20).await;

        // A stream of the client.
        let mut client = client;
        let numbers = tokio_stream::iter((1..=10).map(|value| Number { value }));
        assert_eq!(client.sum(numbers).await.unwrap().into_inner().value, 55);
        ended("POST /ecosystem.Sums/Sum", 1).await;

        // A stream of the server, which has room for all.
        let mut counted = client.count(Number { value: 1_000 }).await.unwrap();
        let mut values = 0;
        while counted.get_mut().message().await.unwrap().is_some() {
            values += 1;
        }
        assert_eq!(values, 1_000);
        ended("POST /ecosystem.Sums/Count", 1).await;

        // Both: each number comes back while the request lasts.
        let (sender, receiver) = mpsc::channel(1);
        let mut sums = client
            .sums(ReceiverStream::new(receiver))
            .await
            .unwrap()
            .into_inner();
        for value in 1..=3 {
            sender.send(Number { value }).await.unwrap();
            assert_eq!(sums.next().await.unwrap().unwrap().value, value);
            assert_eq!(count("POST /ecosystem.Sums/Sums"), 0);
        }
        drop(sender);
        assert!(sums.next().await.is_none());
        ended("POST /ecosystem.Sums/Sums", 1).await;

        // A client that gives up, before the response and in the body.
        let mut waits = client.clone();
        let call = tokio::spawn(async move { waits.double(Number { value: 0 }).await });
        tokio::task::yield_now().await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        // The endless one lasts as long as the client reads it.
        let mut endless = client.count(Number { value: -1 }).await.unwrap();
        assert!(endless.get_mut().message().await.unwrap().is_some());
        assert_eq!(count("POST /ecosystem.Sums/Count"), 1);
        drop(endless);
        ended("POST /ecosystem.Sums/Count", 2).await;
        // The other one may have been cancelled before it was sent.
        assert!((20..=21).contains(&count("POST /ecosystem.Sums/Double")));
    });
}
