//! A client of the service `Greeter` that connects by itself.

use hyper_util::rt::TokioIo;
use tonic::codegen::http::Uri;
use tonic::transport::Endpoint;
use tower::service_fn;

use crate::greeter::greeter_client::GreeterClient;
use crate::greeter::name;
use crate::world::TcpStream;

pub const PORT: u16 = 9_999;

/// Asks the server for a greeting.
pub async fn ask() -> String {
    let connector =
        service_fn(|_: Uri| async { TcpStream::connect(("server", PORT)).await.map(TokioIo::new) });
    let endpoint = Endpoint::from_static("http://server:9999");
    let channel = endpoint.connect_with_connector(connector).await.unwrap();
    let mut client = GreeterClient::new(channel);
    client.greet(name("ada")).await.unwrap().into_inner().text
}
