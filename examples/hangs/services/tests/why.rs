//! Each finding of `blitz why` in a service of axum and in one of tonic, whose clients wait for their answers.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use blitz_io_inspect::{Answer, Certainty, Finding, ask_with_peers, report};
use tokio::runtime::{Builder, Runtime};
use tonic::transport::{Channel, Endpoint};

use rpc::generated::hangs_client::HangsClient;

/// The messages and the client, as in `src/rpc.rs`.
mod rpc {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Name {
        #[prost(string, tag = "1")]
        pub name: String,
    }

    #[allow(dead_code, reason = "the program has the server")]
    pub mod generated {
        include!(concat!(env!("OUT_DIR"), "/hangs.Hangs.rs"));
    }
}

const NAME: &str = "blitz-io-hanging-services";
/// The services run at the same time.
const AT_ONCE: usize = 4;
/// The findings that no source line explains: the tasks are ready, or the threads sleep in futexes of the standard
/// library.
const WITHOUT_LINE: [&str; 3] = ["all-asleep", "long-poll", "not-polled"];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Front {
    Axum,
    Tonic,
}

/// The requests that bring a finding about, and its kind.
struct Case(&'static [&'static str], &'static str);

/// All kinds of findings.
fn cases() -> Vec<Case> {
    vec![
        Case(&["transfer", "report"], "deadlock"),
        Case(&["self-wait-task"], "self-wait"),
        Case(&["futurelock"], "futurelock"),
        Case(&["pool-starvation"], "pool-starvation"),
        Case(&["lost-holder"], "lost-holder"),
        Case(&["all-asleep"], "all-asleep"),
        Case(&["stopped-peer"], "stopped-peer"),
        Case(&["long-poll"], "long-poll"),
        Case(&["not-polled"], "not-polled"),
        Case(&["not-driven"], "not-driven"),
        Case(&["never-woken"], "never-woken"),
        Case(&["long-wait"], "long-wait"),
    ]
}

/// A service, which ends with this, and the clients that wait for it.
struct Service {
    child: Child,
    clients: Clients,
}

enum Clients {
    Axum {
        address: String,
        streams: Vec<TcpStream>,
    },
    Tonic {
        runtime: Runtime,
        client: HangsClient<Channel>,
    },
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended, which its test reports.
        _ = self.child.kill();
        self.child.wait().expect("it is our child");
    }
}

impl Service {
    fn start(front: Front) -> Self {
        let argument = match front {
            Front::Axum => "axum",
            Front::Tonic => "tonic",
        };
        let mut child = Command::new(env!("CARGO_BIN_EXE_blitz-io-hanging-services"))
            .arg(argument)
            .env("BLITZ_INSPECT", "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was built");
        let stdout = child.stdout.take().expect("it is a pipe");
        // From its first line on, the service listens.
        let mut address = String::new();
        let read = BufReader::new(stdout).read_line(&mut address);
        read.expect("it is a pipe");
        let address = address.trim_end().to_owned();
        let clients = match front {
            Front::Axum => Clients::Axum {
                address,
                streams: Vec::new(),
            },
            Front::Tonic => connect(&address),
        };
        Self { child, clients }
    }

    /// Sends a request, and does not wait for its answer.
    fn request(&mut self, name: &str) {
        match &mut self.clients {
            Clients::Axum { address, streams } => {
                let mut stream = TcpStream::connect(&*address).expect("it listens");
                let text = format!("GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n");
                stream.write_all(text.as_bytes()).expect("it reads");
                streams.push(stream);
            }
            Clients::Tonic { runtime, client } => {
                let mut client = client.clone();
                let name = name.to_owned();
                drop(runtime.spawn(async move { client.hang(rpc::Name { name }).await }));
            }
        }
    }

    /// Sends a request, and waits for its answer.
    fn is_answered(&mut self, name: &str) -> bool {
        match &mut self.clients {
            Clients::Axum { streams, .. } => {
                let last = streams.len();
                self.request(name);
                let Clients::Axum { streams, .. } = &mut self.clients else {
                    return false;
                };
                let mut line = String::new();
                let read = BufReader::new(&streams[last]).read_line(&mut line);
                read.is_ok() && line.starts_with("HTTP/1.1 200")
            }
            Clients::Tonic { runtime, client } => {
                let mut client = client.clone();
                let name = name.to_owned();
                let call = async move { client.hang(rpc::Name { name }).await };
                runtime.block_on(call).is_ok()
            }
        }
    }

    fn answer(&mut self) -> Answer {
        loop {
            let ended = self.child.try_wait().expect("it is our child");
            assert_eq!(ended, None, "the service ended");
            match ask_with_peers(self.child.id(), NAME) {
                Ok(answer) => return answer,
                Err(_) => thread::yield_now(),
            }
        }
    }

