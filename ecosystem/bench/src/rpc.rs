//! A gRPC server with tonic: it doubles numbers, in single calls and in a stream.

use std::io;
use std::pin::Pin;

use futures::{Stream, StreamExt};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming, transport::Server};

/// The only message: `message Number { int64 value = 1; }`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Number {
    #[prost(int64, tag = "1")]
    pub value: i64,
}

pub mod generated {
    include!(concat!(env!("OUT_DIR"), "/bench.Doubles.rs"));
}
use generated::doubles_server::{Doubles, DoublesServer};

struct Service;

fn double(number: Number) -> Result<Number, Status> {
    let value = number.value.checked_mul(2);
    let value = value.ok_or_else(|| Status::out_of_range("too large"))?;
    Ok(Number { value })
}

#[tonic::async_trait]
impl Doubles for Service {
    async fn call(&self, request: Request<Number>) -> Result<Response<Number>, Status> {
        double(request.into_inner()).map(Response::new)
    }

    type StreamStream = Pin<Box<dyn Stream<Item = Result<Number, Status>> + Send>>;

    async fn stream(
        &self,
        request: Request<Streaming<Number>>,
    ) -> Result<Response<Self::StreamStream>, Status> {
        let answers = request.into_inner().map(|number| double(number?));
        Ok(Response::new(Box::pin(answers)))
    }
}

pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let incoming = TcpListenerStream::new(listener).map(|stream| {
        let stream = stream?;
        stream.set_nodelay(true)?;
        Ok::<_, io::Error>(stream)
    });
    Server::builder()
        .add_service(DoublesServer::new(Service))
        .serve_with_incoming(incoming)
        .await
        .map_err(io::Error::other)
}
