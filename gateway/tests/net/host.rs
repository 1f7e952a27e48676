//! A host: a directory of segments, and a gateway.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use blitz_io::ipc::{Builder, Receiver, RecvError, Route, Sender};

use crate::namespace::Namespace;

const GATEWAY: &str = env!("CARGO_BIN_EXE_blitz-gateway");
pub const MAX_LEN: usize = 1008;

/// A way to stop a gateway.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stop {
    /// Sends `SIGKILL`.
    Kill,
    /// Sends `SIGTERM`.
    Terminate,
    /// The gateway keeps running without its exports and imports.
    Withdraw,
}

impl Stop {
    pub const ALL: [Self; 3] = [Self::Kill, Self::Terminate, Self::Withdraw];

    /// Returns the way for a round: each way comes every third round.
    pub fn in_round(round: u64) -> Self {
        Self::ALL[(round % 3) as usize]
    }
}

pub struct Host {
    pub name: &'static str,
    place: tempfile::TempDir,
    pub config: PathBuf,
    gateway: Option<Child>,
    /// The configuration before [`Stop::Withdraw`].
    withdrawn: String,
    mode: &'static str,
    namespace: Option<Arc<Namespace>>,
    environment: Vec<(&'static str, String)>,
}

/// Returns a port that no other process uses now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

impl Host {
    /// Starts a gateway that listens on `listen` and connects to `connect`.
    pub fn start(name: &'static str, listen: &[String], connect: &[String], rules: &str) -> Self {
        Self::new(name).run(listen, connect, rules)
    }

    /// Creates a host without a gateway.
    pub fn new(name: &'static str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let config = place.path().join("gateway.toml");
        Self {
            name,
            place,
            config,
            gateway: None,
            withdrawn: String::new(),
            mode: "peer",
            namespace: None,
            environment: Vec::new(),
        }
    }

    /// Returns the directory of segments.
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    /// Sets the mode of the gateway: `peer`, `client` or `router`.
    pub fn mode(mut self, mode: &'static str) -> Self {
        self.mode = mode;
        self
    }

    /// Places the gateway in a network namespace.
    pub fn within(mut self, namespace: &Arc<Namespace>) -> Self {
        self.namespace = Some(namespace.clone());
        self
    }

    /// Sets variables of the gateway's environment.
    pub fn environment(mut self, variables: &[(&'static str, String)]) -> Self {
        self.environment = variables.to_vec();
        self
    }

    /// Starts the gateway: see [`start`](Self::start).
    pub fn run(mut self, listen: &[String], connect: &[String], rules: &str) -> Self {
        self.configure(listen, connect, rules);
        self.start_gateway();
        self
    }

    pub fn configure(&self, listen: &[String], connect: &[String], rules: &str) {
        let text = format!(
            "host = {:?}\ndirectory = {:?}\n[network]\nmode = {:?}\nlisten = {listen:?}\nconnect = {connect:?}\n{rules}",
            self.name,
            self.place.path(),
            self.mode
        );
        fs::write(&self.config, text).unwrap();
    }

    pub fn start_gateway(&mut self) {
        let mut command = Command::new(GATEWAY);
        command
            .arg("run")
            .arg(&self.config)
            .envs(self.environment.iter().cloned())
            .stderr(Stdio::piped());
        let mut child = match &self.namespace {
            Some(namespace) => namespace.run(|| command.spawn()),
            None => command.spawn(),
        }
        .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // The gateway prints this line when it runs.
        let first = lines.next().unwrap().unwrap();
        assert!(first.contains("running"), "{first}");
        thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|line| eprintln!("{line}"))
        });
        self.gateway = Some(child);
    }

    /// Kills the gateway with `SIGKILL`.
    pub fn kill_gateway(&mut self) {
        self.stop(Stop::Kill);
    }

    /// Returns when the work has ended.
    pub fn stop(&mut self, stop: Stop) {
        match stop {
            Stop::Kill => self.gateway.as_mut().unwrap().kill().unwrap(),
            Stop::Terminate => self.signal("-TERM"),
            Stop::Withdraw => {
                let text = fs::read_to_string(&self.config).unwrap();
                fs::write(&self.config, text.split("[[").next().unwrap()).unwrap();
                self.withdrawn = text;
                self.signal("-HUP");
                while self.has_rows() {
                    thread::sleep(Duration::from_millis(5));
                }
                return;
            }
        }
        let status = self.gateway.take().unwrap().wait().unwrap();
        assert_eq!(status.success(), stop == Stop::Terminate, "{status}");
    }

    /// Undoes [`stop`](Self::stop).
    pub fn resume(&mut self, stop: Stop) {
        match stop {
            Stop::Withdraw => {
                fs::write(&self.config, &self.withdrawn).unwrap();
                self.signal("-HUP");
            }
            _ => self.start_gateway(),
        }
    }

