//! State shared by all tasks of a gateway: the session, the configuration and the counters.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io::ipc::Sender;
use blitz_io::sync;
use blitz_io::time::Instant;
use zenoh::qos::CongestionControl;

use crate::config::{Config, Import, Limits};
use crate::engine::{Delivery, Engine, Publisher};
use crate::error::Error;
use crate::keys::Name;
use crate::record;

/// The interval in which a task reports its progress to the other side, and checks its timeouts.
pub const TICK: Duration = Duration::from_millis(100);
/// The pause of a task between a failure and its next attempt.
pub const RETRY: Duration = Duration::from_millis(500);

/// The direction of messages, as this host sees it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// They leave.
    Export,
    /// They enter.
    Import,
}

/// One line of `blitz-gateway status`.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Messages that were sent or delivered.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that were reported as missing.
    pub gaps: u64,
    /// Messages or frames that came again.
    pub repeats: u64,
    /// Frames that were not used: malformed ones, and those for which there was no room.
    pub refused: u64,
    /// Messages that the slowest receiver has not acknowledged, or bytes that wait.
    pub lag: u64,
    /// The reason why no message can pass, or an empty string.
    pub error: String,
}

/// The session, the configuration and the counters of a gateway.
pub struct Shared {
    /// The engine.
    pub session: Engine,
    /// The name of this host.
    pub host: String,
    /// See [`Network::hosts`](crate::config::Network::hosts).
    pub hosts: Option<Vec<String>>,
    /// The directory of segments, if it is not the user's.
    pub directory: Option<PathBuf>,
    /// The directory of records.
    pub state: PathBuf,
    /// See [`Limits`].
    pub limits: Limits,
    rows: Mutex<BTreeMap<(Direction, Name, String), Row>>,
    /// The time for which an import waits for room in its segment, by name and remote host.
    waits: Mutex<BTreeMap<(Name, String), Duration>>,
    /// The names whose records hold: see [`settle`](Self::settle).
    settled: sync::Mutex<BTreeSet<Name>>,
}

/// An import that waits for room in its segment. It waits no more when this is dropped.
pub struct WaitsForRoom<'a> {
    shared: &'a Shared,
    import: (Name, String),
}

impl WaitsForRoom<'_> {
    /// Notes that an interval of this nominal length has passed.
    pub fn lasts(&self, interval: Duration) {
        let mut waits = self.shared.waits();
        *waits.entry(self.import.clone()).or_default() += interval;
    }
}

impl Drop for WaitsForRoom<'_> {
    fn drop(&mut self) {
        self.shared.waits().remove(&self.import);
    }
}

impl Shared {
    /// Creates the shared state of a gateway, which keeps these settings while it runs.
    pub fn new(session: Engine, config: &Config, state: PathBuf) -> Self {
        Self {
            session,
            host: config.host.clone(),
            hosts: config.network.hosts.clone(),
            directory: config.directory.clone(),
            state,
            limits: config.limits.clone(),
            rows: Mutex::default(),
            waits: Mutex::default(),
            settled: sync::Mutex::default(),
        }
    }

    fn waits(&self) -> MutexGuard<'_, BTreeMap<(Name, String), Duration>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Settles the records of all hosts of this name, before the first import of it delivers: see `record.rs`.
    ///
    /// # Errors
    ///
    /// Returns the system's error if a record cannot be read or written. Nothing may be delivered then.
    pub async fn settle(&self, name: &Name, sender: &Sender) -> io::Result<()> {
        let mut settled = self.settled.lock().await;
        if !settled.contains(name) {
            record::settle(&self.state, &name.file(""), sender).await?;
            settled.insert(name.clone());
        }
        Ok(())
    }

