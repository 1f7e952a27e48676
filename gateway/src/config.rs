//! The configuration: one TOML file. Nothing that it does not name leaves the host or enters it.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

/// The configuration that `--print-default` prints.
pub const DEFAULT: &str = include_str!("default.toml");
/// The least window: two batches. Simulations have short messages, and fill one.
const LEAST_WINDOW: usize = if cfg!(feature = "sim") {
    1 << 10
} else {
    128 << 10
};

/// One host's configuration.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The name of this host, which no other gateway has.
    pub host: String,
    /// The directory of the gateway's records, lock and socket. By default `gateway` in the
    /// directory of segments.
    pub state: Option<PathBuf>,
    /// The directory of segments. By default the user's: see
    /// [`Builder::directory`](blitz_io::ipc::Builder::directory).
    pub directory: Option<PathBuf>,
    /// How gateways find and reach each other.
    #[serde(default)]
    pub network: Network,
    /// Bounds of memory and time.
    #[serde(default)]
    pub limits: Limits,
    /// The names that leave this host.
    #[serde(default, rename = "export")]
    pub exports: Vec<Export>,
    /// The names that enter this host.
    #[serde(default, rename = "import")]
    pub imports: Vec<Import>,
}

/// How gateways find and reach each other.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Network {
    /// `peer` (the default), `client` (of a router) or `router`.
    pub mode: Mode,
    /// Addresses to listen on, such as `tls/0.0.0.0:7447`. If there is no address at all, a Unix socket
    /// in the directory of records.
    pub listen: Vec<String>,
    /// Addresses of other gateways or routers.
    pub connect: Vec<String>,
    /// Finds other gateways by multicast.
    pub discovery: bool,
    /// The hosts that may take part; by default every host. With certificates the setting is needed,
    /// and each name is the common name of a certificate.
    pub hosts: Option<Vec<String>>,
    /// Common names of the certificates of routers. The gateway takes frames in any name from them.
    pub routers: Vec<String>,
    /// Certificates for the addresses that begin with `tls` or `quic`.
    pub tls: Option<Tls>,
}

/// The role of a host in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It reaches others directly.
    #[default]
    Peer,
    /// It reaches others through the router that it connects to.
    Client,
    /// It passes on the messages of others.
    Router,
}

impl Mode {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Client => "client",
            Self::Router => "router",
        }
    }
}

/// Files in PEM format. Both sides show a certificate that the authority has signed.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tls {
    /// The certificate of the authority.
    pub authority: PathBuf,
    /// This host's certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// Bounds of memory and time.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limits {
    /// Bytes that an export with the policy `block` keeps until they are acknowledged. One
    /// message is always allowed.
    pub window_bytes: usize,
    /// Bytes that arrive for one name from one host and wait to be delivered. One piece of a message
    /// is always allowed.
    pub inbox_bytes: usize,
    /// After this time without a sign of life, a sender no longer waits for a remote receiver.
    #[serde(rename = "lost-after-ms")]
    pub lost_after_ms: u64,
    /// Most names that leave this host, and most names that come from one remote host.
    pub names: usize,
    /// Most remote hosts.
    pub hosts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            window_bytes: 4 << 20,
            inbox_bytes: 16 << 20,
            lost_after_ms: 30_000,
            names: 256,
            hosts: 64,
        }
    }
}

impl Limits {
    fn check(&self) -> Result<(), Error> {
        let limits = [
            ("window-bytes", self.window_bytes, LEAST_WINDOW),
            ("inbox-bytes", self.inbox_bytes, 2 * self.window_bytes),
            ("lost-after-ms", self.lost_after_ms as usize, 1000),
            ("names", self.names, 1),
            ("hosts", self.hosts, 1),
        ];
        match limits.into_iter().find(|&(_, value, least)| value < least) {
            Some((setting, _, least)) => fault(
                format!("limits.{setting}"),
                format!("must be at least {least}"),
            ),
            None => Ok(()),
        }
    }

    /// Returns `lost-after-ms` as a duration.
    pub fn lost_after(&self) -> Duration {
        Duration::from_millis(self.lost_after_ms)
    }
}

