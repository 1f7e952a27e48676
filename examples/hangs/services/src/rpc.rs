//! The service of tonic.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use crate::handlers::{State, handle};

/// The only message: `message Name { string name = 1; }`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Name {
    #[prost(string, tag = "1")]
    pub name: String,
}

#[allow(dead_code, reason = "the test has the client")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/hangs.Hangs.rs"));
}
use generated::hangs_server::{Hangs, HangsServer};

struct Service(Arc<State>);

#[tonic::async_trait]
impl Hangs for Service {
    async fn hang(&self, request: Request<Name>) -> Result<Response<Name>, Status> {
        let name = request.into_inner();
        if handle(&self.0, &name.name).await {
            Ok(Response::new(name))
        } else {
            Err(Status::not_found("there is no such handler"))
        }
    }
}

/// Serves until a handler wants the end.
pub async fn serve(listener: TcpListener, state: Arc<State>) {
    let end = state.clone();
    let router = Server::builder().add_service(HangsServer::new(Service(state)));
    let served =
        router.serve_with_incoming_shutdown(TcpListenerStream::new(listener), async move {
            end.ends.notified().await;
        });
    served.await.expect("the listener works");
}
