//! The keys under which gateways publish.
//!
//! `blitz/1/KIND/NAME/MAX_LEN/TOPIC/TO-OR-FROM…`: kind and layout are part of the key, so
//! segments that differ in them never meet.
//!
//! | topic | after it | from | to |
//! |---|---|---|---|
//! | `data` | exporter | exporter | all importers |
//! | `ack` | exporter, importer | importer | exporter |
//! | `job` | importer, exporter | exporter | importer |

use crate::config::{Kind, is_name};

/// The segments of one name and layout on all hosts, which gateways connect.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Name {
    /// The kind.
    pub kind: Kind,
    /// The segment's name.
    pub name: String,
    /// The segment's `max_len`.
    pub max_len: usize,
}

impl Name {
    fn prefix(&self) -> String {
        format!(
            "blitz/1/{}/{}/{}",
            self.kind.name(),
            self.name,
            self.max_len
        )
    }

    /// Returns the name of a file of the gateway about this name. No two names have the same file: no
    /// name has a `+`, and the length ends at the first `.` after the second one.
    pub fn file(&self, ending: &str) -> String {
        format!(
            "{}+{}+{}.{ending}",
            self.kind.name(),
            self.name,
            self.max_len
        )
    }

    /// Returns the key under which `exporter` publishes messages.
    pub fn data(&self, exporter: &str) -> String {
        format!("{}/data/{exporter}", self.prefix())
    }

    /// Returns the key under which `importer` answers `exporter`. `*` stands for all importers.
    pub fn ack(&self, exporter: &str, importer: &str) -> String {
        format!("{}/ack/{exporter}/{importer}", self.prefix())
    }

    /// Returns the key under which `exporter` gives items of a queue to `importer`.
    pub fn job(&self, importer: &str, exporter: &str) -> String {
        format!("{}/job/{importer}/{exporter}", self.prefix())
    }
}

/// Returns the keys of all frames that may match an import: `pattern` is a name or has a `*`. Without
/// `max_len`, segments of all lengths match.
pub fn of_import(kind: Kind, pattern: &str, max_len: Option<usize>, host: &str) -> Vec<String> {
    // A `*` of a key matches a whole name, so the callback matches the name of each frame again.
    let name = if pattern.contains('*') { "*" } else { pattern };
    let max_len = max_len.map_or("*".to_owned(), |max_len| max_len.to_string());
    let prefix = format!("blitz/1/{}/{name}/{max_len}", kind.name());
    let mut keys = vec![format!("{prefix}/data/*")];
    if kind == Kind::Queue {
        keys.push(format!("{prefix}/job/{host}/*"));
    }
    keys
}

/// Splits the key of a frame for an importer into the name of the segment and the exporter.
pub fn parse(key: &str) -> Option<(Name, &str)> {
    let mut parts = key.strip_prefix("blitz/1/")?.split('/');
    let kind = match parts.next()? {
        "route" => Kind::Route,
        "channel" => Kind::Channel,
        "queue" => Kind::Queue,
        _ => return None,
    };
    let name = parts.next()?.to_owned();
    let digits = parts.next()?;
    let max_len: usize = digits.parse().ok()?;
    if max_len.to_string() != digits {
        return None;
    }
    match parts.next()? {
        "data" => {}
        "job" => _ = parts.next()?,
        _ => return None,
    }
    let exporter = parts.next()?;
    let is_whole = parts.next().is_none() && is_name(&name) && is_name(exporter);
    is_whole.then_some((
        Name {
            kind,
            name,
            max_len,
        },
        exporter,
    ))
}

/// Returns the importer of an answer.
pub fn importer(key: &str) -> Option<&str> {
    key.rsplit('/').next().filter(|host| is_name(host))
}
