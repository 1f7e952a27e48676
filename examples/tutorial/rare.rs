//! Calls a function for each item in a task of its own, and loses the order of the items.

#![allow(missing_docs, reason = "the function is explained by the tutorial")]

// ANCHOR: map
use blitz_io::sync::mpsc;

pub async fn map<T, R>(items: Vec<T>, f: fn(T) -> R) -> Vec<R>
where
    T: Send + 'static,
    R: Send + 'static,
{
    let (sender, mut receiver) = mpsc::unbounded_channel();
    for item in items {
        let sender = sender.clone();
        blitz_io::spawn(async move { sender.send(f(item)) });
    }
    drop(sender);
    let mut results = Vec::new();
    while let Some(result) = receiver.recv().await {
        results.push(result);
    }
    results
}
// ANCHOR_END: map

#[blitz_io::main]
async fn main() {
    let mut results = map(vec![1, 2], |n| n * 10).await;
    results.sort_unstable();
    assert_eq!(results, [10, 20]);
}
