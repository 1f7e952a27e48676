//! Two services of tonic that greet: once, several times, and in streams.

use std::pin::Pin;
use std::time::Duration;

use async_stream::try_stream;
use futures_core::Stream;
use tokio::time::sleep;
use tonic::{Request, Response, Status, Streaming};

tonic::include_proto!("greeter");

/// How often `Repeat` greets.
pub const TIMES: u32 = 3;

/// The service that `Greeter` describes.
#[derive(Clone)]
pub struct Greets;

/// The service that `Sleeper` describes.
#[derive(Clone)]
pub struct Sleeps;

type Greetings = Pin<Box<dyn Stream<Item = Result<Greeting, Status>> + Send>>;

pub fn name(name: &str) -> Name {
    Name { name: name.into() }
}

fn answer(text: String) -> Result<Response<Greeting>, Status> {
    Ok(Response::new(Greeting { text }))
}

/// Returns the address of the client.
fn client<T>(request: &Request<T>) -> Result<String, Status> {
    let address = request.remote_addr();
    let address = address.ok_or_else(|| Status::internal("the client has no address"))?;
    Ok(address.ip().to_string())
}

#[tonic::async_trait]
impl greeter_server::Greeter for Greets {
    async fn greet(&self, request: Request<Name>) -> Result<Response<Greeting>, Status> {
        let name = request.into_inner().name;
        if name.is_empty() {
            return Err(Status::invalid_argument("there is no name"));
        }
        answer(format!("hello {name}"))
    }

    type RepeatStream = Greetings;

    async fn repeat(&self, request: Request<Name>) -> Result<Response<Greetings>, Status> {
        let client = client(&request)?;
        let name = request.into_inner().name;
        Ok(Response::new(Box::pin(try_stream! {
            for time in 1..=TIMES {
                yield Greeting { text: format!("{time}: hello {name} at {client}") };
                sleep(Duration::from_secs(1)).await;
            }
            Err(Status::unknown("that is all"))?;
        })))
    }

    async fn gather(
        &self,
        request: Request<Streaming<Name>>,
    ) -> Result<Response<Greeting>, Status> {
        let mut text = format!("at {}: hello", client(&request)?);
        let mut names = request.into_inner();
        while let Some(Name { name }) = names.message().await? {
            text = format!("{text} {name}");
        }
        answer(text)
    }

    type ChatStream = Greetings;

    async fn chat(&self, request: Request<Streaming<Name>>) -> Result<Response<Greetings>, Status> {
        let client = client(&request)?;
        let mut names = request.into_inner();
        Ok(Response::new(Box::pin(try_stream! {
            while let Some(Name { name }) = names.message().await? {
                yield Greeting { text: format!("hello {name} at {client}") };
            }
        })))
    }
}

#[tonic::async_trait]
impl sleeper_server::Sleeper for Sleeps {
    async fn greet(&self, request: Request<Name>) -> Result<Response<Greeting>, Status> {
        answer(format!("good night {}", request.into_inner().name))
    }

    async fn slow(&self, request: Request<Name>) -> Result<Response<Greeting>, Status> {
        sleep(Duration::from_secs(10)).await;
        answer(format!("good morning {}", request.into_inner().name))
    }
}