/// How messages find their receivers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// See [`blitz_io::ipc::Route`].
    Route,
    /// See [`blitz_io::ipc::Channel`].
    Channel,
    /// See [`blitz_io::ipc::Queue`].
    Queue,
}

impl Kind {
    /// Returns the settings of a segment of this kind.
    pub fn builder(self) -> blitz_io::ipc::Builder {
        match self {
            Self::Route => blitz_io::ipc::Route::builder(),
            Self::Channel => blitz_io::ipc::Channel::builder(),
            Self::Queue => blitz_io::ipc::Queue::builder(),
        }
    }

    /// Returns its name, as in the file and in keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Channel => "channel",
            Self::Queue => "queue",
        }
    }
}

/// How a sender reacts to slow remote receivers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// It waits for the slowest.
    #[default]
    Block,
    /// It never waits; messages that do not arrive are reported as a gap.
    Drop,
}

/// A name, or a pattern of names, that leaves this host.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Export {
    /// The kind.
    pub kind: Kind,
    /// The name; `*` stands for any characters.
    pub name: String,
    /// The policy. A queue has none: it never drops.
    pub policy: Option<Policy>,
    /// The hosts that receive it. By default all that may take part.
    pub to: Option<Vec<String>>,
}

impl Export {
    fn check(&self, setting: &dyn Fn(&str) -> String) -> Result<(), Error> {
        check_name(&setting("name"), &self.name, true)?;
        check_hosts(&setting("to"), self.to.as_deref())?;
        if self.kind == Kind::Queue && self.policy.is_some() {
            return fault(
                setting("policy"),
                "a queue has none: it never drops an item; leave it out",
            );
        }
        Ok(())
    }

    /// Returns `true` if this host may receive the messages.
    pub fn allows(&self, host: &str) -> bool {
        is_allowed(self.to.as_deref(), host)
    }
}

/// A name, or a pattern of names, that enters this host.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Import {
    /// The kind.
    pub kind: Kind,
    /// The name; `*` stands for any characters.
    pub name: String,
    /// The hosts from which it may come. By default all that may take part.
    pub from: Option<Vec<String>>,
    /// The `max_len` of the segments at both ends, with which the gateway makes the local one. Without it
    /// the gateway waits until a program of this host has made the local segment.
    pub max_len: Option<usize>,
    /// The number of messages that the local segment holds, if the gateway makes it.
    pub capacity: Option<usize>,
    /// Puts the identity of an item of a queue, 24 bytes, before the item, so that a consumer
    /// can drop a repeat.
    #[serde(default)]
    pub identity: bool,
}

impl Import {
    fn check(&self, setting: &dyn Fn(&str) -> String) -> Result<(), Error> {
        if self.identity && self.kind != Kind::Queue {
            return fault(
                setting("identity"),
                "only items of a queue have one; leave it out",
            );
        }
        check_hosts(&setting("from"), self.from.as_deref())?;
        if self.capacity.is_some() && self.max_len.is_none() {
            return fault(
                setting("max-len"),
                "is missing: the gateway makes a segment with this capacity only if it is told the length \
                 of its messages",
            );
        }
        Ok(())
    }

    /// Returns `true` if messages of this host are allowed.
    pub fn allows(&self, host: &str) -> bool {
        is_allowed(self.from.as_deref(), host)
    }
}

/// Returns `true` if the list has this host, or if there is no list.
pub fn is_allowed(hosts: Option<&[String]>, host: &str) -> bool {
    hosts.is_none_or(|hosts| hosts.iter().any(|allowed| allowed == host))
}

/// The reason why a file is not a configuration.
#[derive(Debug)]
pub enum Error {
    /// The file, or one that it names, cannot be read.
    Read(PathBuf, std::io::Error),
    /// It is not TOML, or has a setting that does not exist or is of another type.
    Syntax(toml::de::Error),
    /// A setting has a value that it cannot have.
    Value {
        /// The setting.
        setting: String,
        /// The mistake, and how to correct it.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Syntax(error) => error.fmt(f),
            Self::Value { setting, reason } => write!(f, "{setting}: {reason}"),
        }
    }
}

/// As with the error of a gateway, the text contains that of the inner error, which is no source therefore.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(_, error) => error.source(),
            Self::Syntax(error) => error.source(),
            Self::Value { .. } => None,
        }
    }
}

