//! openraft, unmodified, on the drop-in package `tokio` with the feature `sim`: three nodes and their clients.
//!
//! A node's memory is lost when it crashes, and its log, its vote and its last snapshot are not.

mod disk;
mod machine;
mod network;
mod runtime;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use openraft::error::{ClientWriteError, RaftError};
use openraft::raft::ClientWriteResponse;
use openraft::{BasicNode, Config, Raft, SnapshotPolicy};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sim::history::{History, Register};
use tokio::sim::{self, Builder, Faults};
use tokio::task;
use tokio::time::{Instant, sleep, timeout};

use disk::Disk;
use machine::Machine;
use network::{Network, PORT, Request, call, read, write};
use runtime::Seeded;

/// The number of nodes.
const NODES: u64 = 3;
/// The number of clients.
const CLIENTS: u32 = 2;
/// The time after which no fault begins.
const FAULTS: Duration = Duration::from_secs(12);
/// The time that a client waits for the answer of a node.
const LIMIT: Duration = Duration::from_secs(2);

/// An operation on a store with a few keys. Reads are entries of the log, too.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Command {
    Read(u8),
    Write(u8, u32),
}

openraft::declare_raft_types!(
    /// The types of the store.
    pub Types: D = Command, R = Option<u32>, AsyncRuntime = Seeded
);

type Written = Result<ClientWriteResponse<Types>, RaftError<u64, ClientWriteError<u64, BasicNode>>>;
type Store = History<Register<u8, u32>>;

fn name(node: u64) -> String {
    format!("host-{node}")
}

/// A node: answers the requests of other nodes and of clients.
async fn node(me: u64, disk: Disk) {
    let config = Config {
        heartbeat_interval: 100,
        election_timeout_min: 300,
        election_timeout_max: 600,
        snapshot_policy: SnapshotPolicy::LogsSinceLast(10),
        max_in_snapshot_log_to_keep: 3,
        ..Config::default()
    };
    let config = Arc::new(config.validate().unwrap());
    let machine = Machine::new(disk.clone());
    let raft = Raft::<Types>::new(me, config, Network, disk, machine);
    let raft = raft.await.unwrap();
    if me == 0 {
        let node = |node| (node, BasicNode::new(name(node)));
        let members: BTreeMap<u64, BasicNode> = (0..NODES).map(node).collect();
        // It fails if this node starts again.
        _ = raft.initialize(members).await;
    }
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await.unwrap();
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            continue;
        };
        let raft = raft.clone();
        // It fails if the other end crashes.
        task::spawn(async move {
            let request: Request = read(&mut stream).await?;
            match request {
                Request::Append(rpc) => write(&mut stream, &raft.append_entries(rpc).await).await,
                Request::Vote(rpc) => write(&mut stream, &raft.vote(rpc).await).await,
                Request::Install(rpc) => {
                    write(&mut stream, &raft.install_snapshot(rpc).await).await
                }
                Request::Do(command) => write(&mut stream, &raft.client_write(command).await).await,
            }
        });
    }
}

/// The outcome of an attempt.
enum Done {
    Yes(Option<u32>),
    /// The node is no leader, and has done nothing.
    No,
    /// It may have happened, or not, or still will.
    Perhaps,
}

async fn attempt(node: u64, command: Command) -> Done {
    let asked = timeout(LIMIT, call::<Written>(&name(node), &Request::Do(command))).await;
    sim::sometimes("no answer in time", asked.is_err());
    match asked {
        Ok(Ok(Ok(response))) => Done::Yes(response.data),
        Ok(Ok(Err(RaftError::APIError(ClientWriteError::ForwardToLeader(_))))) => Done::No,
        _ => Done::Perhaps,
    }
}

/// Does the operation, at whichever node does it. An attempt that may have happened stays in the history without an end.
async fn operate(store: &Store, command: Command) {
    let begin = || {
        store.begin(match command {
            Command::Read(key) => Register::Read(key),
            Command::Write(key, value) => Register::Write(key, value),
        })
    };
    let mut operation = begin();
    for node in (0..NODES).cycle().skip((sim::random() % NODES) as usize) {
        match attempt(node, command).await {
            Done::Yes(read) => {
                let is_read = matches!(command, Command::Read(_));
                return operation.end(read.filter(|_| is_read));
            }
            Done::No => {}
            Done::Perhaps => operation = begin(),
        }
        sleep(Duration::from_millis(sim::random() % 300)).await;
    }
}

/// Reads and writes as long as there are faults. Each client writes values of its own.
async fn client(number: u32, store: Store) {
    let began = Instant::now();
    let mut value = number * 1_000;
    while began.elapsed() < FAULTS {
        let key = (sim::random() % 2) as u8;
        value += 1;
        let command = match sim::random() % 2 {
            0 => Command::Read(key),
            _ => Command::Write(key, value),
        };
        operate(&store, command).await;
        sleep(Duration::from_millis(sim::random() % 2_000)).await;
    }
}

#[test]
fn openraft_is_linearizable_and_recovers() {
    let report = Builder::new().seeds(60).from_env().run(|| async {
        let disks: Vec<Disk> = (0..NODES).map(|_| Disk::default()).collect();
        let of_hosts = disks.clone();
        sim::hosts(NODES as usize, move |me| {
            let number: u64 = me.name().rsplit_once('-').unwrap().1.parse().unwrap();
            node(number, of_hosts[number as usize].clone())
        });
        let (least, most) = (Duration::from_millis(500), Duration::from_secs(3));
        let faults = Faults::all().interval(least, most).length(least, most);
        sim::inject(faults.until(FAULTS));
        let store = Store::new();
        let clients = (1..=CLIENTS).map(|number| task::spawn(client(number, store.clone())));
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        sleep(most).await;
        // All nodes are well, so one of them leads soon.
        let last = timeout(LIMIT * 10, operate(&store, Command::Read(0))).await;
        assert!(last.is_ok(), "there is no leader any more");
        store.check().unwrap();
        let has_snapshot = disks.iter().any(Disk::has_snapshot);
        sim::sometimes("a snapshot", has_snapshot);
    });
    assert!(report.never().is_empty(), "{report:?}");
}
