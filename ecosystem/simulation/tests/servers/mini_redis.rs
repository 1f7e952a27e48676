//! mini-redis: its server and its client.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mini_redis::client::{self, Client};
use mini_redis::server;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sim::history::{History, Register};
use tokio::sim::{self, Builder, Faults};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::site::{FAULTS, LIMIT, PORT, Stop, sooner, stopped};

/// The number of operations of each client.
const OPERATIONS: u32 = 8;
/// The lifetime of values.
const LIFETIME: Duration = Duration::from_secs(2);

type Store = History<Register<String, String>>;

async fn serve(stop: Stop) {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await;
    let served = server::run(listener.unwrap(), stopped(stop)).await;
    served.unwrap();
}

/// A client, which connects again after an error.
struct Connecting {
    server: IpAddr,
    connected: Option<Client>,
}

impl Connecting {
    fn new(server: IpAddr) -> Self {
        let connected = None;
        Self { server, connected }
    }

    /// Does an operation. `None` if it fails, or takes too long: then it has happened, or not, or still will.
    async fn attempt<T>(
        &mut self,
        operation: impl AsyncFnOnce(&mut Client) -> mini_redis::Result<T>,
    ) -> Option<T> {
        // An error, or a drop of the future, leaves no connection.
        let connected = self.connected.take();
        let address = (self.server, PORT);
        let attempt = async {
            let mut client = match connected {
                Some(client) => client,
                None => client::connect(address).await?,
            };
            let result = operation(&mut client).await?;
            Ok::<_, mini_redis::Error>((client, result))
        };
        let attempted = timeout(LIMIT, attempt).await;
        sim::sometimes("no answer in time", attempted.is_err());
        sim::sometimes("an error", matches!(attempted, Ok(Err(_))));
        let (client, result) = attempted.ok()?.ok()?;
        self.connected = Some(client);
        Some(result)
    }
}

/// Reads and writes two keys.
async fn use_store(server: IpAddr, store: Store, done: Arc<Mutex<u32>>) {
    let mut client = Connecting::new(server);
    let me = sim::Host::current();
    for number in 0..OPERATIONS {
        let key = format!("key {}", sim::random() % 2);
        if sim::random() % 2 == 0 {
            let value = format!("{number} of {}", me.name());
            let call = store.begin(Register::Write(key.clone(), value.clone()));
            let set = async |client: &mut Client| client.set(&key, value.into()).await;
            if client.attempt(set).await.is_some() {
                call.end(None);
            }
        } else {
            let call = store.begin(Register::Read(key.clone()));
            let get = async |client: &mut Client| client.get(&key).await;
            if let Some(read) = client.attempt(get).await {
                call.end(read.map(|value| String::from_utf8(value.to_vec()).unwrap()));
            }
        }
        sleep(Duration::from_millis(sim::random() % 1_000)).await;
    }
    *done.lock().unwrap() += 1;
}

/// Waits until only the test's own task is left.
async fn end(stop: &watch::Sender<bool>) {
    stop.send_replace(true);
    let is_left = async {
        while Handle::current().metrics().num_alive_tasks() > 1 {
            sleep(LIFETIME).await;
        }
    };
    assert!(timeout(LIMIT * 20, is_left).await.is_ok(), "tasks are left");
}

/// The server has its values in memory only, so it does not crash here. Clients start again, and are cut off.
#[test]
fn mini_redis_is_linearizable() {
    let report = Builder::new().seeds(200).from_env().run(|| async {
        let (stop, stops) = watch::channel(false);
        let server = sim::host("server", move |_| serve(stops.clone()));
        let (store, done) = (Store::new(), Arc::new(Mutex::new(0)));
        let (of_clients, of_all, address) = (store.clone(), done.clone(), server.address());
        let clients = sim::hosts(3, move |_| {
            use_store(address, of_clients.clone(), of_all.clone())
        });
        sim::inject(sooner(Faults::new().pauses().partitions().losses()));
        while *done.lock().unwrap() < clients.len() as u32 {
            sleep(LIFETIME).await;
        }
        store.check().unwrap();
        end(&stop).await;
    });
    assert!(report.never().is_empty(), "{report:?}");
}

/// The values that were set for two seconds. It is no part of a host, so no value is set twice.
#[derive(Default)]
struct Values {
    /// The last value.
    last: u32,
    /// The last value that was acknowledged, and when.
    acknowledged: Option<(u32, Instant)>,
}

/// Sets the value for a time, again and again.
async fn set_values(server: IpAddr, values: Arc<Mutex<Values>>) {
    let mut client = Connecting::new(server);
    loop {
        let number = {
            let mut values = values.lock().unwrap();
            values.last += 1;
            values.last
        };
        let value = number.to_string();
        let set =
            async |client: &mut Client| client.set_expires("key", value.into(), LIFETIME).await;
        let is_set = client.attempt(set).await.is_some();
        if is_set {
            values.lock().unwrap().acknowledged = Some((number, Instant::now()));
        }
        sleep(LIFETIME / 2 * (sim::random() % 5) as u32).await;
    }
}

/// Whatever crashes, no value outlives its time, and the server's task for that never stops.
#[test]
fn mini_redis_forgets_values_in_time() {
    let report = Builder::new().seeds(200).from_env().run(|| async {
        let (stop, stops) = watch::channel(false);
        let server = sim::host("server", move |_| serve(stops.clone()));
        let values = Arc::new(Mutex::new(Values::default()));
        let (same, address) = (values.clone(), server.address());
        let writer = sim::host("writer", move |_| set_values(address, same.clone()));
        let faults = Faults::new()
            .crashes()
            .blackouts()
            .kills()
            .partitions()
            .losses();
        sim::inject(sooner(faults));
        let mut client = Connecting::new(address);
        let start = Instant::now();
        while start.elapsed() < FAULTS * 5 / 4 {
            let (began, last) = (Instant::now(), values.lock().unwrap().acknowledged);
            let get = async |client: &mut Client| client.get("key").await;
            let read = client.attempt(get).await;
            sim::sometimes("a value", matches!(read, Some(Some(_))));
            sim::sometimes("no value", matches!(read, Some(None)));
            let read: Option<u32> = read
                .flatten()
                .map(|value| std::str::from_utf8(&value).unwrap().parse().unwrap());
            if let (Some(read), Some((number, at))) = (read, last) {
                let is_old = read == number && began > at + LIFETIME;
                assert!(!is_old, "{read} was set {:?} before the read", began - at);
            }
            sleep(Duration::from_millis(sim::random() % 1_000)).await;
        }
        writer.kill();
        end(&stop).await;
    });
    assert!(report.never().is_empty(), "{report:?}");
}
