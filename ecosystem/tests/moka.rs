use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use moka::{future::Cache, notification::RemovalCause};
use tokio::task::JoinSet;

use crate::support::limit;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_is_computed_once() {
    let cache: Cache<u64, u64> = Cache::new(1000);
    let computed = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let (cache, computed) = (cache.clone(), computed.clone());
        tasks.spawn(async move {
            for i in 0..50 {
                let key = (task + i) % 50;
                let value = cache.get_with(key, async {
                    computed.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    key * key
                });
                assert_eq!(value.await, key * key);
            }
        });
    }
    limit(tasks.join_all()).await;
    assert_eq!(computed.load(Ordering::Relaxed), 50);
}

/// A task that computes is cancelled, and one of the tasks that wait for it takes over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_computation_that_is_cancelled() {
    let cache: Cache<&str, u64> = Cache::new(10);
    let first = {
        let cache = cache.clone();
        tokio::spawn(async move { cache.get_with("key", std::future::pending()).await })
    };
    tokio::time::sleep(Duration::from_millis(5)).await;
    let second = {
        let cache = cache.clone();
        tokio::spawn(async move { cache.get_with("key", async { 2 }).await })
    };
    tokio::time::sleep(Duration::from_millis(5)).await;
    first.abort();
    assert_eq!(limit(second).await.unwrap(), 2);
    let failed = cache
        .try_get_with("other", async { Err::<u64, _>("no") })
        .await;
    assert_eq!(*failed.unwrap_err(), "no");
    assert_eq!(cache.get("other").await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eviction() {
    let (size, expired) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let cache = {
        let (size, expired) = (size.clone(), expired.clone());
        Cache::builder()
            .max_capacity(100)
            .time_to_live(Duration::from_millis(50))
            .eviction_listener(move |_, _, cause| {
                let counter = if cause == RemovalCause::Size {
                    &size
                } else {
                    &expired
                };
                counter.fetch_add(1, Ordering::Relaxed);
            })
            .build()
    };
    limit(async {
        for i in 0..1000u64 {
            cache.insert(i, vec![0u8; 100]).await;
        }
        cache.run_pending_tasks().await;
        assert!(cache.entry_count() <= 100);
        while cache.entry_count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            cache.run_pending_tasks().await;
        }
        let all = size.load(Ordering::Relaxed) + expired.load(Ordering::Relaxed);
        assert_eq!(all, 1000);
    })
    .await;
}
