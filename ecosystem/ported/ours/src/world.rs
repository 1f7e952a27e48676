//! The simulator of blitz-io.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use blitz_io::sim::{self, Builder, Link};
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::server::Router;

pub use blitz_io::sim::Host;
pub use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// Runs a test with a seed, and returns its result.
pub fn simulate<F>(seed: u64, link: Link, test: impl Fn() -> F) -> String
where
    F: Future<Output = String> + 'static,
{
    let result = Rc::new(RefCell::new(String::new()));
    Builder::new().seed(seed).seeds(1).run(|| {
        sim::set_all_links(link);
        let (result, test) = (result.clone(), test());
        async move {
            let text = test.await;
            *result.borrow_mut() = text;
        }
    });
    result.take()
}

/// Starts a host.
pub fn host<F>(name: &str, make: impl Fn() -> F + 'static) -> Host
where
    F: Future<Output = ()> + 'static,
{
    sim::host(name, move |_| make())
}

/// Runs a future on a host of its own, and returns its output.
pub fn run_on<F>(name: &str, future: F) -> Pin<Box<dyn Future<Output = F::Output>>>
where
    F: Future<Output: 'static> + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let once = Cell::new(Some((future, sender)));
    sim::host(name, move |_| {
        let once = once.take();
        async move {
            if let Some((future, sender)) = once {
                _ = sender.send(future.await);
            }
        }
    });
    Box::pin(async move { receiver.await.unwrap() })
}

/// Serves on the port of all examples.
pub async fn serve(router: Router) {
    let listener = TcpListener::bind("0.0.0.0:50051").await.unwrap();
    let connections = TcpListenerStream::new(listener);
    router.serve_with_incoming(connections).await.unwrap();
}
