//! The report of `blitz migrate`, as text and as JSON.

use std::fmt::Write;

use blitz_io_bench::report::wrapped;
use serde::Serialize;

use super::cargo::Project;
use super::features::Got;
use super::lock::{Lock, OURS};
use super::replacement::{REPLACEMENTS, Replacement};
use crate::exit::Exit;
use crate::output;

/// Packages of channels that a program may depend on and blitz-io has no package in place of.
const BY_HAND: [&str; 2] = ["crossbeam", "crossbeam-channel"];

/// What becomes of them.
const BY_HAND_ADVICE: &str = concat!(
    "To move its channels to `blitz_io::sync::mpmc` by hand, rename `send` and `recv` to `blocking_send` and \
     `blocking_recv`: those of the old names are for tasks, and do nothing without `.await`. See ",
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/book/src/moving/crossbeam.md"
);

/// The number of names that are printed before the rest is counted.
const NAMES: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The tree has blitz-io's package.
    Replaced,
    /// The tree has blitz-io's package, and not from where the arguments say.
    AnotherSource,
    /// The tree has the registry's, in a version that blitz-io replaces.
    NotReplaced,
    /// The tree has only versions that blitz-io does not replace.
    AnotherVersion,
    /// The tree does not have it.
    Absent,
}

/// The state of one package.
#[derive(Debug, Serialize)]
pub struct Finding {
    #[serde(skip)]
    known: &'static Replacement,
    name: &'static str,
    pub state: State,
    /// The version in the tree: of blitz-io's package if it is replaced, else of the other.
    version: Option<String>,
    /// The version that this call has replaced.
    pub was: Option<String>,
    /// The packages that depend on that version.
    required_by: Vec<String>,
    /// Versions that stay, because blitz-io does not replace them.
    stays: Vec<Stays>,
    /// Why it is not replaced.
    pub why: Option<String>,
}

#[derive(Debug, Serialize)]
struct Stays {
    version: String,
    required_by: Vec<String>,
}

impl Finding {
    pub fn new(known: &'static Replacement, lock: &Lock) -> Finding {
        let (locked, unknown) = (lock.locked(known), lock.unknown(known));
        let (state, version) = match (locked.first(), lock.ours(known), unknown.first()) {
            (Some(held), ..) => (State::NotReplaced, Some(*held)),
            (_, Some(ours), _) => (State::Replaced, Some(ours)),
            (.., Some(other)) => (State::AnotherVersion, Some(*other)),
            _ => (State::Absent, None),
        };
        let dependents = |version: &str| lock.dependents(known.name, version);
        let stays = unknown.iter().map(|version| Stays {
            version: (*version).to_owned(),
            required_by: dependents(version),
        });
        Finding {
            known,
            name: known.name,
            state,
            version: version.map(str::to_owned),
            was: None,
            required_by: version.map(dependents).unwrap_or_default(),
            stays: stays.collect(),
            why: None,
        }
    }

    /// Says that the package comes from elsewhere than the arguments say, if there is a reason to.
    pub fn elsewhere(&mut self, why: Option<String>) {
        if why.is_some() {
            self.state = State::AnotherSource;
            self.why = why;
        }
    }

    fn write(&self, text: &mut String, is_dry: bool) {
        let version = self.version.as_deref().unwrap_or_default();
        let state = match (self.state, &self.was) {
            (State::Replaced, Some(was)) if is_dry => {
                format!("would be replaced: {was} by {version} of blitz-io")
            }
            (State::Replaced, Some(was)) => {
                format!("replaced: {was} by {version} of blitz-io")
            }
            (State::Replaced | State::AnotherSource, _) => {
                format!("replaced by {version} of blitz-io")
            }
            (State::NotReplaced, _) => format!("not replaced: {version} of the registry"),
            (State::AnotherVersion, _) => {
                format!(
                    "not replaced: blitz-io replaces {} only",
                    self.known.versions
                )
            }
            (State::Absent, _) => "nothing needs it".to_owned(),
        };
        let _ = writeln!(text, "{:<16} {state}", self.name);
        if !matches!(self.state, State::AnotherVersion | State::Absent) {
            depends(text, version, &self.required_by);
        }
        for stays in &self.stays {
            depends(text, &stays.version, &stays.required_by);
        }
        for line in self.why.iter().flat_map(|why| why.lines()) {
            let _ = writeln!(text, "  {line}");
        }
    }
}

fn depends(text: &mut String, version: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let more = names.len().saturating_sub(NAMES);
    let shown = names[..names.len() - more].join(", ");
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let _ = writeln!(text, "  - {version} is required by {shown}{more}");
}

/// A package that stays, and that the program can do without.
#[derive(Debug, Serialize)]
struct ByHand {
    name: &'static str,
    /// The packages of the program that depend on it.
    required_by: Vec<String>,
}

