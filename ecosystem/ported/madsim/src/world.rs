//! The simulator of madsim.

use std::cell::Cell;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;

use madsim::Config;
use madsim::runtime::{Handle, NodeHandle, Runtime};
use tonic::transport::server::Router;

thread_local! {
    /// Number of hosts of this run.
    static HOSTS: Cell<u8> = const { Cell::new(0) };
}

/// Runs a test with a seed, and returns its result. Each run has a thread, as in a test of madsim.
pub fn simulate<F>(seed: u64, test: impl Fn() -> F + Send + 'static) -> String
where
    F: Future<Output = String>,
{
    let run = move || Runtime::with_seed_and_config(seed, Config::default()).block_on(test());
    std::thread::spawn(run).join().unwrap()
}

/// Returns the address of the next host. The test itself has the first one.
fn next_address() -> Ipv4Addr {
    HOSTS.set(HOSTS.get() + 1);
    Ipv4Addr::new(10, 0, 0, HOSTS.get() + 1)
}

pub struct Host(NodeHandle);

impl Host {
    pub fn restart(&self) {
        Handle::current().restart(self.0.id());
    }

    pub fn kill(&self) {
        Handle::current().kill(self.0.id());
    }
}

/// Starts a host.
pub fn host<F>(name: &str, make: impl Fn() -> F + Send + Sync + 'static) -> Host
where
    F: Future<Output = ()> + 'static,
{
    let handle = Handle::current();
    let node = handle.create_node().name(name).ip(next_address().into());
    Host(node.init(make).build())
}

/// Runs a future on a host of its own, and returns its output.
pub fn run_on<F>(name: &str, future: F) -> Pin<Box<dyn Future<Output = F::Output>>>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let handle = Handle::current();
    let node = handle.create_node().name(name).ip(next_address().into());
    let task = node.build().spawn(future);
    Box::pin(async move { task.await.unwrap() })
}

/// Serves on the port of all examples.
pub async fn serve(router: Router) {
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 50_051));
    router.serve(address).await.unwrap();
}
