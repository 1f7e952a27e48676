//! Hangs of channels.

use std::collections::HashMap;
use std::sync::{Arc, Barrier as ThreadBarrier};

use blitz_io::inspect::Named;
use blitz_io::sync::{Barrier, broadcast, mpmc, mpsc, oneshot, watch};

use crate::spawn;

/// A task fills the channel of which it is the receiver.
///
/// After <https://github.com/rust-lang/async-book/pull/189>.
pub async fn bounded_to_oneself() {
    _ = spawn("echo", async move {
        let (sender, mut receiver) = mpsc::channel(1);
        _ = sender.send(1).await;
        assert_eq!(receiver.recv().await, Some(1));
        for n in 2..4 {
            _ = sender.send(n).await;
        }
    })
    .await;
}

/// Two tasks send each other more than their channels hold, and receive afterwards.
///
/// After <https://github.com/build-trust/ockam/issues/1947>.
pub async fn bounded_both_ways() {
    let (to_server, mut requests) = mpsc::channel(1);
    let (to_client, mut answers) = mpsc::channel(1);
    let both = Arc::new(Barrier::new(2));
    let other = both.clone();
    let client = spawn("client", async move {
        _ = to_server.send(0).await;
        _ = answers.recv().await;
        both.wait().await;
        for n in 1..4 {
            _ = to_server.send(n).await;
        }
        while answers.recv().await.is_some() {}
    });
    let server = spawn("server", async move {
        _ = to_client.send(0).await;
        _ = requests.recv().await;
        other.wait().await;
        for n in 1..4 {
            _ = to_client.send(n).await;
        }
        while requests.recv().await.is_some() {}
    });
    _ = (client.await, server.await);
}

/// A task fills a queue, and the task that empties it waits for another queue first.
///
/// After <https://github.com/delta-io/delta-kernel-rs/pull/140>.
pub async fn crossed_queues() {
    let (log, old) = mpmc::bounded(1);
    let (reads, new) = mpmc::bounded(1);
    let producer = spawn("producer", async move {
        for n in 0..3 {
            _ = log.send(n).await;
        }
        _ = reads.send(0).await;
    });
    let old = old.named("log");
    let new = new.named("reads");
    let consumer = spawn("consumer", async move {
        _ = new.recv().await;
        while old.recv().await.is_ok() {}
    });
    _ = (producer.await, consumer.await);
}

/// The same with threads.
///
/// After <https://github.com/delta-io/delta-kernel-rs/pull/140>.
pub fn threads_crossed_queues() {
    let (log, old) = mpmc::bounded(1);
    let (reads, new) = mpmc::bounded(1);
    let (old, new) = (old.named("log"), new.named("reads"));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            (0..3).for_each(|n| _ = log.blocking_send(n));
            _ = reads.blocking_send(0);
        });
        _ = new.blocking_recv();
        while old.blocking_recv().is_ok() {}
    });
}

/// A task waits for a change of a value that had its last change before the task looked at it.
///
/// After <https://github.com/tokio-rs/tokio/pull/5954>.
pub async fn watch_that_never_changes() {
    let (sender, mut receiver) = watch::channel(0);
    _ = sender.send(1);
    receiver.mark_unchanged();
    _ = spawn("waits", async move { receiver.changed().await }).await;
    drop(sender);
}

/// A task receives until all senders are gone, and keeps one itself.
///
/// After <https://github.com/tod-org/tod/issues/1640>.
pub async fn broadcast_sender_kept() {
    let (sender, mut receiver) = broadcast::channel::<u32>(4);
    _ = spawn("drains", async move {
        while receiver.recv().await.is_ok() {}
        drop(sender);
    })
    .await;
}

/// Senders wait until their channels have no receivers, which stay in a registry of subscribers.
///
/// After <https://github.com/linkerd/linkerd2/issues/4926>.
pub async fn receivers_in_a_registry() {
    let (queue, queue_end) = mpsc::channel::<u32>(1);
    let (state, state_end) = watch::channel(0);
    let (events, events_end) = broadcast::channel::<u32>(1);
    let (mut answer, answer_end) = oneshot::channel::<u32>();
    let registry = (queue_end, state_end, events_end, answer_end);
    spawn("answer", async move { answer.closed().await });
    spawn("queue", async move { queue.closed().await });
    spawn("state", async move { state.named("state").closed().await });
    let events = events.named("events");
    _ = spawn("events", async move { events.closed().await }).await;
    drop(registry);
}

/// The answer's sender stays in a map of pending requests.
///
/// After <https://github.com/modal-labs/blobnet/pull/29>.
pub async fn sender_in_a_map() {
    let mut pending = HashMap::new();
    let (sender, receiver) = oneshot::channel::<u32>();
    pending.insert(7, sender);
    _ = spawn("asks", async move { _ = receiver.await }).await;
    drop(pending);
}

/// The same with threads; the thread that would answer waits until no answer is wanted.
pub fn threads_sender_in_a_map() {
    let mut pending = HashMap::new();
    let (sender, receiver) = oneshot::channel::<u32>();
    let (mut other, answer) = oneshot::channel::<u32>();
    pending.insert(7, (sender, answer));
    std::thread::scope(|scope| {
        scope.spawn(move || other.blocking_closed());
        _ = receiver.blocking_recv();
    });
    drop(pending);
}

/// A thread waits for a job, or for room for a result, and is the only one that uses the channels.
pub fn select_of_threads() {
    let (_jobs, job) = mpmc::bounded::<u32>(1);
    let (results, _result) = mpmc::bounded(0);
    let (job, results) = (job.named("jobs"), results.named("results"));
    let mut select = mpmc::Select::new();
    select.recv(&job);
    select.send(&results);
    let chosen = select.select();
    _ = chosen.send(&results, 0);
}

/// A task receives many values, each after a short wait, and then no more.
pub async fn sender_stops() {
    let (sender, mut receiver) = mpsc::channel(1);
    let (acknowledges, mut acknowledged) = mpsc::channel(1);
    let consumer = spawn("consumer", async move {
        while let Some(n) = receiver.recv().await {
            _ = acknowledges.send(n).await;
        }
    });
    for n in 0..4_000 {
        // The consumer waits by now.
        blitz_io::task::yield_now().await;
        _ = sender.send(n).await;
        _ = acknowledged.recv().await;
    }
    // Forgets to drop the sender.
    std::future::pending::<()>().await;
    drop((sender, consumer));
}

/// A task drains a channel until the last sender is gone, and the last sender awaits that task.
///
/// After <https://github.com/openai/codex/pull/2747>.
pub async fn last_sender_waits() {
    let (sender, mut receiver) = mpsc::channel(4);
    let consumer = spawn("consumer", async move {
        while receiver.recv().await.is_some() {}
    });
    _ = spawn("producer", async move {
        for n in 0..3 {
            _ = sender.send(n).await;
        }
        _ = consumer.await;
        drop(sender);
    })
    .await;
}

/// Two threads send each other more than their channels hold.
///
/// After <https://github.com/sigp/discv5/pull/23>.
pub fn threads_bounded_both_ways() {
    let (one, mut from_one) = mpsc::channel(1);
    let (two, mut from_two) = mpsc::channel(1);
    let both = ThreadBarrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            _ = two.blocking_send(0);
            _ = from_one.blocking_recv();
            both.wait();
            (1..4).for_each(|n| _ = two.blocking_send(n));
        });
        _ = one.blocking_send(0);
        _ = from_two.blocking_recv();
        both.wait();
        (1..4).for_each(|n| _ = one.blocking_send(n));
    });
}
