//! Servers and clients under faults, with the properties that must hold.
//!
//! Servers crash, are killed, paused and cut off, and lose packets, all at random, in the first seconds. Clients add to a
//! counter and read it during that time. Then:
//!
//! * no term has two leaders, and all servers apply the same entries with the same results, always;
//! * each sum that a client gets counts all additions that were answered before, and none that has not begun;
//! * at the end, each addition has been counted once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use blitz_io::net::{TcpListener, UdpSocket};
use blitz_io::sim::{self, Faults};
use blitz_io::sync::mpsc;
use blitz_io::task;
use blitz_io::time::{Instant, sleep};

use super::Bug;
use super::client::Client;
use super::command::Operation;
use super::data::Entry;
use super::disk::Disk;
use super::node::{Node, Settings, Watch};
use super::service;

const SERVERS: usize = 3;
const CLIENTS: u64 = 2;
/// The time during which faults begin, and clients do more than one operation.
const TROUBLE: Duration = Duration::from_secs(4);
/// The port for messages between servers, and that for clients.
const PORTS: [u16; 2] = [7000, 7001];
/// The counter.
const KEY: u64 = 9;

/// What all servers have done.
#[derive(Default)]
struct World {
    leaders: RefCell<BTreeMap<u64, u64>>,
    entries: RefCell<BTreeMap<u64, (Entry, u64)>>,
    has_two_leaders: Cell<bool>,
    differs: Cell<bool>,
}

impl Watch for World {
    fn leads(&self, server: u64, term: u64) {
        let mut leaders = self.leaders.borrow_mut();
        let leader = *leaders.entry(term).or_insert(server);
        if leader != server {
            self.has_two_leaders.set(true);
        }
        sim::sometimes("a leader was replaced", leaders.len() > 1);
    }

    fn applied(&self, index: u64, entry: &Entry, result: u64) {
        let mut entries = self.entries.borrow_mut();
        let first = entries.entry(index).or_insert((*entry, result));
        if *first != (*entry, result) {
            self.differs.set(true);
        }
    }

    fn installed(&self) {
        sim::sometimes("a snapshot was installed", true);
    }
}

/// The additions of all clients: how many have begun, and how many were answered.
#[derive(Default)]
struct Additions {
    begun: Cell<u64>,
    answered: Cell<u64>,
}

/// Runs servers and clients once.
pub async fn run(bug: Option<Bug>) {
    let world = Rc::new(World::default());
    let seen = world.clone();
    sim::always("no term has two leaders", move || {
        !seen.has_two_leaders.get()
    });
    let seen = world.clone();
    sim::always("all servers apply the same", move || !seen.differs.get());
    for index in 0..SERVERS {
        let world = world.clone();
        sim::host(&format!("server-{index}"), move |_me| {
            serve(index, world.clone(), bug)
        });
    }
    let short = Duration::from_millis(50);
    sim::inject(
        Faults::all()
            .slow_disks()
            .interval(short, Duration::from_secs(2))
            .length(short, Duration::from_millis(1500))
            .until(TROUBLE),
    );

    let additions = Rc::new(Additions::default());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| task::spawn_local(add_and_read(client, additions.clone())))
        .collect();
    for client in clients {
        client.await.expect("clients do not panic");
    }
    let mut last = Client::new(CLIENTS, addresses(PORTS[1]));
    let sum = last.execute(Operation::Get(KEY));
    assert_eq!(
        sum.await,
        additions.begun.get(),
        "additions were lost or counted twice"
    );
}

fn addresses(port: u16) -> Vec<SocketAddr> {
    let address = |index| sim::named(&format!("server-{index}")).address();
    (0..SERVERS)
        .map(|index| SocketAddr::new(address(index), port))
        .collect()
}

/// The code of a server.
async fn serve(index: usize, watch: Rc<World>, bug: Option<Bug>) -> io::Result<()> {
    let (disk, saved) = Disk::open(bug).await?;
    let socket = UdpSocket::bind(("0.0.0.0", PORTS[0])).await?;
    let listener = TcpListener::bind(("0.0.0.0", PORTS[1])).await?;
    let (sender, requests) = mpsc::channel(16);
    task::spawn(service::accept(listener, sender));
    let settings = Settings {
        me: index as u64,
        servers: addresses(PORTS[0]),
        disk,
        watch,
        random: sim::random,
        bug,
    };
    Node::new(settings, saved, socket).run(requests).await
}

/// The code of a client.
async fn add_and_read(client: u64, additions: Rc<Additions>) {
    let end = Instant::now() + TROUBLE;
    let mut client = Client::new(client, addresses(PORTS[1]));
    while Instant::now() < end {
        additions.begun.set(additions.begun.get() + 1);
        for operation in [Operation::Add(KEY, 1), Operation::Get(KEY)] {
            let answered = additions.answered.get();
            let sum = client.execute(operation).await;
            assert!(
                answered <= sum,
                "{operation:?} returns {sum}, after {answered} additions"
            );
            let begun = additions.begun.get();
            assert!(
                sum <= begun,
                "{operation:?} returns {sum}, after {begun} have begun"
            );
            if operation != Operation::Get(KEY) {
                additions.answered.set(additions.answered.get() + 1);
            }
        }
        sleep(Duration::from_millis(sim::random() % 300)).await;
    }
}
