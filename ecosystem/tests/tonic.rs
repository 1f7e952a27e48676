use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{
    Code, Request, Response, Status, Streaming,
    transport::{Certificate as Pem, Channel, ClientTlsConfig, Identity, Server, ServerTlsConfig},
};

use crate::support::{Certificate, limit, listener};

/// The only message: `message Number { int64 value = 1; }`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Number {
    #[prost(int64, tag = "1")]
    pub value: i64,
}

fn number(value: i64) -> Number {
    Number { value }
}

mod generated {
    include!(concat!(env!("OUT_DIR"), "/ecosystem.Sums.rs"));
}
use generated::{
    sums_client::SumsClient,
    sums_server::{Sums, SumsServer},
};

#[derive(Default)]
struct Counts {
    /// Counts the streams of the server that were dropped because the client had gone.
    cancelled: AtomicU64,
}

// ANCHOR: service
struct Service(Arc<Counts>);

type Numbers = Pin<Box<dyn Stream<Item = Result<Number, Status>> + Send>>;

#[tonic::async_trait]
impl Sums for Service {
    async fn double(&self, request: Request<Number>) -> Result<Response<Number>, Status> {
        match request.into_inner().value {
            0 => Err(Status::invalid_argument("zero has no double")),
            -1 => std::future::pending().await,
            value => Ok(Response::new(number(2 * value))),
        }
    }

    type CountStream = ReceiverStream<Result<Number, Status>>;

    /// Counts up to the requested number, or endlessly.
    async fn count(&self, request: Request<Number>) -> Result<Response<Self::CountStream>, Status> {
        let end = request.into_inner().value;
        let (sender, receiver) = mpsc::channel(4);
        let counts = self.0.clone();
        tokio::spawn(async move {
            let mut value = 0;
            while value != end {
                value += 1;
                if sender.send(Ok(number(value))).await.is_err() {
                    counts.cancelled.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn sum(&self, request: Request<Streaming<Number>>) -> Result<Response<Number>, Status> {
        let mut numbers = request.into_inner();
        let mut sum = 0;
        while let Some(number) = numbers.message().await? {
            sum += number.value;
        }
        Ok(Response::new(number(sum)))
    }

    type SumsStream = Numbers;

    async fn sums(&self, request: Request<Streaming<Number>>) -> Result<Response<Numbers>, Status> {
        let sums = request.into_inner().scan(0, |sum, next| {
            let next = next.map(|n| {
                *sum += n.value;
                number(*sum)
            });
            std::future::ready(Some(next))
        });
        Ok(Response::new(Box::pin(sums)))
    }
}
// ANCHOR_END: service

struct Running {
    address: SocketAddr,
    counts: Arc<Counts>,
    stop: oneshot::Sender<()>,
    server: tokio::task::JoinHandle<Result<(), tonic::transport::Error>>,
}

async fn start(tls: Option<ServerTlsConfig>) -> Running {
    let (listener, address) = listener().await;
    let counts = Arc::new(Counts::default());
    let service = SumsServer::new(Service(counts.clone()));
    let (stop, stopped) = oneshot::channel();
    let mut builder = Server::builder().http2_keepalive_interval(Some(Duration::from_secs(10)));
    if let Some(tls) = tls {
        builder = builder.tls_config(tls).unwrap();
    }
    let router = builder.add_service(service);
    let server = tokio::spawn(
        router.serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
            stopped.await.unwrap()
        }),
    );
    Running {
        address,
        counts,
        stop,
        server,
    }
}

async fn connect(address: SocketAddr) -> SumsClient<Channel> {
    SumsClient::connect(format!("http://{address}"))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unary() {
    let running = start(None).await;
    limit(async {
        let client = connect(running.address).await;
        let mut calls = tokio::task::JoinSet::new();
        for task in 1..=20 {
            let mut client = client.clone();
            calls.spawn(async move {
                for call in 1..=25 {
                    let answer = client.double(number(task * call)).await.unwrap();
                    assert_eq!(answer.into_inner().value, 2 * task * call);
                }
            });
        }
        calls.join_all().await;
        let mut client = client;
        let refused = client.double(number(0)).await.unwrap_err();
        assert_eq!(
            (refused.code(), refused.message()),
            (Code::InvalidArgument, "zero has no double")
        );
        let mut late = Request::new(number(-1));
        late.set_timeout(Duration::from_millis(20));
        let late = client.double(late).await.unwrap_err();
        assert!(
            matches!(late.code(), Code::Cancelled | Code::DeadlineExceeded),
            "{late}"
        );
        drop(client);
        running.stop.send(()).unwrap();
        running.server.await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams() {
    let running = start(None).await;
    limit(async {
        let mut client = connect(running.address).await;
        let mut counted = client.count(number(1000)).await.unwrap().into_inner();
        for value in 1..=1000 {
            assert_eq!(counted.message().await.unwrap().unwrap().value, value);
        }
        assert!(counted.message().await.unwrap().is_none());

        let numbers = tokio_stream::iter((1..=1000).map(number));
        assert_eq!(
            client.sum(numbers).await.unwrap().into_inner().value,
            500_500
        );

        // Each answer is awaited before the next question: nothing may remain in a buffer.
        let (sender, receiver) = mpsc::channel(1);
        let mut sums = client
            .sums(ReceiverStream::new(receiver))
            .await
            .unwrap()
            .into_inner();
        let mut sum = 0;
        for value in 1..=200 {
            sender.send(number(value)).await.unwrap();
            sum += value;
            assert_eq!(sums.message().await.unwrap().unwrap().value, sum);
        }
        drop(sender);
        assert!(sums.message().await.unwrap().is_none());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_ends_the_stream() {
    let running = start(None).await;
    limit(async {
        let mut client = connect(running.address).await;
        for _ in 0..10 {
            let mut endless = client.count(number(-1)).await.unwrap().into_inner();
            for value in 1..=10 {
                assert_eq!(endless.message().await.unwrap().unwrap().value, value);
            }
        }
        while running.counts.cancelled.load(Ordering::Relaxed) < 10 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls() {
    let certificate = Certificate::new();
    let identity = Identity::from_pem(&certificate.pem, &certificate.key_pem);
    let running = start(Some(ServerTlsConfig::new().identity(identity))).await;
    limit(async {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Pem::from_pem(&certificate.pem))
            .domain_name("localhost");
        let channel = Channel::from_shared(format!("https://{}", running.address))
            .unwrap()
            .tls_config(tls)
            .unwrap();
        let mut client = SumsClient::new(channel.connect().await.unwrap());
        assert_eq!(
            client.double(number(21)).await.unwrap().into_inner().value,
            42
        );
        let numbers = tokio_stream::iter((1..=5000).map(number));
        assert_eq!(
            client.sum(numbers).await.unwrap().into_inner().value,
            5000 * 5001 / 2
        );
    })
    .await;
}