impl ByHand {
    fn of(lock: &Lock) -> Vec<ByHand> {
        let found = BY_HAND.into_iter().map(|name| ByHand {
            name,
            required_by: lock
                .own_dependents(name)
                .into_iter()
                .map(Into::into)
                .collect(),
        });
        found
            .filter(|found| !found.required_by.is_empty())
            .collect()
    }
}

/// A package of the tree whose version changed.
#[derive(Debug, Serialize)]
struct Change {
    name: String,
    /// The versions that went.
    from: Vec<String>,
    /// The versions that came.
    to: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    manifest: String,
    packages: Vec<Finding>,
    /// Packages that only a change of the program replaces.
    by_hand: Vec<ByHand>,
    /// The other changes in `Cargo.lock`.
    changed: Vec<Change>,
    /// The replacement was taken back.
    undone: bool,
    /// The features that packages of the program got, to enable those of blitz-io's tokio.
    features: Vec<Got>,
    /// Why Cargo refuses these features.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_features: Option<String>,
    /// The files that `--undo` has changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restored: Vec<String>,
    /// The changes were tried and reverted.
    dry_run: bool,
    /// The manifests that a dry run would change. The lines that a manifest would lose have a `-`, and its new ones a `+`.
    lines: Vec<(String, Vec<String>)>,
    /// The next step for the user.
    #[serde(skip)]
    next: Option<String>,
    /// Nothing was changed, as Tokio stays: why, and what to do.
    #[serde(skip)]
    given_up: Option<String>,
}

impl Report {
    /// Creates the report; `locks` are those of before and after, if something was done.
    pub fn new(project: &Project, packages: Vec<Finding>, locks: Option<(&Lock, &Lock)>) -> Report {
        Report {
            manifest: project.manifest.display().to_string(),
            packages,
            by_hand: vec![],
            changed: locks.map_or_else(Vec::new, |(old, new)| changes(old, new)),
            undone: false,
            features: vec![],
            no_features: None,
            restored: vec![],
            dry_run: false,
            lines: vec![],
            next: None,
            given_up: None,
        }
    }

    /// Says that nothing was changed, as Tokio stays. `others` could be replaced, with these options.
    pub fn give_up(self, others: &[&str], options: &str) -> Report {
        let why = self.packages.iter().find(|found| found.why.is_some());
        let why = why.and_then(|found| found.why.clone()).unwrap_or_default();
        let others = match others {
            [] => String::new(),
            others => format!(
                " `blitz migrate --only {}{options}` replaces the others.",
                others.join(",")
            ),
        };
        Report {
            given_up: Some(format!("{why}\n\nNothing was changed.{others}")),
            ..self
        }
    }

    pub fn is_given_up(&self) -> bool {
        self.given_up.is_some()
    }

    /// Marks the replacement as undone in these files.
    pub fn undone(self, restored: Vec<String>) -> Report {
        Report {
            undone: true,
            restored,
            ..self
        }
    }

    /// Adds the features that packages got, or why Cargo refuses them.
    pub fn with_features(self, got: Result<Vec<Got>, String>) -> Report {
        let (features, no_features) = match got {
            Ok(features) => (features, None),
            Err(why) => (vec![], Some(why)),
        };
        Report {
            features,
            no_features,
            ..self
        }
    }

    /// Marks the changes as tried and reverted. `lines`: those of the manifests.
    pub fn dry_run(self, lines: Vec<(String, Vec<String>)>) -> Report {
        Report {
            dry_run: true,
            lines,
            ..self
        }
    }

    /// Adds the packages that only a change of the program replaces.
    pub fn with_by_hand(self, lock: &Lock) -> Report {
        Report {
            by_hand: ByHand::of(lock),
            ..self
        }
    }

    /// Adds what to do next.
    pub fn with_next(self, next: Option<String>) -> Report {
        Report { next, ..self }
    }

    pub fn print(&self, json: bool) -> Result<(), Exit> {
        if json {
            output::print_json(self)
        } else {
            output::print(&wrapped(&self.text(), output::width()))
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.manifest);
        if self.undone {
            _ = writeln!(text, "Taken back in {}.", self.restored.join(", "));
            self.write_versions(&mut text);
        } else {
            for finding in &self.packages {
                finding.write(&mut text, self.dry_run);
            }
        }
        for found in &self.by_hand {
            let _ = writeln!(
                text,
                "{:<16} stays: blitz-io has no package in its place",
                found.name
            );
            let _ = writeln!(
                text,
                "  - it is required by {}",
                found.required_by.join(", ")
            );
        }
        if !self.by_hand.is_empty() {
            let _ = writeln!(text, "  {BY_HAND_ADVICE}");
        }
        let [updated, came, went] = if self.undone {
            [
                "Changed as well",
                "Needed again",
                "No longer needed, besides blitz-io's own crates",
            ]
        } else if self.dry_run {
            [
                "Would be updated as well",
                "Would come with it, besides blitz-io's own crates",
                "Would no longer be needed",
            ]
        } else {
            [
                "Updated as well",
                "Came with it, besides blitz-io's own crates",
                "No longer needed",
            ]
        };
        for (title, has_from, has_to) in [
            (updated, true, true),
            (came, false, true),
            (went, true, false),
        ] {
            let kind = |change: &&Change| {
                (!change.from.is_empty(), !change.to.is_empty()) == (has_from, has_to)
                    && !change.name.starts_with(OURS)
            };
            let changes: Vec<String> = self.changed.iter().filter(kind).map(show).collect();
            if !changes.is_empty() {
                let _ = writeln!(text, "\n{title}\n  - {}", changes.join(", "));
            }
        }
        self.write_features(&mut text);
        if self.dry_run {
            if self.lines.is_empty() {
                text += "\nCargo.toml would stay as it is.\n";
            }
            for (name, lines) in &self.lines {
                _ = writeln!(text, "\nIn {name}\n  {}", lines.join("\n  "));
            }
            text += "\nNothing is changed.\n";
        }
        if let Some(next) = &self.next {
            let _ = writeln!(text, "\n{next}");
        }
        text
    }

