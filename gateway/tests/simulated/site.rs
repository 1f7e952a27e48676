//! Hosts with a gateway each, and their directories.

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::ipc::Builder;
use blitz_io::sim::{self, Faults, Host};
use blitz_io::time::sleep;
use blitz_io_gateway::config::Config;
use blitz_io_gateway::error::Error;
use blitz_io_gateway::gateway::Gateway;
use tempfile::TempDir;

/// The longest message.
pub const MAX_LEN: usize = 48;
/// Number of messages that a ring holds.
const CAPACITY: usize = 16;
/// The time after which no fault begins.
pub const FAULTS: Duration = Duration::from_secs(12);
/// The time after which a host without a sign of life is lost.
pub const LOST_AFTER: Duration = Duration::from_secs(3);
/// The interval of looks at a state.
pub const LOOK: Duration = Duration::from_millis(50);

/// The hosts that import.
pub type Importers = &'static [&'static str];
/// One importer.
pub const ONE: Importers = &["two"];
/// Two importers, of which one may be slower.
pub const BOTH: Importers = &["two", "three"];

/// Hosts that forget everything at the end of a run.
pub struct Site {
    importers: Importers,
    place: Arc<TempDir>,
    /// Number of times that a gateway has started.
    starts: Rc<Cell<u64>>,
}

impl Site {
    /// Starts all gateways. `one` exports, and the others import. The rules of both have these settings, too.
    pub fn start(kind: &str, importers: Importers, exports: &str, imports: &str) -> Self {
        let site = Self {
            importers,
            place: Arc::new(tempfile::tempdir_in("/dev/shm").unwrap()),
            starts: Rc::default(),
        };
        let export = format!("[[export]]\nkind = '{kind}'\nname = 'r'\n{exports}\n");
        let import = format!("[[import]]\nkind = '{kind}'\nname = 'r'\n{imports}\n");
        site.host("one", importers, &export);
        for importer in importers {
            site.host(importer, &["one"], &import);
        }
        site
    }

    /// Returns the directory of a host's segments.
    pub fn directory(&self, host: &str) -> PathBuf {
        self.place.path().join(host)
    }

    fn host(&self, name: &'static str, peers: &[&str], rules: &str) -> Host {
        let directory = self.directory(name);
        std::fs::create_dir(&directory).unwrap();
        let peers: Vec<String> = peers
            .iter()
            .map(|peer| format!("tcp/{peer}:7447"))
            .collect();
        let config = Config::parse(&format!(
            "host = {name:?}\ndirectory = {directory:?}\n[network]\nlisten = ['tcp/0.0.0.0:7447']\n\
             connect = {peers:?}\n[limits]\nlost-after-ms = {}\n{rules}",
            LOST_AFTER.as_millis()
        ));
        let config = config.unwrap();
        let (place, starts) = (self.place.clone(), self.starts.clone());
        sim::host(name, move |_| {
            starts.set(starts.get() + 1);
            run(config.clone(), place.clone())
        })
    }

    /// Returns `true` if a gateway has started more than once.
    pub fn has_restarted(&self) -> bool {
        self.starts.get() > 1 + self.importers.len() as u64
    }

    /// Returns the builder of a segment of a host.
    pub fn segment(&self, builder: Builder, host: &str) -> Builder {
        let builder = builder.directory(self.directory(host));
        builder.max_len(MAX_LEN).capacity(CAPACITY)
    }

    /// Waits until the exporter of the route knows all receivers: they begin with the messages that are sent then.
    pub async fn connected(&self) {
        let file = format!("gateway/route+r+{MAX_LEN}.receivers");
        let receivers = self.directory("one").join(file);
        let knows = |hosts: String| {
            self.importers
                .iter()
                .all(|importer| hosts.contains(importer))
        };
        while !std::fs::read_to_string(&receivers).is_ok_and(knows) {
            sleep(LOOK).await;
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