impl Config {
    /// Reads and checks the file at `path`, and that the files which it names can be read.
    ///
    /// # Errors
    ///
    /// [`Error`] names the setting and how to correct it.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::Read(path.to_owned(), error))?;
        let config = Self::parse(&text)?;
        if let Some(tls) = &config.network.tls {
            for file in [&tls.authority, &tls.certificate, &tls.key] {
                std::fs::File::open(file).map_err(|error| Error::Read(file.clone(), error))?;
            }
        }
        Ok(config)
    }

    /// Parses and checks a configuration.
    ///
    /// # Errors
    ///
    /// The same errors as those of [`read`](Self::read).
    pub fn parse(text: &str) -> Result<Self, Error> {
        let config: Self = toml::from_str(text).map_err(Error::Syntax)?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Error> {
        check_name("host", &self.host, false)?;
        self.network.check()?;
        self.limits.check()?;
        let mut seen = HashSet::new();
        for (number, export) in self.exports.iter().enumerate() {
            let setting = |name: &str| format!("export[{number}].{name}");
            export.check(&setting)?;
            if !seen.insert((export.kind, &export.name)) {
                let reason = format!("{} is exported twice", export.name);
                return fault(setting("name"), reason);
            }
        }
        let mut seen = HashSet::new();
        for (number, import) in self.imports.iter().enumerate() {
            let setting = |name: &str| format!("import[{number}].{name}");
            check_name(&setting("name"), &import.name, true)?;
            if !seen.insert((import.kind, &import.name)) {
                let reason = format!("{} is imported twice", import.name);
                return fault(setting("name"), reason);
            }
            import.check(&setting)?;
            self.check_one_way(import, &setting)?;
        }
        Ok(())
    }

    /// Checks that no export has the names of this import, unless they are channels.
    fn check_one_way(
        &self,
        import: &Import,
        setting: &dyn Fn(&str) -> String,
    ) -> Result<(), Error> {
        let both = |export: &&Export| {
            export.kind == import.kind
                && import.kind != Kind::Channel
                && overlaps(&export.name, &import.name)
        };
        let Some(export) = self.exports.iter().find(both) else {
            return Ok(());
        };
        fault(
            setting("name"),
            format!(
                "{} is imported, and {} exported: only a channel can be both, since a route has one \
                 sender, and an item of a queue would go back and forth",
                import.name, export.name
            ),
        )
    }

    /// Returns warnings of settings that let more programs read or send than the user may expect.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.network.warnings();
        if self.network.hosts.is_none() && self.network.reaches_others() {
            for (number, export) in self.exports.iter().enumerate() {
                if export.to.is_none() && export.name.chars().all(|c| c == '*') {
                    warnings.push(format!(
                        "export[{number}]: every {} of this user leaves to every host that connects; name the \
                         hosts in network.hosts or in `to`",
                        export.kind.name()
                    ));
                }
            }
        }
        warnings
    }

    /// Returns the directory for records, lock and socket.
    pub fn state_directory(&self) -> Option<PathBuf> {
        self.state.clone().or_else(|| {
            self.directory
                .as_ref()
                .map(|directory| directory.join("gateway"))
        })
    }
}

