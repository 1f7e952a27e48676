use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Semaphore, task::JoinSet, time::Instant};
use tower::{
    BoxError, Service, ServiceBuilder, ServiceExt, hedge::Hedge, hedge::Policy as HedgePolicy,
    retry::Policy, service_fn, spawn_ready::SpawnReady, timeout::error::Elapsed,
};

use crate::support::limit;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_buffer_serves_many_tasks() {
    let inner = service_fn(|n: usize| async move {
        tokio::task::yield_now().await;
        Ok::<_, Infallible>(n * 2)
    });
    let service = ServiceBuilder::new()
        .buffer(8)
        .concurrency_limit(4)
        .service(inner);
    let mut tasks = JoinSet::new();
    for task in 0..32 {
        let mut service = service.clone();
        tasks.spawn(async move {
            for n in 0..100 {
                let ready = service.ready().await.unwrap();
                assert_eq!(ready.call(task * n).await.unwrap(), 2 * task * n);
            }
        });
    }
    limit(tasks.join_all()).await;
}

#[tokio::test(start_paused = true)]
async fn timeout() {
    let sleeper = service_fn(|time: Duration| async move {
        tokio::time::sleep(time).await;
        Ok::<_, BoxError>(time)
    });
    let mut service = ServiceBuilder::new()
        .timeout(Duration::from_secs(5))
        .service(sleeper);
    let short = Duration::from_secs(4);
    assert_eq!(
        service.ready().await.unwrap().call(short).await.unwrap(),
        short
    );
    let begin = Instant::now();
    let late = service
        .ready()
        .await
        .unwrap()
        .call(Duration::from_secs(6))
        .await
        .unwrap_err();
    assert!(late.is::<Elapsed>());
    assert_eq!(begin.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn rate_limit() {
    let service = service_fn(|()| async { Ok::<_, Infallible>(Instant::now()) });
    let mut service = ServiceBuilder::new()
        .rate_limit(3, Duration::from_secs(10))
        .service(service);
    let begin = Instant::now();
    let mut seconds = Vec::new();
    for _ in 0..9 {
        let time = service.ready().await.unwrap().call(()).await.unwrap();
        seconds.push((time - begin).as_secs());
    }
    assert_eq!(seconds, [0, 0, 0, 10, 10, 10, 20, 20, 20]);
}

#[tokio::test]
async fn load_shed_refuses_what_is_too_much() {
    let gate = Arc::new(Semaphore::new(0));
    let inner = {
        let gate = gate.clone();
        service_fn(move |()| {
            let gate = gate.clone();
            async move {
                gate.acquire().await.unwrap().forget();
                Ok::<_, BoxError>(())
            }
        })
    };
    let mut service = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(2)
        .service(inner);
    let first = tokio::spawn(service.ready().await.unwrap().call(()));
    let second = tokio::spawn(service.ready().await.unwrap().call(()));
    let third = service.ready().await.unwrap().call(()).await.unwrap_err();
    assert!(third.is::<tower::load_shed::error::Overloaded>());
    gate.add_permits(2);
    limit(first).await.unwrap().unwrap();
    limit(second).await.unwrap().unwrap();
    gate.add_permits(1);
    limit(service.ready().await.unwrap().call(()))
        .await
        .unwrap();
}

#[derive(Clone)]
struct Attempts(usize);

impl Policy<(), usize, BoxError> for Attempts {
    type Future = tokio::time::Sleep;

    fn retry(&mut self, (): &mut (), result: &mut Result<usize, BoxError>) -> Option<Self::Future> {
        self.0 = self.0.checked_sub(1)?;
        result
            .is_err()
            .then(|| tokio::time::sleep(Duration::from_secs(1)))
    }

    fn clone_request(&mut self, (): &()) -> Option<()> {
        Some(())
    }
}

#[tokio::test(start_paused = true)]
async fn retry_waits_between_attempts() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let flaky = service_fn(move |()| {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            if call < 3 {
                Err(BoxError::from("not yet"))
            } else {
                Ok(call)
            }
        }
    });
    let mut service = ServiceBuilder::new().retry(Attempts(5)).service(flaky);
    let begin = Instant::now();
    assert_eq!(service.ready().await.unwrap().call(()).await.unwrap(), 3);
    assert_eq!(begin.elapsed().as_secs(), 3);
}

#[derive(Clone)]
struct Always;

impl HedgePolicy<u64> for Always {
    fn can_retry(&self, _: &u64) -> bool {
        true
    }

    fn clone_request(&self, request: &u64) -> Option<u64> {
        Some(*request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_hedge_asks_twice() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    // Every tenth call is slow.
    let service = service_fn(move |n: u64| {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            tokio::time::sleep(Duration::from_millis(if call % 10 == 9 {
                10_000
            } else {
                10
            }))
            .await;
            Ok::<_, BoxError>(n)
        }
    });
    let mut service = Hedge::new_with_mock_latencies(
        service,
        Always,
        5,
        0.5,
        Duration::from_secs(1000),
        &[10; 10],
    );
    let begin = Instant::now();
    for n in 0..30 {
        assert_eq!(service.ready().await.unwrap().call(n).await.unwrap(), n);
    }
    assert!(calls.load(Ordering::Relaxed) > 30);
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
}

/// Becomes ready in a separate task.
struct Slow(Option<tokio::task::JoinHandle<()>>);

impl Service<()> for Slow {
    type Response = &'static str;
    type Error = Infallible;
    type Future = Ready<Result<&'static str, Infallible>>;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        let task = self
            .0
            .get_or_insert_with(|| tokio::spawn(tokio::task::yield_now()));
        let joined = std::task::ready!(std::pin::Pin::new(task).poll(context));
        self.0 = None;
        std::task::Poll::Ready(Ok(joined.unwrap()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        ready(Ok("called"))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spawn_ready() {
    let mut service = SpawnReady::new(Slow(None));
    for _ in 0..100 {
        let answer = limit(service.ready())
            .await
            .unwrap()
            .call(())
            .await
            .unwrap();
        assert_eq!(answer, "called");
    }
}
