//! tonic. Its service is written by hand, without `protoc`.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::codegen::http;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::server::NamedService;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

use crate::ledger::Ledger;
use crate::requests::PING;
use crate::site::{BoxError, LIMIT, PORT, Stop, check, send_requests, stopped};

/// The only message: `message Number { uint64 value = 1; }`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Number {
    #[prost(uint64, tag = "1")]
    value: u64,
}

/// The service, with one method.
#[derive(Clone)]
struct Doubler(Ledger);

impl NamedService for Doubler {
    const NAME: &'static str = "numbers.Doubler";
}

impl Service<http::Request<Body>> for Doubler {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let ledger = self.0.clone();
        Box::pin(async move {
            let method = service_fn(move |request: Request<Number>| {
                let ledger = ledger.clone();
                async move {
                    let value = ledger.serve(request.into_inner().value).await;
                    Ok::<_, Status>(Response::new(Number { value }))
                }
            });
            let codec = ProstCodec::<Number, Number>::default();
            Ok(tonic::server::Grpc::new(codec).unary(method, request).await)
        })
    }
}

async fn serve(ledger: Ledger, stop: Stop) -> Result<(), BoxError> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    let server = Server::builder()
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(PING))
        .add_service(Doubler(ledger))
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stopped(stop));
    Ok(server.await?)
}

async fn client(ledger: Ledger, server: IpAddr) {
    let endpoint = Endpoint::from_shared(format!("http://{server}:{PORT}")).unwrap();
    let channel = endpoint
        .connect_timeout(LIMIT)
        .http2_keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .keep_alive_while_idle(true)
        .connect_lazy();
    send_requests(ledger, |number| ask(channel.clone(), number)).await;
}

async fn ask(channel: Channel, value: u64) -> Result<u64, BoxError> {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await?;
    let path = PathAndQuery::from_static("/numbers.Doubler/Double");
    let codec = ProstCodec::<Number, Number>::default();
    let answer = grpc
        .unary(Request::new(Number { value }), path, codec)
        .await?;
    Ok(answer.into_inner().value)
}

#[test]
fn tonic_answers_each_request_once() {
    let report = check(serve, client);
    assert!(report.never().is_empty(), "{report:?}");
}
