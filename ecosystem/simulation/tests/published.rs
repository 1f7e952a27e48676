//! Published packages, unmodified, on the drop-in package `tokio` with the feature `sim`: a pool of connections twice,
//! and tower's middleware. Each test states what must hold for users of the package, in all orders and with tasks that
//! are cancelled at any point.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tokio::sim::{self, Builder};
use tokio::task;
use tokio::time::timeout;

/// The number of connections of a pool.
const CONNECTIONS: u32 = 2;

/// Counts the connections that exist, and those that are used.
#[derive(Clone, Default)]
struct Counts {
    open: Arc<AtomicUsize>,
    used: Arc<AtomicUsize>,
}

/// A connection, which exists until it is dropped.
struct Connection(Counts);

impl Connection {
    async fn open(counts: &Counts) -> Self {
        task::yield_now().await;
        counts.open.fetch_add(1, SeqCst);
        Self(counts.clone())
    }

    /// Uses the connection for two steps.
    async fn used(&self) {
        let used = Used::new(&self.0.used);
        task::yield_now().await;
        drop(used);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, SeqCst);
    }
}

struct Used(Arc<AtomicUsize>);

impl Used {
    fn new(used: &Arc<AtomicUsize>) -> Self {
        used.fetch_add(1, SeqCst);
        Self(used.clone())
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl bb8::ManageConnection for Counts {
    type Connection = Connection;
    type Error = Infallible;

    async fn connect(&self) -> Result<Connection, Infallible> {
        Ok(Connection::open(self).await)
    }

    async fn is_valid(&self, _: &mut Connection) -> Result<(), Infallible> {
        task::yield_now().await;
        Ok(())
    }

    fn has_broken(&self, _: &mut Connection) -> bool {
        false
    }
}

impl deadpool::managed::Manager for Counts {
    type Type = Connection;
    type Error = Infallible;

    async fn create(&self) -> Result<Connection, Infallible> {
        Ok(Connection::open(self).await)
    }

    async fn recycle(
        &self,
        _: &mut Connection,
        _: &deadpool::managed::Metrics,
    ) -> deadpool::managed::RecycleResult<Infallible> {
        task::yield_now().await;
        Ok(())
    }
}

/// Requires that no more connections are open or used than the pool may have.
fn state_bounds(counts: &Counts) {
    let seen = counts.clone();
    sim::always("no more connections than the pool may have", move || {
        seen.open.load(SeqCst) <= CONNECTIONS as usize
    });
    let seen = counts.clone();
    sim::always("each connection has one user", move || {
        seen.used.load(SeqCst) <= seen.open.load(SeqCst)
    });
}

/// Waits for tasks, some of which are aborted at a point that the simulation selects.
async fn abort_some(tasks: Vec<task::JoinHandle<()>>) {
    for (number, task) in tasks.iter().enumerate() {
        if number % 2 == 0 {
            task::yield_now().await;
            task.abort();
        }
    }
    for task in tasks {
        let cancelled = task.await.is_err_and(|error| error.is_cancelled());
        sim::sometimes("a task is cancelled", cancelled);
        sim::sometimes("a task ends", !cancelled);
    }
}

#[test]
fn bb8_gives_all_connections_back() {
    let builder = Builder::new().seeds(2_000).allow_leaks(true);
    let report = builder.run(|| async {
        let counts = Counts::default();
        state_bounds(&counts);
        let builder = bb8::Pool::builder().max_size(CONNECTIONS);
        // These use the system's clock.
        let builder = builder.max_lifetime(None).idle_timeout(None);
        let pool = builder.build(counts.clone()).await.unwrap();
        let user = |_| {
            let pool = pool.clone();
            task::spawn(async move {
                for _ in 0..2 {
                    pool.get().await.unwrap().used().await;
                }
            })
        };
        abort_some((0..4).map(user).collect()).await;
        // All can be had at the same time.
        let mut all = Vec::new();
        for _ in 0..CONNECTIONS {
            let got = timeout(Duration::from_secs(1), pool.get()).await;
            all.push(got.expect("a connection is lost").unwrap());
        }
    });
    assert!(report.never().is_empty(), "{report:?}");
}

#[test]
fn deadpool_gives_all_connections_back() {
    let report = Builder::new().seeds(2_000).run(|| async {
        let counts = Counts::default();
        state_bounds(&counts);
        let pool = deadpool::managed::Pool::<Counts>::builder(counts.clone())
            .max_size(CONNECTIONS as usize)
            .build()
            .unwrap();
        let user = |_| {
            let pool = pool.clone();
            task::spawn(async move {
                for _ in 0..2 {
                    pool.get().await.unwrap().used().await;
                }
            })
        };
        abort_some((0..4).map(user).collect()).await;
        let mut all = Vec::new();
        for _ in 0..CONNECTIONS {
            let got = timeout(Duration::from_secs(1), pool.get()).await;
            all.push(got.expect("a connection is lost").unwrap());
        }
    });
    assert!(report.never().is_empty(), "{report:?}");
}

#[test]
fn tower_answers_each_request_of_a_buffer_once() {
    use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

    let report = Builder::new().seeds(2_000).run(|| async {
        let running = Arc::new(AtomicUsize::new(0));
        let seen = running.clone();
        sim::always("the limit of concurrency holds", move || {
            seen.load(SeqCst) <= 2
        });
        let answered = Arc::new(AtomicUsize::new(0));
        let (own, count) = (running.clone(), answered.clone());
        let service = service_fn(move |number: u32| {
            let (own, count) = (own.clone(), count.clone());
            async move {
                let _running = Used::new(&own);
                task::yield_now().await;
                count.fetch_add(1, SeqCst);
                Ok::<_, tower::BoxError>(number * 2)
            }
        });
        let service = ServiceBuilder::new()
            .buffer(1)
            .concurrency_limit(2)
            .service(service);
        let client = |number: u32| {
            let mut service = service.clone();
            task::spawn(async move {
                for request in [number, number + 10] {
                    let answer = service.ready().await.unwrap().call(request).await;
                    assert_eq!(answer.unwrap(), request * 2);
                }
            })
        };
        let tasks: Vec<_> = (0..4).map(client).collect();
        // The last handle ends the task of the buffer.
        drop(service);
        let full = tasks.len() * 2;
        abort_some(tasks).await;
        let answered = answered.load(SeqCst);
        sim::sometimes("some requests are cancelled", answered < full);
        assert!(answered >= full / 2 && answered <= full);
    });
    assert!(report.never().is_empty(), "{report:?}");
}
