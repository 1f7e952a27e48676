use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use console_api::field::{Name, Value};
use console_api::tasks::Stats;
use console_api::instrument::{InstrumentRequest, Update, instrument_client::InstrumentClient};
use console_subscriber::{ConsoleLayer, ServerParts};
use tokio::sync::{Mutex, Semaphore};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Streaming;
use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt;

use crate::support::{limit, listener};

/// Starts the console's server, and makes its subscriber that of this thread.
async fn console() -> (SocketAddr, (DefaultGuard, Dispatch)) {
    let (layer, server) = ConsoleLayer::builder()
        .publish_interval(Duration::from_millis(20))
        .build();
    // With a single subscriber, tracing asks only the subscriber of the thread that happens
    // to reach a span first. The threads of other tests have none, and would switch the
    // span off for all.
    let second = Dispatch::new(tracing_subscriber::registry());
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    let ServerParts {
        instrument_server,
        aggregator,
        ..
    } = server.into_parts();
    let (listener, address) = listener().await;
    tokio::spawn(aggregator.run());
    let router = tonic::transport::Server::builder().add_service(instrument_server);
    tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
    (address, (guard, second))
}

/// Connects as tokio-console does.
async fn updates(address: SocketAddr) -> Streaming<Update> {
    let mut client = InstrumentClient::connect(format!("http://{address}"))
        .await
        .unwrap();
    client
        .watch_updates(InstrumentRequest {})
        .await
        .unwrap()
        .into_inner()
}

/// The console is told about the runtime's tasks, by name, and about their end.
#[tokio::test]
async fn the_console_sees_tasks() {
    let (address, _guards) = console().await;
    limit(async {
        let mut updates = updates(address).await;
        let task = tokio::spawn(async {
            for _ in 0..50 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        let mut seen = Seen::of(task.id());
        let mut polls = 0;
        loop {
            let Some(stats) = seen.next(&mut updates).await else { continue };
            polls = polls.max(stats.poll_stats.as_ref().map_or(0, |poll| poll.polls));
            if stats.dropped_at.is_some() {
                break;
            }
        }
        assert!(polls >= 50, "{polls}");
        task.await.unwrap();
    })
    .await;
}

/// What the console knows of a task.
#[derive(Default)]
struct Seen {
    id: u64,
    span: Option<u64>,
}

impl Seen {
    fn of(id: tokio::task::Id) -> Self {
        Self {
            id: id.to_string().parse().unwrap(),
            span: None,
        }
    }

    /// Waits for an update, and returns the task's figures, if it has some.
    async fn next(&mut self, updates: &mut Streaming<Update>) -> Option<Stats> {
        let id = self.id;
        self.next_of(updates, |value| *value == Value::U64Val(id)).await
    }

    /// The same for the task that has such a field.
    async fn next_of(
        &mut self,
        updates: &mut Streaming<Update>,
        is_its: impl Fn(&Value) -> bool,
    ) -> Option<Stats> {
        let update = updates.message().await.unwrap().unwrap();
        let tasks = update.task_update?;
        for new in tasks.new_tasks {
            let is_its = |field: &console_api::Field| field.value.as_ref().is_some_and(&is_its);
            if new.fields.iter().any(is_its) {
                self.span = new.id.map(|span| span.id);
                assert!(new.location.is_some());
            }
        }
        tasks.stats_update.get(&self.span?).cloned()
    }
}

/// The console warns of a task that waits without a waker.
#[tokio::test]
async fn the_console_counts_wakers() {
    let (address, _guards) = console().await;
    limit(async {
        let mut updates = updates(address).await;
        let (give, take) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(take);
        let mut seen = Seen::of(task.id());
        let mut give = Some(give);
        loop {
            let Some(stats) = seen.next(&mut updates).await else { continue };
            let wakers = stats.waker_clones - stats.waker_drops;
            let polls = stats.poll_stats.as_ref().map_or(0, |poll| poll.polls);
            if let Some(give) = give.take_if(|_| polls == 1 && wakers == 1) {
                give.send(7).unwrap();
            }
            if stats.dropped_at.is_some() {
                assert_eq!((wakers, stats.wakes), (0, 1));
                break;
            }
        }
        assert!(give.is_none(), "the task had one waker while it waited");
        assert_eq!(task.await.unwrap(), Ok(7));
    })
    .await;
}

/// The future that a thread blocks for has no number that the program sees.
#[tokio::test]
async fn the_console_counts_wakers_of_what_a_thread_blocks_for() {
    let (address, _guards) = console().await;
    limit(async {
        let mut updates = updates(address).await;
        let (give, take) = tokio::sync::oneshot::channel();
        let dispatch = tracing::dispatcher::get_default(Dispatch::clone);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            tracing::dispatcher::with_default(&dispatch, || runtime.block_on(take))
        });
        let mut seen = Seen::default();
        let mut give = Some(give);
        loop {
            let next = seen.next_of(&mut updates, |value| {
                matches!(value, Value::DebugVal(kind) | Value::StrVal(kind) if kind == "block_on")
            });
            let Some(stats) = next.await else { continue };
            let wakers = stats.waker_clones - stats.waker_drops;
            if let Some(give) = give.take_if(|_| wakers == 1) {
                give.send(7).unwrap();
            }
            if stats.dropped_at.is_some() {
                assert_eq!((wakers, stats.wakes), (0, 1));
                break;
            }
        }
        assert!(give.is_none(), "the future had one waker while it waited");
        assert_eq!(thread.join().unwrap(), Ok(7));
    })
    .await;
}