    /// Returns `true` if the gateway exports or imports, or gives no status.
    fn has_rows(&self) -> bool {
        let status = self.status();
        let is_row = |line: &str| line.starts_with("export") || line.starts_with("import");
        status.is_empty() || status.lines().any(is_row)
    }

    /// Returns the file of the records about the route `r` of another host.
    pub fn record(&self, from: &str) -> PathBuf {
        let state = self.place.path().join("gateway");
        fs::create_dir_all(&state).unwrap();
        state.join(format!("route+r+{MAX_LEN}.{from}.record"))
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.gateway.as_ref().unwrap().id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Returns the most memory that the gateway has used, in bytes.
    pub fn peak_memory(&self) -> u64 {
        let pid = self.gateway.as_ref().unwrap().id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
        kibibytes.unwrap().parse::<u64>().unwrap() << 10
    }

    /// Returns the output of `check` for the configuration, without its summary.
    pub fn check(&self) -> String {
        let output = Command::new(GATEWAY)
            .arg("check")
            .arg(&self.config)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    pub fn status(&self) -> String {
        let output = Command::new(GATEWAY)
            .arg("status")
            .arg(&self.config)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the number of frames that the export `r` has sent again.
    pub fn repeats(&self) -> u64 {
        let status = self.status();
        let words = status.lines().map(|line| line.split_whitespace());
        let mut rows = words.map(|words| words.collect::<Vec<_>>());
        let row = rows.find(|row| row[0] == "export" && row[4] == "*");
        row.unwrap()[8].parse().unwrap()
    }

    /// Waits until a line of the status has all of these words.
    pub fn until_status(&self, words: &[&str]) {
        let has_all = |line: &str| {
            words
                .iter()
                .all(|word| line.split_whitespace().any(|found| found == *word))
        };
        while !self.status().lines().any(has_all) {
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn builder(&self, builder: Builder) -> Builder {
        builder.directory(self.place.path()).max_len(MAX_LEN)
    }

    pub fn route_sender(&self, name: &str) -> Sender {
        self.builder(Route::builder()).sender(name).unwrap()
    }

    pub fn route_receiver(&self, name: &str) -> Receiver {
        self.builder(Route::builder()).receiver(name).unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(mut child) = self.gateway.take() {
            _ = child.kill();
            _ = child.wait();
        }
        if thread::panicking() {
            eprintln!("{}", self.status());
        }
    }
}

pub fn tcp(port: u16) -> Vec<String> {
    vec![format!("tcp/127.0.0.1:{port}")]
}

/// The message with this number: 8 bytes, and more that follow from them.
pub fn message(number: u64) -> Vec<u8> {
    let len = 8 + (number * 37 % 300) as usize;
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((8..len).map(|at| (number as usize * 31 + at * 7) as u8));
    bytes
}

pub fn number_of(bytes: &[u8]) -> u64 {
    let number = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert_eq!(bytes, message(number), "a changed message");
    number
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receipt {
    pub received: u64,
    pub missing: u64,
}

/// Sends messages of these lengths, at most 64 MiB, through the route `r`, and checks that they arrive whole.
pub fn carry(from: &Host, to: &Host, lens: &[usize]) {
    let large = |host: &Host| host.builder(Route::builder()).max_len(64 << 20).capacity(2);
    let mut receiver = large(to).receiver("r").unwrap();
    let mut sender = large(from).sender("r").unwrap();
    from.until_status(&["export", "r", to.name]);
    let bytes = |round: usize, len: usize| {
        (0..len)
            .map(|at| (at * 31 + at / 251 + round) as u8)
            .collect::<Vec<u8>>()
    };
    thread::scope(|scope| {
        let sender = &mut sender;
        scope.spawn(move || {
            for (round, &len) in lens.iter().enumerate() {
                sender.send(&bytes(round, len)).unwrap();
            }
        });
        for (round, &len) in lens.iter().enumerate() {
            let message = receiver.recv().unwrap();
            assert!(*message == bytes(round, len), "message {round}");
        }
    });
}

/// Receives until every message up to `sent` has arrived or is in a gap: each in its place.
pub fn count(
    mut receiver: Receiver,
    sent: u64,
    progress: Arc<std::sync::atomic::AtomicU64>,
) -> JoinHandle<Receipt> {
    thread::spawn(move || {
        let mut receipt = Receipt {
            received: 0,
            missing: 0,
        };
        while receipt.received + receipt.missing < sent {
            match receiver.recv() {
                Ok(message) => {
                    assert_eq!(number_of(&message), receipt.received + receipt.missing);
                    receipt.received += 1;
                }
                Err(RecvError::Gap(count)) => receipt.missing += count,
                // The gateway is dead, and will start again.
                Err(RecvError::Disconnected) => thread::sleep(Duration::from_millis(1)),
                Err(error) => panic!("{error}"),
            }
            progress.store(
                receipt.received + receipt.missing,
                std::sync::atomic::Ordering::Relaxed,
            );
        }
        assert_eq!(receipt.received + receipt.missing, sent);
        receipt
    })
}