    /// Waits for a finding of this kind.
    fn until_found(&mut self, kind: &str) -> Finding {
        loop {
            let mut findings = self.answer().findings.into_iter();
            if let Some(finding) = findings.find(|finding| finding.kind == kind) {
                return finding;
            }
        }
    }
}

fn connect(address: &str) -> Clients {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let runtime = runtime.expect("the system has threads");
    let endpoint = Endpoint::from_shared(format!("http://{address}"));
    let endpoint = endpoint.expect("it is an address");
    let channel = runtime.block_on(endpoint.connect());
    Clients::Tonic {
        client: HangsClient::new(channel.expect("it listens")),
        runtime,
    }
}

fn for_each<T: Sync>(all: &[T], body: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(item) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    body(item);
                }
            });
        }
    });
}

fn each_finding(front: Front) {
    for_each(&cases(), |&Case(requests, kind)| {
        let mut service = Service::start(front);
        for name in requests {
            service.request(name);
        }
        let finding = service.until_found(kind);
        let mut places = finding.waits.iter().map(|wait| &*wait.location);
        let is_of_handlers =
            |place: &str| place.contains("handlers.rs") || place.contains("peers.rs");
        assert!(
            places.any(is_of_handlers) || WITHOUT_LINE.contains(&kind),
            "{front:?}: {finding:#?}"
        );
    });
}

#[test]
fn each_finding_in_axum() {
    each_finding(Front::Axum);
}

#[test]
fn each_finding_in_tonic() {
    each_finding(Front::Tonic);
}

/// The task is that of the connection, which axum has spawned, and hyper reads from the client. That of a connection of HTTP/2 also waits for things
/// without a record, and so has no finding.
#[test]
fn a_handler_of_axum_that_locks_twice_is_a_finding() {
    let mut service = Service::start(Front::Axum);
    service.request("self-wait");
    let (found, text) = loop {
        let Answer { snapshot, findings } = service.answer();
        if let Some(found) = findings.first() {
            break (found.clone(), report(&snapshot, &findings));
        }
    };
    assert_eq!(
        (found.certainty, &*found.kind),
        (Certainty::Probable, "self-wait")
    );
    let says = "which it took itself at src/handlers.rs:";
    assert!(found.summary.contains(says), "{text}");
}

/// The clients are connected, and some of their requests have been answered.
fn is_healthy(front: Front) {
    let mut service = Service::start(front);
    for _ in 0..3 {
        for _ in 0..20 {
            assert!(service.is_answered("healthy"));
        }
        assert_eq!(service.answer().findings, [], "{front:?}");
    }
}

#[test]
fn a_healthy_service_of_axum_has_no_finding() {
    is_healthy(Front::Axum);
}

#[test]
fn a_healthy_service_of_tonic_has_no_finding() {
    is_healthy(Front::Tonic);
}

/// Two handlers wait for each other's locks, and each finding says where the locks were taken.
#[test]
fn a_deadlock_of_handlers_has_the_lines_at_which_the_locks_were_taken() {
    for front in [Front::Axum, Front::Tonic] {
        let mut service = Service::start(front);
        service.request("transfer");
        service.request("report");
        let finding = service.until_found("deadlock");
        assert!(
            finding.summary.contains("can go on only if"),
            "{finding:#?}"
        );
        let objects = finding.waits.iter().filter_map(|wait| wait.object.as_ref());
        let held: Vec<_> = objects.filter(|object| object.holder.is_some()).collect();
        assert_eq!(held.len(), 2, "{finding:#?}");
        let taken = |object: &&blitz_io_inspect::Object| object.taken_at.contains("handlers.rs:");
        assert!(held.iter().all(taken), "{finding:#?}");
        // The names are given by blitz-io to objects of the drop-in package.
        let mut names: Vec<_> = held
            .iter()
            .filter_map(|object| object.name.as_deref())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["accounts", "audit"]);
    }
}

/// The other requests of the same service are answered meanwhile, and the finding stays.
#[test]
fn a_hang_is_found_beside_requests_that_are_answered() {
    for front in [Front::Axum, Front::Tonic] {
        let mut service = Service::start(front);
        service.request("lost-holder");
        service.until_found("lost-holder");
        assert!(service.is_answered("healthy"));
        service.until_found("lost-holder");
    }
}

/// An unknown handler is no hang.
#[test]
fn an_unknown_handler_is_refused() {
    for front in [Front::Axum, Front::Tonic] {
        assert!(!Service::start(front).is_answered("none"));
    }
}
