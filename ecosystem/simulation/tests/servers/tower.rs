//! tower: a buffer, a limit, retries and a time limit before a client of a server that crashes.

use std::future::{Ready, ready};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tower::retry::Policy;
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::ledger::Ledger;
use crate::pools::serve;
use crate::site::{BoxError, LIMIT, PORT, check, send_requests};

/// The most requests that are under way from a host.
const MOST: usize = 2;
/// The number of users of the service.
const USERS: usize = 3;

/// The error of a request that was not sent, so that another attempt is safe.
#[derive(Debug)]
struct NotSent(std::io::Error);

impl std::fmt::Display for NotSent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not sent: {}", self.0)
    }
}

impl std::error::Error for NotSent {}

/// Makes up to this many further attempts.
#[derive(Clone)]
struct Attempts(u32);

impl Policy<u64, u64, BoxError> for Attempts {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut u64, result: &mut Result<u64, BoxError>) -> Option<Self::Future> {
        let is_unsent = result.as_ref().is_err_and(|error| error.is::<NotSent>());
        if !is_unsent || self.0 == 0 {
            return None;
        }
        self.0 -= 1;
        Some(ready(()))
    }

    fn clone_request(&mut self, number: &u64) -> Option<u64> {
        Some(*number)
    }
}

/// A request that is under way.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        let count = count.clone();
        let under_way = count.fetch_add(1, SeqCst) + 1;
        assert!(under_way <= MOST, "the limit of concurrency does not hold");
        Self(count)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

async fn ask(server: IpAddr, number: u64) -> Result<u64, BoxError> {
    let mut stream = TcpStream::connect((server, PORT)).await.map_err(NotSent)?;
    stream.write_u64(number).await?;
    Ok(stream.read_u64().await?)
}

async fn client(ledger: Ledger, server: IpAddr) {
    let under_way = Arc::<AtomicUsize>::default();
    let asks = service_fn(move |number: u64| {
        let under_way = under_way.clone();
        async move {
            let _under_way = UnderWay::begin(&under_way);
            ask(server, number).await
        }
    });
    let service = ServiceBuilder::new()
        .buffer::<u64>(1)
        .concurrency_limit(MOST)
        .retry(Attempts(2))
        .timeout(LIMIT / 2)
        .service(asks);
    let mut users = JoinSet::new();
    for _ in 0..USERS {
        let (ledger, service) = (ledger.clone(), service.clone());
        let ask = move |number| service.clone().oneshot(number);
        users.spawn(send_requests(ledger, ask));
    }
    // The last handle ends the task of the buffer.
    drop(service);
    users.join_all().await;
}

#[test]
fn tower_answers_each_request_once() {
    let report = check(serve, client);
    assert!(report.never().is_empty(), "{report:?}");
}