    /// Writes which packages have new features. A dry run shows the lines instead.
    fn write_features(&self, text: &mut String) {
        if let Some(why) = &self.no_features {
            let title = "No package of the program has got the features `inspect` and `sim`, as Cargo refuses them:";
            _ = writeln!(text, "\n{title}\n{why}");
        }
        if self.features.is_empty() || self.dry_run {
            return;
        }
        text.push_str("\nNew features\n");
        for got in &self.features {
            _ = writeln!(
                text,
                "  - {} in {}",
                got.features.join(" and "),
                got.manifest
            );
        }
    }

    /// Writes which versions of the registry the tree has again.
    fn write_versions(&self, text: &mut String) {
        for finding in &self.packages {
            if let Some(version) = &finding.version {
                let _ = writeln!(text, "{:<16} {version} of the registry", finding.name);
            }
        }
    }

    /// Returns how the command ends.
    pub fn end(&self, wanted: &[&Replacement]) -> Result<Exit, Exit> {
        if let Some(advice) = &self.given_up {
            return Err(Exit::Failed("not replaced: tokio".to_owned()).with_advice(advice));
        }
        let names = |state| -> Vec<&str> {
            let found = self
                .packages
                .iter()
                .filter(move |found| found.state == state);
            found.map(|found| found.name).collect()
        };
        let held = names(State::NotReplaced);
        if !held.is_empty() {
            return Err(Exit::Failed(format!("not replaced: {}", held.join(", "))));
        }
        let elsewhere = names(State::AnotherSource);
        if !elsewhere.is_empty() {
            return Err(Exit::Failed(format!(
                "from another place: {}",
                elsewhere.join(", ")
            )));
        }
        if names(State::Replaced).is_empty() {
            let all = wanted
                .iter()
                .map(|known| format!("{} {}", known.name, known.versions));
            let all: Vec<String> = all.collect();
            return Err(Exit::Failed(format!(
                "there is nothing to replace: no package of the tree is {}",
                all.join(" or ")
            )));
        }
        Ok(Exit::Done)
    }
}

/// Formats a change; of packages that came or went, the name is enough.
fn show(change: &Change) -> String {
    let name = &change.name;
    if change.from.is_empty() || change.to.is_empty() {
        return name.clone();
    }
    let (from, to) = (change.from.join(" and "), change.to.join(" and "));
    format!("{name} {from} → {to}")
}

/// Returns the names between backticks, as a list in a sentence.
pub fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns what differs, without the packages that are replaced and those of the program.
fn changes(old: &Lock, new: &Lock) -> Vec<Change> {
    let is_own = |change: &Change| old.has_own(&change.name) || new.has_own(&change.name);
    let (old, new) = (old.versions(), new.versions());
    let none = Default::default();
    let names = old
        .keys()
        .chain(new.keys().filter(|name| !old.contains_key(*name)));
    let changes = names.map(|name| {
        let (from, to) = (
            old.get(name).unwrap_or(&none),
            new.get(name).unwrap_or(&none),
        );
        let only = |a: &std::collections::BTreeSet<&str>, b: &std::collections::BTreeSet<&str>| {
            a.difference(b)
                .map(|version| (*version).to_owned())
                .collect()
        };
        Change {
            name: (*name).to_owned(),
            from: only(from, to),
            to: only(to, from),
        }
    });
    // The rows of the packages say which of them were replaced, but not which of them went or came with another one.
    let is_told = |change: &Change| {
        let is_replaced = REPLACEMENTS.iter().any(|known| known.name == change.name);
        is_replaced && change.from.is_empty() == change.to.is_empty()
    };
    let mut changes: Vec<Change> = changes
        .filter(|change| !is_told(change) && !is_own(change) && change.from != change.to)
        .collect();
    changes.sort_by(|a, b| a.name.cmp(&b.name));
    changes
}
