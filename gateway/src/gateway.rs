//! One gateway: its session, its tasks, and its configuration, which can be replaced.

use std::collections::HashMap;
use std::fs::{File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use blitz_io::ipc::{self, SegmentInfo};
use blitz_io::sync::{CancellationToken, mpsc};
use blitz_io::time::Interval;
use zenoh::bytes::ZBytes;

use crate::config::{Config, Export, Import, Kind, Limits, Network, is_allowed, matches};
use crate::engine::{Engine, Subscriber};
use crate::error::Error;
use crate::import::Source;
use crate::inbox::{self, Inbox};
use crate::keys::{self, Name};
use crate::shared::{Direction, Shared};
use crate::silence::{Silence, ticks};
use crate::{access, attempts};

/// The environment variable that assigns the engine's work to its threads, and its value. The engine
/// reads it when it starts. The threads on which a connection was made also watch it. With this value
/// these threads also read, so a frame that arrives wakes one thread and not two.
pub const ENGINE_THREADS: (&str, &str) = (
    zenoh_runtime::ZENOH_RUNTIME_ENV,
    "(acc: (handover: rx), net: (handover: rx))",
);

/// Lets the C library keep as much freed memory as the frames of one name may use, and long frames too.
/// By default it returns freed frames to the system, so each page of the next frame costs a page fault.
/// The setting holds for the whole process, so a program calls this, and [`Gateway::start`] does not.
pub fn keep_memory(limits: &Limits) {
    #[cfg(target_env = "gnu")]
    {
        let bytes = limits.window_bytes.saturating_add(limits.inbox_bytes);
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        let long = 2 * crate::wire::PIECE as i32;
        // SAFETY: `mallopt` takes two numbers. If it fails, it changes nothing.
        unsafe {
            libc::mallopt(libc::M_TRIM_THRESHOLD, bytes);
            libc::mallopt(libc::M_MMAP_THRESHOLD, long);
        }
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = limits;
}

/// The interval in which the gateway looks for segments that it exports.
const SCAN: std::time::Duration = std::time::Duration::from_millis(100);

/// A running gateway. Dropping it ends its tasks.
pub struct Gateway {
    shared: Arc<Shared>,
    config: Config,
    exports: HashMap<Name, Exported>,
    imports: HashMap<Import, Imported>,
    sources: Arc<Sources>,
    scans: Interval,
    /// The engine's access rules.
    access: Option<String>,
    _lock: File,
}

struct Exported {
    rule: Export,
    stop: CancellationToken,
    /// The time for which no other process has used the segment.
    alone: Silence,
}

struct Imported {
    stop: CancellationToken,
    subscribers: Vec<Subscriber>,
}

impl Drop for Imported {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The inboxes of running imports, and the way to start more.
struct Sources {
    hosts: usize,
    names: usize,
    inbox_bytes: usize,
    inboxes: Mutex<Inboxes>,
    start: mpsc::Sender<(Source, CancellationToken)>,
}

#[derive(Default)]
struct Inboxes {
    by_source: HashMap<(Name, String), Arc<Inbox>>,
    /// The number of names of each host, so that no host uses up the names of another one.
    of_host: HashMap<String, usize>,
}

impl Inboxes {
    /// Returns `true` if this host may have one more name.
    fn has_room(&self, host: &str, limits: &Sources) -> bool {
        match self.of_host.get(host) {
            Some(&names) => names < limits.names,
            None => self.of_host.len() < limits.hosts,
        }
    }
}

impl Sources {
    /// Adds a frame. The engine calls this, so it waits for nothing but this short lock.
    fn deliver(
        &self,
        rule: &Import,
        stop: &CancellationToken,
        name: Name,
        host: &str,
        frame: &ZBytes,
    ) {
        let mut inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name, host.to_owned());
        if let Some(inbox) = inboxes.by_source.get(&key) {
            inbox.push(frame);
        } else if inboxes.has_room(host, self) && !stop.is_cancelled() {
            let inbox = Arc::new(Inbox::new(self.inbox_bytes));
            inbox.push(frame);
            let (name, host) = key.clone();
            let source = Source {
                name,
                host,
                rule: rule.clone(),
                inbox: inbox.clone(),
            };
            // If there is no room, the next frame tries again.
            if self.start.try_send((source, stop.clone())).is_ok() {
                *inboxes.of_host.entry(key.1.clone()).or_default() += 1;
                inboxes.by_source.insert(key, inbox);
            }
        }
    }

    fn remove(&self, source: &Source) {
        let mut inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (source.name.clone(), source.host.clone());
        if inboxes.by_source.remove(&key).is_none() {
            return;
        }
        if let Some(names) = inboxes.of_host.get_mut(&source.host) {
            *names -= 1;
            if *names == 0 {
                inboxes.of_host.remove(&source.host);
            }
        }
    }
}

impl Gateway {
    /// Starts a gateway, in a runtime with several workers.
    ///
    /// # Errors
    ///
    /// [`Error`] if another gateway uses the same directory of records, or the engine cannot
    /// start with this configuration.
    pub async fn start(config: Config) -> Result<Self, Error> {
        let state = state_of(&config)?;
        let lock = lock(&state)?;
        let session = Engine::Zenoh(open(&config, &state).await?);
        Self::start_on(session, config, state, lock).await
    }

    /// Starts a gateway on the network of a simulation. It runs on the host that calls this.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    #[cfg(feature = "sim")]
    pub async fn start_simulated(config: Config) -> Result<Self, Error> {
        let state = state_of(&config)?;
        let lock = lock(&state)?;
        let session = crate::engine::simulated::Session::open(&config.network).await?;
        Self::start_on(Engine::Simulated(session), config, state, lock).await
    }

    async fn start_on(
        session: Engine,
        config: Config,
        state: PathBuf,
        lock: File,
    ) -> Result<Self, Error> {
        let shared = Arc::new(Shared::new(session, &config, state));
        let (start, mut starts) = mpsc::channel::<(Source, CancellationToken)>(64);
        let sources = Arc::new(Sources {
            hosts: config.limits.hosts,
            names: config.limits.names,
            inbox_bytes: config.limits.inbox_bytes.max(inbox::LEAST),
            inboxes: Mutex::new(Inboxes::default()),
            start,
        });
        let (of_task, shared_of_task) = (Arc::downgrade(&sources), shared.clone());
        blitz_io::spawn(async move {
            while let Some((source, stop)) = starts.recv().await {
                let (sources, shared) = (of_task.clone(), shared_of_task.clone());
                shared_of_task.session.spawn(async move {
                    attempts::import(&shared, &source, &stop).await;
                    if let Some(sources) = sources.upgrade() {
                        sources.remove(&source);
                    }
                });
            }
        });
        let nothing = Config {
            exports: Vec::new(),
            imports: Vec::new(),
            ..config.clone()
        };
        let mut gateway = Self {
            shared,
            config: nothing,
            exports: HashMap::new(),
            imports: HashMap::new(),
            sources,
            scans: ticks(SCAN),
            access: access::rules(&config),
            _lock: lock,
        };
        gateway.reload(config).await?;
        Ok(gateway)
    }

    /// Returns the text that `blitz-gateway status` prints.
    pub fn status(&self) -> String {
        self.shared.status()
    }

    /// Returns the socket of `blitz-gateway status`.
    pub fn socket(&self) -> PathBuf {
        socket(&self.shared.state)
    }

    /// Replaces the exports and imports. Those that have not changed keep running.
    ///
    /// # Errors
    ///
    /// [`Error`] if anything else has changed, which needs a restart, or if an import cannot begin.
    /// Then nothing is replaced.
    pub async fn reload(&mut self, config: Config) -> Result<(), Error> {
        let fixed = Config {
            exports: config.exports.clone(),
            imports: config.imports.clone(),
            ..self.config.clone()
        };
        if fixed != config {
            return Err(Error::Restart(
                "only exports and imports can change without a restart",
            ));
        }
        if access::rules(&config) != self.access {
            return Err(Error::Restart(
                "with certificates, `to` of an export can only change with a restart",
            ));
        }
        // Only this can fail. If it does, dropping `added` undoes the subscriptions before it.
        let mut added = HashMap::new();
        for rule in &config.imports {
            if !self.imports.contains_key(rule) {
                added.insert(rule.clone(), self.subscribe(rule).await?);
            }
        }
        self.exports.retain(|_, exported| {
            let stays = config.exports.contains(&exported.rule);
            if !stays {
                exported.stop.cancel();
            }
            stays
        });
        self.imports.retain(|rule, _| config.imports.contains(rule));
        self.imports.extend(added);
        self.config = config;
        Ok(())
    }

    async fn subscribe(&self, rule: &Import) -> Result<Imported, Error> {
        let mut imported = Imported {
            stop: CancellationToken::new(),
            subscribers: Vec::new(),
        };
        for key in keys::of_import(rule.kind, &rule.name, rule.max_len, &self.shared.host) {
            let (sources, rule, stop, own, hosts) = (
                self.sources.clone(),
                rule.clone(),
                imported.stop.clone(),
                self.shared.host.clone(),
                self.shared.hosts.clone(),
            );
            let arrived = move |key: &str, frame: &ZBytes| {
                let Some((name, host)) = keys::parse(key) else {
                    return;
                };
                let allowed = is_allowed(hosts.as_deref(), host) && rule.allows(host);
                if host != own && matches(&rule.name, &name.name) && allowed {
                    sources.deliver(&rule, &stop, name, host, frame);
                }
            };
            let subscriber = self.shared.session.subscribe(key, arrived).await?;
            imported.subscribers.push(subscriber);
        }
        Ok(imported)
    }

    /// Looks for segments to export, in an endless loop. Dropping the future is safe at any time.
    pub async fn scan(&mut self) {
        loop {
            self.scans.tick().await;
            if let Ok(segments) = self.segments() {
                self.export(&segments);
            }
        }
    }

    fn segments(&self) -> Result<Vec<SegmentInfo>, ipc::Error> {
        match &self.config.directory {
            Some(directory) => ipc::list_in(directory),
            None => ipc::list(),
        }
    }

    /// Begins and ends exports, a [`SCAN`] after the last call.
    fn export(&mut self, segments: &[SegmentInfo]) {
        for segment in segments {
            let Some(kind) = kind_of(segment) else {
                continue;
            };
            let is_other = |pid| pid != std::process::id() || self.shared.session.is_simulated();
            let used = segment
                .participants
                .iter()
                .any(|one| one.alive && is_other(one.pid));
            let name = Name {
                kind,
                name: segment.name.clone(),
                max_len: segment.max_len,
            };
            if let Some(exported) = self.exports.get_mut(&name) {
                // A gateway that is alone waits for the hosts that have not confirmed everything.
                if used || self.shared.lag(Direction::Export, &name) > 0 {
                    exported.alone.broken();
                } else {
                    exported.alone.lasts(SCAN);
                }
                continue;
            }
            let rule = self
                .config
                .exports
                .iter()
                .find(|rule| rule.kind == kind && matches(&rule.name, &name.name));
            if let Some(rule) =
                rule.filter(|_| used && self.exports.len() < self.config.limits.names)
            {
                let (rule, stop) = (rule.clone(), CancellationToken::new());
                let (shared, of_task, of_rule) = (self.shared.clone(), stop.clone(), rule.clone());
                let exports = name.clone();
                blitz_io::spawn(async move {
                    attempts::export(&shared, &exports, &of_rule, &of_task).await;
                });
                self.exports.insert(
                    name,
                    Exported {
                        rule,
                        stop,
                        alone: Silence::default(),
                    },
                );
            }
        }
        // The gateway alone must not keep a segment for ever.
        let patience = self.config.limits.lost_after();
        self.exports.retain(|name, exported| {
            let there = segments
                .iter()
                .any(|segment| segment.name == name.name && segment.max_len == name.max_len);
            let stays = there && !exported.alone.reaches(patience);
            if !stays {
                exported.stop.cancel();
            }
            stays
        });
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.exports
            .values()
            .for_each(|exported| exported.stop.cancel());
    }
}

fn kind_of(segment: &SegmentInfo) -> Option<Kind> {
    match segment.kind {
        ipc::Kind::Route => Some(Kind::Route),
        ipc::Kind::Channel => Some(Kind::Channel),
        ipc::Kind::Queue => Some(Kind::Queue),
        _ => None,
    }
}

/// Returns the socket of `blitz-gateway status` in the directory of records.
pub fn socket(state: &Path) -> PathBuf {
    state.join("status.socket")
}

/// Returns the user's directory of segments, which is where the library makes its own.
///
/// # Errors
///
/// [`Error`] if the library cannot make or list a segment.
pub fn user_directory() -> Result<PathBuf, Error> {
    // The path of a segment that no other gateway has made shows the directory.
    let name = format!("gateway-probe-{}", std::process::id());
    let probe = ipc::Route::builder()
        .capacity(1)
        .max_len(1)
        .receiver(&name)?;
    let segments = ipc::list()?;
    let found = segments.into_iter().find(|segment| segment.name == name);
    drop(probe);
    found
        .and_then(|segment| segment.path.parent().map(Path::to_owned))
        .ok_or(Error::NoDirectory)
}

/// Returns the directory of records.
fn state_of(config: &Config) -> Result<PathBuf, Error> {
    match config.state_directory() {
        Some(state) => Ok(state),
        None => Ok(user_directory()?.join("gateway")),
    }
}

/// Makes the directory, for this user only, and locks it.
fn lock(state: &Path) -> Result<File, Error> {
    let failed = |error| Error::system(format!("cannot use {}", state.display()))(error);
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state)
        .map_err(failed)?;
    // Another program may have made it with other permissions.
    std::fs::set_permissions(state, Permissions::from_mode(0o700)).map_err(failed)?;
    let file = File::create(state.join("lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::Locked(state.to_owned())),
        Err(std::fs::TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
            Ok(file)
        }
        Err(std::fs::TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Returns the Unix socket of a gateway whose configuration has no address. Only its user reaches it.
pub fn local_socket(state: &Path) -> PathBuf {
    state.join("engine.socket")
}

async fn open(config: &Config, state: &Path) -> Result<zenoh::Session, Error> {
    let refused = |error| Error::engine("the engine refuses its configuration")(error);
    let mut network = config.network.clone();
    if network.is_empty() {
        let path = local_socket(state);
        network.listen = vec![format!("unixsock-stream/{}", path.display())];
    }
    let mut of_engine = engine(&network).map_err(refused)?;
    if let Some(rules) = access::rules(config) {
        of_engine
            .insert_json5("access_control", &rules)
            .map_err(refused)?;
    }
    zenoh::open(of_engine)
        .await
        .map_err(Error::engine("the engine does not start"))
}

/// Returns the engine's configuration. It sets each option whose default would
/// open an address or find other hosts.
pub fn engine(network: &Network) -> zenoh::Result<zenoh::Config> {
    let mut config = zenoh::Config::default();
    let list = |addresses: &[String]| format!("{addresses:?}");
    let path = |path: &Path| format!("{:?}", path.to_string_lossy());
    let mut settings = vec![
        ("mode", format!("{:?}", network.mode.name())),
        ("listen/endpoints", list(&network.listen)),
        ("connect/endpoints", list(&network.connect)),
        ("connect/timeout_ms", "-1".to_owned()),
        ("connect/exit_on_failure", "false".to_owned()),
        (
            "connect/retry",
            "{period_init_ms: 200, period_max_ms: 2000, period_increase_factor: 2}".to_owned(),
        ),
        ("scouting/multicast/enabled", network.discovery.to_string()),
        ("scouting/gossip/enabled", network.discovery.to_string()),
        // The certificate of a connection is then that of its only link.
        ("transport/unicast/max_links", "1".to_owned()),
        ("transport/link/tx/queue/size/data", "16".to_owned()),
        // Frames in inboxes hold the buffers into which they were read.
        ("transport/link/rx/buffer_size", (4 << 20).to_string()),
        (
            "transport/link/tx/queue/congestion_control/block/wait_before_close",
            "2000000".to_owned(),
        ),
    ];
    if let Some(tls) = &network.tls {
        settings.extend([
            (
                "transport/link/tls/root_ca_certificate",
                path(&tls.authority),
            ),
            (
                "transport/link/tls/listen_certificate",
                path(&tls.certificate),
            ),
            ("transport/link/tls/listen_private_key", path(&tls.key)),
            (
                "transport/link/tls/connect_certificate",
                path(&tls.certificate),
            ),
            ("transport/link/tls/connect_private_key", path(&tls.key)),
            ("transport/link/tls/enable_mtls", "true".to_owned()),
        ]);
    }
    for (key, value) in settings {
        config
            .insert_json5(key, &value)
            .map_err(|error| format!("{key}: {error}"))?;
    }
    Ok(config)
}