/// What the console knows of resources and operations on them.
#[derive(Default)]
struct Resources {
    /// The type and the line of each resource.
    known: HashMap<u64, (String, u32)>,
    /// Their state.
    attributes: HashMap<u64, HashMap<String, Value>>,
    /// The source and the resource of each operation.
    operations: HashMap<u64, (String, u64)>,
    /// The operations that a task has polled and that are not over, with the task.
    waiting: HashMap<u64, u64>,
}

impl Resources {
    fn update(&mut self, update: Update) {
        let resources = update.resource_update.unwrap_or_default();
        for new in resources.new_resources {
            let line = new.location.and_then(|location| location.line).unwrap_or(0);
            self.known
                .insert(new.id.unwrap().id, (new.concrete_type, line));
        }
        for (id, stats) in resources.stats_update {
            let state = self.attributes.entry(id).or_default();
            for field in stats
                .attributes
                .into_iter()
                .filter_map(|attribute| attribute.field)
            {
                if let (Some(Name::StrName(name)), Some(value)) = (field.name, field.value) {
                    state.insert(name, value);
                }
            }
        }
        let operations = update.async_op_update.unwrap_or_default();
        for new in operations.new_async_ops {
            let resource = new.resource_id.unwrap().id;
            self.operations
                .insert(new.id.unwrap().id, (new.source, resource));
        }
        for (id, stats) in operations.stats_update {
            match stats.task_id {
                Some(task) if stats.dropped_at.is_none() => self.waiting.insert(id, task.id),
                _ => self.waiting.remove(&id),
            };
        }
    }

    /// The resource that was made at a line of this file.
    fn at(&self, concrete_type: &str, line: u32) -> Option<u64> {
        let is_it =
            |(_, known): &(&u64, &(String, u32))| known.0 == concrete_type && known.1 == line;
        self.known.iter().find(is_it).map(|(&id, _)| id)
    }

    fn is(&self, resource: u64, name: &str, value: &Value) -> bool {
        self.attributes
            .get(&resource)
            .and_then(|state| state.get(name))
            == Some(value)
    }

    /// How many tasks wait for the resource in a method.
    fn waiters(&self, resource: u64, source: &str) -> usize {
        let waits = |id: &&u64| {
            let operation = self.operations.get(*id);
            operation.is_some_and(|(from, on)| from == source && *on == resource)
        };
        self.waiting.keys().filter(waits).count()
    }
}

/// The console is told that a mutex is locked and who waits for it, how many permits a semaphore
/// has, and when that changes.
#[tokio::test]
async fn the_console_sees_locks_and_their_waiters() {
    let (address, _guards) = console().await;
    limit(async {
        let mut updates = updates(address).await;
        let (mutex, mutex_line) = (Arc::new(Mutex::new(())), line!());
        let (semaphore, semaphore_line) = (Semaphore::new(3), line!());
        let permits = semaphore.acquire_many(2).await.unwrap();
        let guard = mutex.lock().await;
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let mutex = mutex.clone();
                tokio::spawn(async move { drop(mutex.lock().await) })
            })
            .collect();

        let mut seen = Resources::default();
        loop {
            seen.update(updates.message().await.unwrap().unwrap());
            let Some(mutex) = seen.at("Mutex", mutex_line) else {
                continue;
            };
            let Some(semaphore) = seen.at("Semaphore", semaphore_line) else {
                continue;
            };
            if seen.is(mutex, "locked", &Value::BoolVal(true))
                && seen.waiters(mutex, "Mutex::lock") == 2
                && seen.is(semaphore, "permits", &Value::U64Val(1))
            {
                break;
            }
        }
        drop((guard, permits));
        for waiter in waiters {
            waiter.await.unwrap();
        }
        let ids = (
            seen.at("Mutex", mutex_line).unwrap(),
            seen.at("Semaphore", semaphore_line).unwrap(),
        );
        while !(seen.is(ids.0, "locked", &Value::BoolVal(false))
            && seen.waiters(ids.0, "Mutex::lock") == 0
            && seen.is(ids.1, "permits", &Value::U64Val(3)))
        {
            seen.update(updates.message().await.unwrap().unwrap());
        }
    })
    .await;
}