    /// Begins a wait of an import for room in its segment.
    pub fn waits_for_room(&self, name: &Name, host: &str) -> WaitsForRoom<'_> {
        WaitsForRoom {
            shared: self,
            import: (name.clone(), host.to_owned()),
        }
    }

    /// Returns `true` if an import has waited for room in this segment for `limit`. Then the waits begin anew.
    pub fn take_long_wait(&self, name: &Name, limit: Duration) -> bool {
        let mut waits = self.waits();
        let mut of_name = waits.iter_mut().filter(|((of, _), _)| of == name);
        let is_long = of_name.any(|(_, waited)| *waited >= limit);
        if is_long {
            waits.retain(|(of, _), _| of != name);
        }
        is_long
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<(Direction, Name, String), Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the line of the messages to or from `host`.
    pub fn row(
        &self,
        direction: Direction,
        name: &Name,
        host: &str,
        change: impl FnOnce(&mut Row),
    ) {
        change(
            self.rows()
                .entry((direction, name.clone(), host.to_owned()))
                .or_default(),
        );
    }

    /// Returns [`Row::lag`] of the line for all hosts.
    pub fn lag(&self, direction: Direction, name: &Name) -> u64 {
        let rows = self.rows();
        let row = rows.get(&(direction, name.clone(), String::new()));
        row.map_or(0, |row| row.lag)
    }

    /// Removes a line.
    pub fn remove_row(&self, direction: Direction, name: &Name, host: &str) {
        self.rows()
            .remove(&(direction, name.clone(), host.to_owned()));
    }

    /// Removes the lines of all hosts.
    pub fn remove_rows(&self, direction: Direction, name: &Name) {
        self.rows()
            .retain(|(other, of, _), _| (*other, of) != (direction, name));
    }

    /// Returns all lines as a table.
    pub fn status(&self) -> String {
        let mut text = format!(
            "host {}, zenoh {}\n{:<7} {:<8} {:<24} {:>8} {:<16} {:>12} {:>14} {:>8} {:>8} {:>8} {:>8}  {}\n",
            self.host,
            self.session.id(),
            "way",
            "kind",
            "name",
            "max-len",
            "host",
            "messages",
            "bytes",
            "gaps",
            "repeats",
            "refused",
            "lag",
            "state"
        );
        for ((direction, name, host), row) in self.rows().iter() {
            let way = match direction {
                Direction::Export => "export",
                Direction::Import => "import",
            };
            // No host has this name: the row is the sum of all.
            let host = if host.is_empty() { "*" } else { host };
            let state = if row.error.is_empty() {
                "ok"
            } else {
                &row.error
            };
            text += &format!(
                "{way:<7} {:<8} {:<24} {:>8} {host:<16} {:>12} {:>14} {:>8} {:>8} {:>8} {:>8}  {state}\n",
                name.kind.name(),
                name.name,
                name.max_len,
                row.messages,
                row.bytes,
                row.gaps,
                row.repeats,
                row.refused,
                row.lag
            );
        }
        text
    }

    /// Declares the publisher of an importer's acknowledgements to the exporter `host`.
    pub async fn acknowledgements(&self, name: &Name, host: &str) -> Result<Publisher, Error> {
        let delivery = Delivery {
            congestion: CongestionControl::Drop,
            is_express: false,
        };
        let key = name.ack(host, &self.host);
        self.session.publisher(key, delivery).await
    }

    /// Returns the builder of the segment of an import. A remote host must not choose how much memory the
    /// segment takes: if the configuration has no `max-len`, the gateway makes no segment.
    pub fn imported(&self, name: &Name, rule: &Import) -> blitz_io::ipc::Builder {
        let builder = self.builder(name).must_exist(rule.max_len.is_none());
        match rule.capacity {
            Some(capacity) => builder.capacity(capacity),
            None => builder,
        }
    }

    /// Returns the builder of a segment in the gateway's directory.
    pub fn builder(&self, name: &Name) -> blitz_io::ipc::Builder {
        let builder = name.kind.builder().max_len(name.max_len);
        match &self.directory {
            Some(directory) => builder.directory(directory),
            None => builder,
        }
    }
}

/// Returns a random number that is not 0.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish().max(1)
}

/// Returns `true`, and sets `last` to now, if `every` has passed since `last`.
pub fn is_due(last: &mut Instant, every: Duration) -> bool {
    let now = Instant::now();
    let due = now.duration_since(*last) >= every;
    if due {
        *last = now;
    }
    due
}
