//! Request coalescing: many tasks want the same value, and one of them fetches it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use blitz_io::sync::OnceCell;
use blitz_io::thread::Mutex;

#[derive(Default)]
struct Cache(Mutex<HashMap<String, Arc<OnceCell<usize>>>>);

impl Cache {
    async fn get(&self, key: &str) -> Result<usize, String> {
        let cell = self.0.lock().entry(key.to_owned()).or_default().clone();
        // If the task that fetches fails or is cancelled, the next one that waits fetches.
        cell.get_or_try_init(|| fetch(key)).await.copied()
    }
}

static FETCHES: AtomicU32 = AtomicU32::new(0);

async fn fetch(key: &str) -> Result<usize, String> {
    let number = FETCHES.fetch_add(1, Ordering::Relaxed);
    blitz_io::time::sleep(Duration::from_millis(20)).await;
    if number == 0 {
        Err("the first one fails".to_owned())
    } else {
        Ok(key.len())
    }
}

#[blitz_io::main]
async fn main() {
    let cache = Arc::new(Cache::default());
    let mut tasks = blitz_io::task::JoinSet::new();
    for _ in 0..100 {
        let cache = cache.clone();
        tasks.spawn(async move { cache.get("length").await });
    }
    let results = tasks.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1);
    assert_eq!(
        results.iter().filter(|result| **result == Ok(6)).count(),
        99
    );
    let fetches = FETCHES.load(Ordering::Relaxed);
    println!("{} callers, {fetches} fetches", results.len());
    assert_eq!(fetches, 2);
}
