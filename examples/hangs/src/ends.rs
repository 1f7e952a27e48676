//! Hangs of tasks that wait for an end which a task that waits itself has: a sender in a map, a handle of a `Notify`, a
//! place in a channel.

use std::collections::HashMap;
use std::sync::Arc;

use blitz_io::inspect::Named;
use blitz_io::sync::{
    Barrier, CancellationToken, Mutex, Notify, broadcast, mpmc, mpsc, oneshot, watch,
};
use blitz_io::{select, task};

use crate::spawn;

/// The answer's sender stays in a map that two tasks share, and the task that answers was never told so.
///
/// After <https://github.com/modal-labs/blobnet/pull/29>.
pub async fn oneshot_in_a_shared_map() {
    let pending = Arc::new(Mutex::new(HashMap::new()));
    let arrived = Arc::new(Notify::new().named("arrived"));
    let (sender, receiver) = oneshot::channel::<u32>();
    pending.lock().await.insert(7, sender);
    let (requests, arrives) = (pending.clone(), arrived.clone());
    let answers = spawn("answers", async move {
        arrives.notified().await;
        for (request, sender) in requests.lock().await.drain() {
            _ = sender.send(request);
        }
    });
    _ = spawn("asks", async move { _ = receiver.await }).await;
    arrived.notify_one();
    _ = answers.await;
}

/// Two tasks wait, and one notification is made for both.
pub async fn notified_once_for_two() {
    let ready = Arc::new(Notify::new().named("ready"));
    let tasks = ["one", "two"].map(|name| {
        let ready = ready.clone();
        spawn(name, async move { ready.notified().await })
    });
    ready.notify_one();
    for task in tasks {
        _ = task.await;
    }
}

/// Three tasks meet at a barrier for two. The third one waits for a fourth.
pub async fn one_task_too_many() {
    let pair = Arc::new(Barrier::new(2).named("pair"));
    let tasks = ["one", "two", "three"].map(|name| {
        let pair = pair.clone();
        spawn(name, async move { _ = pair.wait().await })
    });
    for task in tasks {
        _ = task.await;
    }
}

/// A task marks the present value as seen, and waits for another one, which was sent before.
pub async fn watch_value_seen_before() {
    let (state, mut changes) = watch::channel(0);
    let state = state.named("state");
    _ = state.send(1);
    changes.mark_unchanged();
    _ = spawn("follows", async move { _ = changes.changed().await }).await;
    drop(state);
}

/// A receiver misses the last value, as newer ones have taken its place, and waits for it.
pub async fn lagged_broadcast() {
    let (events, mut received) = broadcast::channel(2);
    let events = events.named("events");
    for n in 0..4 {
        _ = events.send(n);
    }
    _ = spawn("waits for the first", async move {
        // An error says that values were lost, and is ignored.
        while received.recv().await != Ok(0) {}
    })
    .await;
    drop(events);
}

/// A worker has a sender of its own queue in the state that it shares, so the queue never closes.
pub async fn arc_cycle() {
    let (sender, mut jobs) = mpsc::channel(4);
    let state = Arc::new(sender.named("jobs"));
    let kept = state.clone();
    let worker = spawn("worker", async move {
        while let Some(job) = jobs.recv().await {
            _ = (job, &kept);
        }
    });
    _ = state.send(1).await;
    drop(state);
    _ = worker.await;
}

/// The token is cancelled after the task has ended that waits for it.
pub async fn cancelled_after_its_task() {
    let token = CancellationToken::new();
    let stop = token.clone();
    _ = spawn("worker", async move { stop.cancelled().await }).await;
    token.cancel();
}

/// A task keeps a guard in a `select!` whose branches need the task that wants the lock.
pub async fn select_with_a_guard() {
    let state = Arc::new(Mutex::new(0).named("state"));
    let stop = CancellationToken::new();
    let (sender, mut receiver) = mpsc::channel(1);
    let (wanted, both) = (state.clone(), Arc::new(Barrier::new(2)));
    let (other, stopped) = (both.clone(), stop.clone());
    let selects = spawn("selects", async move {
        _ = receiver.recv().await;
        let mut guard = state.lock().await;
        both.wait().await;
        select! {
            value = receiver.recv() => *guard += value.unwrap_or(0),
            () = stopped.cancelled() => {}
        }
    });
    let sends = spawn("sends", async move {
        _ = sender.send(1).await;
        other.wait().await;
        let value = *wanted.lock().await;
        _ = sender.send(value).await;
    });
    _ = (selects.await, sends.await);
    stop.cancel();
}

/// The main task awaits a worker before it tells the worker to stop.
pub async fn stop_after_join() {
    let (stop, stops) = oneshot::channel::<()>();
    let worker = spawn("worker", async move { _ = stops.await });
    _ = worker.await;
    _ = stop.send(());
}

