//! Children that run in parallel and have ended when the function goes on, whatever happens.

use std::sync::Arc;
use std::time::Duration;

use blitz_io::task::parallel_scope;
use blitz_io::time::{sleep, timeout};

/// Looks a word up in all parts at the same time.
async fn search(parts: Arc<[Vec<String>]>, word: &'static str) -> usize {
    parallel_scope(async |scope| {
        let children: Vec<_> = (0..parts.len())
            .map(|part| {
                let parts = parts.clone();
                scope.spawn(async move { parts[part].iter().filter(|&w| w == word).count() })
            })
            .collect();
        let mut found = 0;
        for child in children {
            found += child.await.unwrap();
        }
        found
    })
    .await
}

#[blitz_io::main]
async fn main() {
    let part = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let parts: Arc<[Vec<String>]> = [part("a b a"), part("b b"), part("a c")].into();
    let found = search(parts, "a").await;
    println!("found {found} times");
    assert_eq!(found, 3);

    // A child that is not awaited still ends before the scope does.
    let done = Arc::new(());
    let childs = done.clone();
    parallel_scope(async |scope| {
        scope.spawn(async move {
            sleep(Duration::from_millis(10)).await;
            drop(childs);
        });
    })
    .await;
    assert_eq!(Arc::strong_count(&done), 1);

    // A time limit drops the scope's future, which aborts the children.
    let limited = timeout(
        Duration::from_millis(10),
        parallel_scope(async |scope| {
            scope.spawn(sleep(Duration::from_secs(3600))).await.unwrap();
        }),
    );
    assert!(limited.await.is_err());
}
