//! Compares two gateways with Zenoh alone, in one process over TCP on loopback.
//!
//! Throughput: from the first send until the last receipt; every message is counted. Both block
//! rather than drop. Latency: one message at a time, one way, by one clock.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io::ipc::{Builder, Route};
use blitz_io_gateway::config::Config;
use blitz_io_gateway::gateway::{Gateway, engine};
use zenoh::Wait;
use zenoh::qos::CongestionControl;

/// Length and number of messages.
const THROUGHPUT: [(usize, u64); 3] = [(8, 400_000), (1 << 10, 200_000), (1 << 20, 1_000)];
const LATENCIES: u64 = 5_000;
const PAUSE: Duration = Duration::from_micros(200);

fn main() {
    let runtime = blitz_io::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    println!(
        "{:<8} {:>8} {:>14} {:>12} {:>10} {:>10}",
        "what", "bytes", "messages/s", "MB/s", "p50 us", "p99 us"
    );
    for (len, count) in THROUGHPUT {
        for round in 0..3 {
            zenoh_alone(len, count, round);
            gateways(&runtime, len, count, round);
        }
    }
}

fn print(what: &str, len: usize, count: u64, took: Duration, mut latencies: Vec<Duration>) {
    latencies.sort_unstable();
    let at = |part: usize| latencies[latencies.len() * part / 100].as_secs_f64() * 1e6;
    let rate = count as f64 / took.as_secs_f64();
    let megabytes = rate * len as f64 / 1e6;
    println!(
        "{what:<8} {len:>8} {rate:>14.0} {megabytes:>12.1} {:>10.1} {:>10.1}",
        at(50),
        at(99)
    );
}

/// Sends in this thread and receives in another one. Returns the time, and the latencies.
fn measure(
    len: usize,
    count: u64,
    mut send: impl FnMut(&[u8]),
    mut receive: impl FnMut() -> usize + Send,
) -> (Duration, Vec<Duration>) {
    let message = vec![7; len];
    let latencies = LATENCIES.min(count);
    let (arrived, arrivals) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..count {
                assert_eq!(receive(), len);
            }
            arrived.send(Instant::now()).unwrap();
            for _ in 0..latencies {
                assert_eq!(receive(), len);
                arrived.send(Instant::now()).unwrap();
            }
        });
        let start = Instant::now();
        (0..count).for_each(|_| send(&message));
        let took = arrivals.recv().unwrap() - start;
        let times = (0..latencies).map(|_| {
            thread::sleep(PAUSE);
            let start = Instant::now();
            send(&message);
            arrivals.recv().unwrap() - start
        });
        (took, times.collect())
    })
}

fn port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

fn network(port: u16, is_first: bool) -> String {
    let address = format!("['tcp/127.0.0.1:{port}']");
    let (listen, connect) = if is_first {
        (&*address, "[]")
    } else {
        ("[]", &*address)
    };
    format!("[network]\nlisten = {listen}\nconnect = {connect}\n")
}

fn config(host: &str, directory: &Path, network: &str, rule: &str) -> Config {
    let text = format!(
        "host = '{host}'\ndirectory = {directory:?}\n{network}[[{rule}]]\nkind = 'route'\nname = 'r'\n"
    );
    Config::parse(&text).unwrap()
}

fn zenoh_alone(len: usize, count: u64, round: usize) {
    let (port, place) = (port(), std::env::temp_dir());
    let open = |is_first| {
        let config = config("x", &place, &network(port, is_first), "export");
        zenoh::open(engine(&config.network).unwrap())
            .wait()
            .unwrap()
    };
    let (one, two) = (open(true), open(false));
    let subscriber = two
        .declare_subscriber("compare")
        .with(flume_like())
        .wait()
        .unwrap();
    let publisher = one
        .declare_publisher("compare")
        .congestion_control(CongestionControl::Block)
        .express(round == 2)
        .wait()
        .unwrap();
    while !publisher.matching_status().wait().unwrap().matching() {
        thread::sleep(Duration::from_millis(1));
    }
    let send = |message: &[u8]| publisher.put(message).wait().unwrap();
    let receive = || subscriber.recv().unwrap().payload().len();
    let (took, latencies) = measure(len, count, send, receive);
    print(
        if round == 2 { "express" } else { "zenoh" },
        len,
        count,
        took,
        latencies,
    );
    two.close().wait().unwrap();
    one.close().wait().unwrap();
}

/// Zenoh's own bounded queue behind a subscriber.
fn flume_like() -> zenoh::handlers::FifoChannel {
    zenoh::handlers::FifoChannel::new(1024)
}

fn gateways(runtime: &blitz_io::runtime::Runtime, len: usize, count: u64, _: usize) {
    let port = port();
    let places = [
        tempfile::tempdir_in("/dev/shm").unwrap(),
        tempfile::tempdir_in("/dev/shm").unwrap(),
    ];
    let builder = |place: &tempfile::TempDir| -> Builder {
        Route::builder().directory(place.path()).max_len(len)
    };
    let start = |host, place: &tempfile::TempDir, is_first, rule| {
        let config = config(host, place.path(), &network(port, is_first), rule);
        runtime.block_on(Gateway::start(config)).unwrap()
    };
    let capacity = |builder: Builder| {
        if len > 64 << 10 {
            builder.capacity(16)
        } else {
            builder.capacity(8192)
        }
    };
    let mut receiver = capacity(builder(&places[1])).receiver("r").unwrap();
    let mut sender = capacity(builder(&places[0])).sender("r").unwrap();
    let mut one = start("one", &places[0], true, "export");
    let two = start("two", &places[1], false, "import");
    while !one.status().contains("two") {
        runtime.block_on(async {
            blitz_io::time::timeout(Duration::from_millis(5), one.scan())
                .await
                .unwrap_err()
        });
    }
    let send = |message: &[u8]| sender.send(message).unwrap();
    let receive = || receiver.recv().unwrap().len();
    let (took, latencies) = measure(len, count, send, receive);
    print("gateway", len, count, took, latencies);
    drop((one, two));
}
