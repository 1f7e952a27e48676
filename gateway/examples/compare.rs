//! Compares two gateways with Zenoh alone, and with Unix datagrams and TCP by hand, over loopback.
//! The gateways are processes; the two ends of the others are threads of this one.
//!
//! Throughput: from the first send until the last receipt; every message is counted. All block
//! rather than drop. In the same time, the processor time of all processes, without work of the system
//! that belongs to none of them. Latency: messages one by one, one way, by one clock.
//!
//! Arguments are lengths of messages, and `zenoh`, `express`, `hand`, `gateways` or `ipc`. Without any
//! length, or any name, all of them are measured: one alone can be counted with `perf stat`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io::ipc::{Builder, Route};
use blitz_io_gateway::config::Config;
use blitz_io_gateway::gateway::{ENGINE_THREADS, Gateway, engine, keep_memory};
use zenoh::Wait;
use zenoh::qos::CongestionControl;

/// Length and number of messages.
const THROUGHPUT: [(usize, u64); 3] = [(8, 1_000_000), (1 << 10, 500_000), (1 << 20, 2_000)];
const LATENCIES: u64 = 2_000;
const PAUSE: Duration = Duration::from_micros(200);
const ROUNDS: usize = 3;

/// The figures of one run: messages a second, p50 and p99 of the latency in microseconds, and the
/// processor time of a message in microseconds.
type Figures = [f64; 4];

fn main() {
    let runtime = blitz_io::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if_eq(GATEWAY).is_some() {
        return runtime.block_on(gateway(&arguments.collect::<String>()));
    }
    let (names, lengths): (Vec<String>, Vec<String>) =
        arguments.partition(|word| WAYS.iter().any(|(name, _)| name == word));
    let lengths: Vec<usize> = lengths
        .iter()
        .map(|length| length.parse().expect("an argument is a length or a name"))
        .collect();
    for (len, count) in THROUGHPUT {
        if !lengths.is_empty() && !lengths.contains(&len) {
            continue;
        }
        let mut rounds = [const { Vec::new() }; 5];
        for _ in 0..ROUNDS {
            for ((name, measure), rounds) in WAYS.iter().zip(&mut rounds) {
                if names.is_empty() || names.iter().any(|wanted| wanted == name) {
                    rounds.push(measure(len, count));
                }
            }
        }
        if rounds.iter().all(|rounds| !rounds.is_empty()) {
            report(len, &rounds);
        }
    }
}

/// Measures messages of a length, and that many for the throughput.
type Measure = fn(usize, u64) -> Figures;

/// The transports to measure.
const WAYS: [(&str, Measure); 5] = [
    ("zenoh", |len, count| zenoh_alone(len, count, false)),
    ("express", |len, count| zenoh_alone(len, count, true)),
    ("hand", by_hand),
    ("gateways", gateways),
    ("ipc", one_hop),
];

/// Prints the medians, and the targets of the gateway.
fn report(len: usize, rounds: &[Vec<Figures>; 5]) {
    let names = ["zenoh", "zenoh express", "by hand", "gateway", "ipc alone"];
    let medians = rounds.each_ref().map(|rounds| {
        [0, 1, 2, 3].map(|figure| {
            let mut values: Vec<f64> = rounds.iter().map(|figures| figures[figure]).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        })
    });
    println!("{len} bytes: messages/s, MB/s, latency p50 and p99 in us, processor time in us");
    for (name, [rate, p50, p99, spent]) in names.iter().zip(&medians) {
        let megabytes = rate * len as f64 / 1e6;
        println!("{name:<14} {rate:>12.0} {megabytes:>10.1} {p50:>10.1} {p99:>10.1} {spent:>10.2}");
    }
    let [zenoh, express, _, gateway, hop] = medians;
    let best = zenoh[0].max(express[0]);
    println!(
        "throughput / zenoh's best: {:.2} (at least 0.8)",
        gateway[0] / best
    );
    for (figure, name) in [(1, "p50"), (2, "p99")] {
        let best = zenoh[figure].min(express[figure]);
        let most = 1.3 * best + 2.0 * hop[figure];
        println!(
            "latency {name}: {:.1} us (at most {most:.1})",
            gateway[figure]
        );
    }
}

fn figures(count: u64, took: Duration, spent: Duration, mut latencies: Vec<Duration>) -> Figures {
    latencies.sort_unstable();
    let at = |part: usize| latencies[latencies.len() * part / 100].as_secs_f64() * 1e6;
    let spent = spent.as_secs_f64() * 1e6 / count as f64;
    let figures = [count as f64 / took.as_secs_f64(), at(50), at(99), spent];
    eprintln!("{figures:.2?}");
    figures
}

