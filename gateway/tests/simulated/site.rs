//! Hosts with a gateway each, and their directories.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::ipc::Builder;
use blitz_io::sim::{self, Faults};
use blitz_io::time::sleep;
use blitz_io_gateway::config::Config;
use blitz_io_gateway::error::Error;
use blitz_io_gateway::gateway::Gateway;
use tempfile::TempDir;

/// The longest message, if it does not travel in pieces.
pub const MAX_LEN: usize = 48;
/// The longest message, if some travel in pieces.
pub const LONG: usize = 240;
/// Number of bytes that an exporter keeps: more than all messages of a run.
const WINDOW: usize = 1 << 20;
/// Number of messages that a ring holds, if a test does not say otherwise.
pub const CAPACITY: usize = 16;
/// The time after which no fault begins.
pub const FAULTS: Duration = Duration::from_secs(12);
/// The time after which a host without a sign of life is lost.
pub const LOST_AFTER: Duration = Duration::from_secs(3);
/// The interval of looks at a state.
pub const LOOK: Duration = Duration::from_millis(50);

/// Names of hosts.
pub type Hosts = &'static [&'static str];
/// One importer.
pub const ONE: Hosts = &["two"];
/// Two importers, of which one may be slower.
pub const BOTH: Hosts = &["two", "three"];

/// One name, with the hosts between which gateways carry it.
#[derive(Clone, Copy)]
pub struct Service {
    /// The kind of the segments.
    pub kind: &'static str,
    pub exporters: Hosts,
    /// They import from all other hosts.
    pub importers: Hosts,
    /// Further settings of the exports.
    pub exports: &'static str,
    /// Further settings of the imports.
    pub imports: &'static str,
    /// The longest message. A long one travels in pieces.
    pub max_len: usize,
    /// Number of bytes that an exporter keeps.
    pub window: usize,
}

impl Service {
    /// A service of the host `one` for one importer, with short messages.
    pub const fn new(kind: &'static str) -> Self {
        Self {
            kind,
            exporters: &["one"],
            importers: ONE,
            exports: "",
            imports: "",
            max_len: MAX_LEN,
            window: WINDOW,
        }
    }
}

/// Hosts that forget everything at the end of a run.
pub struct Site {
    service: Service,
    place: Arc<TempDir>,
    /// Number of times that the gateway of each host has started.
    starts: Rc<RefCell<BTreeMap<&'static str, u64>>>,
}

impl Site {
    /// Starts all gateways.
    pub fn start(service: Service) -> Self {
        let site = Self {
            service,
            place: Arc::new(tempfile::tempdir_in("/dev/shm").unwrap()),
            starts: Rc::default(),
        };
        let all = service.exporters.iter().chain(service.importers);
        let all: BTreeSet<&str> = all.copied().collect();
        for &host in &all {
            site.host(host, &all);
        }
        site
    }

    /// Returns the directory of a host's segments.
    pub fn directory(&self, host: &str) -> PathBuf {
        self.place.path().join(host)
    }

    fn host(&self, name: &'static str, all: &BTreeSet<&'static str>) {
        let service = &self.service;
        let rule = |hosts: Hosts, rule: &str, settings: &str| {
            if hosts.contains(&name) {
                format!(
                    "[[{rule}]]\nkind = '{}'\nname = 'r'\n{settings}\n",
                    service.kind
                )
            } else {
                String::new()
            }
        };
        let rules = rule(service.exporters, "export", service.exports)
            + &rule(service.importers, "import", service.imports);
        let directory = self.directory(name);
        std::fs::create_dir(&directory).unwrap();
        let peers = all.iter().filter(|&&peer| peer != name);
        let peers: Vec<String> = peers.map(|peer| format!("tcp/{peer}:7447")).collect();
        let config = Config::parse(&format!(
            "host = {name:?}\ndirectory = {directory:?}\n[network]\nlisten = ['tcp/0.0.0.0:7447']\n\
             connect = {peers:?}\n[limits]\nlost-after-ms = {}\nwindow-bytes = {}\n{rules}",
            LOST_AFTER.as_millis(),
            service.window
        ));
        let config = config.unwrap();
        let (place, starts) = (self.place.clone(), self.starts.clone());
        sim::host(name, move |_| {
            *starts.borrow_mut().entry(name).or_default() += 1;
            run(config.clone(), place.clone())
        });
    }

    /// Returns the number of times that the gateway of a host has started again.
    pub fn restarts(&self, host: &str) -> u64 {
        self.starts
            .borrow()
            .get(host)
            .map_or(0, |starts| starts - 1)
    }

    /// Returns `true` if a gateway has started more than once.
    pub fn has_restarted(&self) -> bool {
        self.starts.borrow().values().any(|&starts| starts > 1)
    }

    /// Returns the builder of a segment of a host.
    pub fn segment(&self, builder: Builder, host: &str) -> Builder {
        let builder = builder.directory(self.directory(host));
        builder.max_len(self.service.max_len).capacity(CAPACITY)
    }

    /// Waits until each exporter knows all receivers: they begin with the messages that are sent then.
    pub async fn connected(&self) {
        let Service { kind, max_len, .. } = self.service;
        let file = format!("gateway/{kind}+r+{max_len}.receivers");
        for exporter in self.service.exporters {
            let receivers = self.directory(exporter).join(&file);
            let others = || self.service.importers.iter().filter(|it| *it != exporter);
            let knows = |hosts: String| others().all(|importer| hosts.contains(importer));
            while !std::fs::read_to_string(&receivers).is_ok_and(knows) {
                sleep(LOOK).await;
            }
        }
    }
}

/// The program `blitz-gateway`. It keeps the directory of all hosts.
async fn run(config: Config, _place: Arc<TempDir>) -> Result<(), Error> {
    let mut gateway = Gateway::start_simulated(config).await?;
    gateway.scan().await;
    Ok(())
}

/// Returns all faults, with less time between them than by default. Some last longer than a host without a sign of life is waited for.
pub fn faults() -> Faults {
    let (least, most) = (Duration::from_millis(200), Duration::from_secs(4));
    let faults = Faults::all().interval(least, most);
    faults.length(least, most).until(FAULTS)
}