impl Network {
    fn check(&self) -> Result<(), Error> {
        check_hosts("network.hosts", self.hosts.as_deref())?;
        for router in &self.routers {
            check_name("network.routers", router, false)?;
        }
        if self.tls.is_some() && self.hosts.is_none() && self.routers.is_empty() {
            return fault(
                "network.hosts",
                "is missing: with certificates, only hosts that it names take part, each under the common name \
                 of its certificate",
            );
        }
        if self.tls.is_none() && !self.routers.is_empty() {
            return fault(
                "network.routers",
                "only certificates show who is a router; leave it out, or add [network.tls]",
            );
        }
        for (setting, addresses) in [("listen", &self.listen), ("connect", &self.connect)] {
            for address in addresses {
                let setting = format!("network.{setting}");
                let Some((protocol, rest)) = address.split_once('/') else {
                    return fault(
                        setting,
                        format!("{address:?} is no address; write, for example, tcp/10.0.0.1:7447"),
                    );
                };
                if !["tcp", "tls", "quic", "unixsock-stream"].contains(&protocol) || rest.is_empty()
                {
                    return fault(
                        setting,
                        format!(
                            "{address:?} must begin with tcp/, tls/, quic/ or unixsock-stream/"
                        ),
                    );
                }
                if protocol == "tcp" && self.tls.is_some() {
                    return fault(
                        setting,
                        format!(
                            "nothing that comes through {address} could be believed, as it shows no certificate; \
                             use tls/ or quic/"
                        ),
                    );
                }
                if ["tls", "quic"].contains(&protocol) && self.tls.is_none() {
                    return fault(
                        "network.tls",
                        format!("is missing, and {address} needs certificates"),
                    );
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if there is no address and no way to find one.
    pub fn is_empty(&self) -> bool {
        self.listen.is_empty() && self.connect.is_empty() && !self.discovery
    }

    /// Returns `true` if an address is more than a Unix socket.
    fn reaches_others(&self) -> bool {
        let mut addresses = self.listen.iter().chain(&self.connect);
        self.discovery || addresses.any(|address| !address.starts_with("unixsock-stream/"))
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let tcp = |address: &&String| address.starts_with("tcp/");
        for address in self.listen.iter().filter(tcp) {
            let who = if is_loopback(address) {
                "any user of this host"
            } else {
                "any program that reaches this address"
            };
            warnings.push(format!(
                "network.listen: {address}: {who} can read what leaves and write what enters, in any host's name; \
                 use a Unix socket or tls/"
            ));
        }
        for address in self.connect.iter().filter(tcp) {
            warnings.push(format!(
                "network.connect: {address}: nothing proves who answers there, and what is sent can be read on \
                 its way; use a Unix socket or tls/"
            ));
        }
        if self.discovery && self.tls.is_none() {
            warnings.push(
                "network.discovery: nothing proves who is found; use [network.tls]".to_owned(),
            );
        }
        warnings
    }
}

fn is_loopback(address: &str) -> bool {
    let host = address.strip_prefix("tcp/").unwrap_or(address);
    host.starts_with("127.") || host.starts_with("[::1]") || host.starts_with("localhost:")
}

fn check_hosts(setting: &str, hosts: Option<&[String]>) -> Result<(), Error> {
    if hosts.is_some_and(<[String]>::is_empty) {
        return fault(setting, "names no host; leave it out to allow all");
    }
    for host in hosts.into_iter().flatten() {
        check_name(setting, host, false)?;
    }
    Ok(())
}

fn fault<T>(setting: impl Into<String>, reason: impl Into<String>) -> Result<T, Error> {
    Err(Error::Value {
        setting: setting.into(),
        reason: reason.into(),
    })
}

/// Returns `true` if a host or a segment can have this name.
pub fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.chars().all(allowed)
}

fn check_name(setting: &str, name: &str, pattern: bool) -> Result<(), Error> {
    let plain = if pattern {
        name.replace('*', "x")
    } else {
        name.to_owned()
    };
    if !is_name(&plain) {
        return fault(
            setting,
            format!(
                "{name:?} must have 1 to 200 letters, digits, '-', '_' and '.', and begin with no '.'"
            ),
        );
    }
    Ok(())
}

/// Returns `true` if `name` matches `pattern`, in which `*` stands for any characters.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut in_name) = (0, 0);
    // Position from which to retry after the last `*` if the rest does not match.
    let mut back = None;
    while in_name < name.len() {
        if pattern.get(at) == Some(&b'*') {
            back = Some((at + 1, in_name));
            at += 1;
        } else if pattern.get(at) == Some(&name[in_name]) {
            at += 1;
            in_name += 1;
        } else if let Some((after_star, from)) = back {
            back = Some((after_star, from + 1));
            (at, in_name) = (after_star, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&c| c == b'*')
}

/// Returns `true` if a name may match both patterns, and possibly if none does.
fn overlaps(one: &str, other: &str) -> bool {
    match (one.split_once('*'), other.split_once('*')) {
        (None, _) => matches(other, one),
        (_, None) => matches(one, other),
        (Some((one, _)), Some((other, _))) => one.starts_with(other) || other.starts_with(one),
    }
}