/// Returns the processor time of all threads that a process has now.
fn processor_time(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let times = threads.filter_map(|thread| {
        let file = thread.ok()?.path().join("schedstat");
        let text = std::fs::read_to_string(file).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(times.sum())
}

/// Sends in this thread and receives in another one.
fn measure(
    len: usize,
    count: u64,
    others: &[u32],
    mut send: impl FnMut(&[u8]),
    mut receive: impl FnMut() -> usize + Send,
) -> Figures {
    let message = vec![7; len];
    let latencies = LATENCIES.min(count);
    let spent = || -> Duration {
        let processes = others.iter().copied().chain([std::process::id()]);
        processes.map(processor_time).sum()
    };
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
        let (before, start) = (spent(), Instant::now());
        (0..count).for_each(|_| send(&message));
        let took = arrivals.recv().unwrap() - start;
        let spent = spent().saturating_sub(before);
        let times = (0..latencies).map(|_| {
            thread::sleep(PAUSE);
            let start = Instant::now();
            send(&message);
            arrivals.recv().unwrap() - start
        });
        figures(count, took, spent, times.collect())
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

fn config(host: &str, directory: &Path, network: &str, rule: &str) -> String {
    format!(
        "host = '{host}'\ndirectory = {directory:?}\n{network}[[{rule}]]\nkind = 'route'\nname = 'r'\n"
    )
}

fn zenoh_alone(len: usize, count: u64, express: bool) -> Figures {
    let (port, place) = (port(), std::env::temp_dir());
    let open = |is_first| {
        let text = config("x", &place, &network(port, is_first), "export");
        let config = Config::parse(&text).unwrap();
        zenoh::open(engine(&config.network).unwrap())
            .wait()
            .unwrap()
    };
    let (one, two) = (open(true), open(false));
    let subscriber = two
        .declare_subscriber("compare")
        .with(zenoh::handlers::FifoChannel::new(1024))
        .wait()
        .unwrap();
    let publisher = one
        .declare_publisher("compare")
        .congestion_control(CongestionControl::Block)
        .express(express)
        .wait()
        .unwrap();
    while !publisher.matching_status().wait().unwrap().matching() {
        thread::sleep(Duration::from_millis(1));
    }
    let send = |message: &[u8]| publisher.put(message).wait().unwrap();
    let receive = || subscriber.recv().unwrap().payload().len();
    let figures = measure(len, count, &[], send, receive);
    two.close().wait().unwrap();
    one.close().wait().unwrap();
    figures
}

/// A process would read datagrams and write them to a connection; another one the reverse.
fn by_hand(len: usize, count: u64) -> Figures {
    /// Longer datagrams do not fit into a socket's buffer.
    const PART: usize = 64 << 10;
    let (sender, to_send) = UnixDatagram::pair().unwrap();
    let (to_receive, receiver) = UnixDatagram::pair().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    there.set_nodelay(true).unwrap();
    let (here, _) = listener.accept().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut frame = vec![0; 4 + PART];
            // Nothing, when the sender has ended.
            while let Ok(len @ 1..) = to_send.recv(&mut frame[4..]) {
                frame[..4].copy_from_slice(&(len as u32).to_le_bytes());
                there.write_all(&frame[..4 + len]).unwrap();
            }
        });
        scope.spawn(move || {
            let mut here = BufReader::with_capacity(128 << 10, here);
            let (mut length, mut part) = ([0; 4], vec![0; PART]);
            while here.read_exact(&mut length).is_ok() {
                let part = &mut part[..u32::from_le_bytes(length) as usize];
                here.read_exact(part).unwrap();
                to_receive.send(part).unwrap();
            }
        });
        let send = |message: &[u8]| {
            for part in message.chunks(PART) {
                sender.send(part).unwrap();
            }
        };
        let mut part = vec![0; PART];
        let receive = move || {
            let mut received = 0;
            while received < len {
                received += receiver.recv(&mut part).unwrap();
            }
            received
        };
        let figures = measure(len, count, &[], send, receive);
        sender.send(&[]).unwrap();
        figures
    })
}

/// A route on one machine.
fn one_hop(len: usize, count: u64) -> Figures {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let builder = route(&place, len);
    let mut receiver = builder.receiver("r").unwrap();
    let mut sender = builder.sender("r").unwrap();
    let send = |message: &[u8]| sender.send(message).unwrap();
    measure(len, count, &[], send, || receiver.recv().unwrap().len())
}

fn route(place: &tempfile::TempDir, len: usize) -> Builder {
    let capacity = if len > 64 << 10 { 16 } else { 8192 };
    Route::builder()
        .directory(place.path())
        .max_len(len)
        .capacity(capacity)
}

/// The argument with which this program is a gateway.
const GATEWAY: &str = "gateway";

/// Runs a gateway, and prints a line when it has found the other one.
async fn gateway(config: &str) {
    let config = Config::parse(config).unwrap();
    keep_memory(&config.limits);
    let mut gateway = Gateway::start(config).await.unwrap();
    let moment = Duration::from_millis(5);
    while !gateway.status().contains("two") {
        _ = blitz_io::time::timeout(moment, gateway.scan()).await;
    }
    println!("found");
    gateway.scan().await;
}

/// A gateway that ends with this.
struct Running(Child);

impl Running {
    fn start(config: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let (variable, threads) = ENGINE_THREADS;
        command.args([GATEWAY, config]).env(variable, threads);
        command.stdout(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn until_found(&mut self) {
        let mut line = String::new();
        let output = self.0.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert_eq!(line, "found\n");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn gateways(len: usize, count: u64) -> Figures {
    let port = port();
    let places = [
        tempfile::tempdir_in("/dev/shm").unwrap(),
        tempfile::tempdir_in("/dev/shm").unwrap(),
    ];
    let mut receiver = route(&places[1], len).receiver("r").unwrap();
    let mut sender = route(&places[0], len).sender("r").unwrap();
    let configs = [
        config("one", places[0].path(), &network(port, true), "export"),
        config("two", places[1].path(), &network(port, false), "import"),
    ];
    let [mut one, two] = configs.map(|config| Running::start(&config));
    one.until_found();
    let send = |message: &[u8]| sender.send(message).unwrap();
    let receive = || receiver.recv().unwrap().len();
    let processes = [one.0.id(), two.0.id()];
    measure(len, count, &processes, send, receive)
}