/// Each of three tasks waits for the one before it.
pub async fn ring_of_oneshots() {
    let mut ends: Vec<_> = (0..3).map(|_| oneshot::channel::<u32>()).collect();
    let mut senders = Vec::new();
    let mut receivers = Vec::new();
    for (sender, receiver) in ends.drain(..) {
        senders.push(sender);
        receivers.push(receiver);
    }
    senders.rotate_left(1);
    let ends = senders.into_iter().zip(receivers);
    let tasks: Vec<_> = ends
        .map(|(sender, receiver)| {
            spawn("station", async move {
                let value = receiver.await;
                _ = sender.send(value.unwrap_or(0));
            })
        })
        .collect();
    for task in tasks {
        _ = task.await;
    }
}

/// A client waits for the answer before it asks.
pub async fn answer_before_question() {
    let (asks, questions) = mpmc::bounded::<u32>(1);
    let (answers, answered) = mpmc::bounded::<u32>(1);
    let client = spawn("client", async move {
        _ = answered.recv().await;
        _ = asks.send(1).await;
    });
    let server = spawn("server", async move {
        while let Ok(question) = questions.recv().await {
            _ = answers.send(question).await;
        }
    });
    _ = (client.await, server.await);
}

/// The children of a set send their results, and the owner joins them all before it receives.
pub async fn set_with_a_full_channel() {
    let (results, mut received) = mpsc::channel(1);
    _ = spawn("owner", async move {
        let mut set = task::JoinSet::new().named("children");
        for n in 0..3 {
            let results = results.clone();
            let child = async move { _ = results.send(n).await };
            _ = set.build_task().name("child").spawn(child);
        }
        drop(results);
        while set.join_next().await.is_some() {}
        while received.recv().await.is_some() {}
    })
    .await;
}

/// A task sends to a full channel while it has the lock that the receiver wants.
///
/// After <https://github.com/libp2p/rust-libp2p/issues/2877>.
pub async fn send_under_a_lock() {
    let state = Arc::new(Mutex::new(0).named("state"));
    let (sender, mut receiver) = mpsc::channel(1);
    let wanted = state.clone();
    let receives = spawn("receives", async move {
        while let Some(value) = receiver.recv().await {
            *wanted.lock().await += value;
        }
    });
    let sends = spawn("sends", async move {
        _ = sender.send(0).await;
        // The receiver has had this one.
        while sender.capacity() == 0 {
            task::yield_now().await;
        }
        let _guard = state.lock().await;
        for n in 1..4 {
            _ = sender.send(n).await;
        }
    });
    _ = (receives.await, sends.await);
}

/// A task has reserved the only place in a channel, and waits for one that sends there.
pub async fn reserved_place_kept() {
    let (sender, mut receiver) = mpsc::channel::<u32>(1);
    let (done, is_done) = oneshot::channel::<()>();
    let other = sender.clone();
    let (reserved, is_reserved) = oneshot::channel();
    let reserves = spawn("reserves", async move {
        let place = sender.reserve().await;
        _ = reserved.send(());
        _ = is_done.await;
        place.into_iter().for_each(|place| place.send(1));
    });
    let sends = spawn("sends", async move {
        _ = is_reserved.await;
        _ = other.send(2).await;
        _ = done.send(());
    });
    let receives = spawn("receives", async move {
        while receiver.recv().await.is_some() {}
    });
    _ = (reserves.await, sends.await, receives.await);
}

/// An actor asks itself, and would answer when it has the answer.
pub async fn actor_asks_itself() {
    let (to_actor, mut requests) = mpsc::channel::<oneshot::Sender<u32>>(4);
    let own = to_actor.clone();
    let actor = spawn("actor", async move {
        while let Some(answer) = requests.recv().await {
            let (sender, receiver) = oneshot::channel();
            _ = own.send(sender).await;
            _ = answer.send(receiver.await.unwrap_or(0));
        }
    });
    let (sender, receiver) = oneshot::channel();
    _ = to_actor.send(sender).await;
    _ = (receiver.await, actor.await);
}

/// Two actors ask each other while they answer.
pub async fn actors_ask_each_other() {
    type Request = oneshot::Sender<u32>;
    let actor = |name, mut requests: mpsc::Receiver<Request>, other: mpsc::Sender<Request>| {
        spawn(name, async move {
            while let Some(answer) = requests.recv().await {
                let (sender, receiver) = oneshot::channel();
                _ = other.send(sender).await;
                _ = answer.send(receiver.await.unwrap_or(0));
            }
        })
    };
    let (to_one, of_one) = mpsc::channel(4);
    let (to_two, of_two) = mpsc::channel(4);
    let one = actor("one", of_one, to_two.clone());
    let two = actor("two", of_two, to_one.clone());
    let (sender, receiver) = oneshot::channel();
    _ = to_one.send(sender).await;
    _ = (receiver.await, one.await, two.await);
}
