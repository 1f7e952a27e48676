//! Calls of Cargo.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::lock::Lock;
use super::member::Member;
use crate::exit::Exit;

/// What to do if there is no program.
const ADVICE: &str = "Give the folder of the program, the one with Cargo.toml.";

/// The workspace that is changed.
pub struct Project {
    /// The folder in which Cargo is started, so that the program's own toolchain and settings apply.
    pub folder: PathBuf,
    pub manifest: PathBuf,
    pub lock: PathBuf,
    /// The folder in which Cargo builds.
    pub target: PathBuf,
    /// The packages of the workspace.
    pub members: Vec<Member>,
}

impl Project {
    /// Finds the workspace that `folder` belongs to.
    ///
    /// # Errors
    ///
    /// Fails if there is no Cargo, or no program.
    pub fn find(folder: &Path) -> Result<Project, Exit> {
        if !folder.is_dir() {
            return Err(
                Exit::Failed(format!("{} is not a folder", folder.display())).with_advice(ADVICE),
            );
        }
        let output = call(
            folder,
            &[
                "metadata",
                "--no-deps",
                "--format-version",
                "1",
                "--offline",
            ],
        )
        .map_err(|error| {
            Exit::Failed(format!("cargo cannot be started: {error}"))
                .with_advice("Install Rust, for example from https://rustup.rs.")
        })?;
        if !output.status.success() {
            let (folder, message) = (folder.display(), message(&output));
            let problem = format!("Cargo finds no program in {folder}:\n{message}");
            return Err(Exit::Failed(problem).with_advice(ADVICE));
        }
        let path = |value: &Value| value.as_str().map(PathBuf::from);
        let found = serde_json::from_slice::<Value>(&output.stdout).ok();
        found
            .and_then(|found| {
                let root = path(&found["workspace_root"])?;
                Some(Project {
                    manifest: root.join("Cargo.toml"),
                    lock: root.join("Cargo.lock"),
                    target: path(&found["target_directory"])?,
                    members: Member::all(&found["packages"]),
                    folder: root,
                })
            })
            .ok_or_else(|| Exit::Failed("`cargo metadata` did not name the workspace".to_owned()))
    }

    /// Reads the lock file that Cargo has just written.
    pub fn resolved(&self) -> Result<Lock, String> {
        match Lock::read(&self.lock) {
            Ok(lock) => Ok(lock.unwrap_or_default()),
            Err(Exit::Failed(message)) => Err(message),
            Err(_) => Err(format!("{} cannot be read", self.lock.display())),
        }
    }

    /// Returns the path of a manifest as it is shown: from the folder of the workspace.
    pub fn shown(&self, manifest: &Path) -> String {
        let short = manifest.strip_prefix(&self.folder);
        short.unwrap_or(manifest).display().to_string()
    }
}

/// Runs `cargo update`. Returns what Cargo said if it failed.
pub fn update(project: &Project, arguments: &[&str]) -> Result<(), String> {
    let arguments = [&["update", "--quiet"], arguments].concat();
    match call(&project.folder, &arguments) {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(message(&output)),
        Err(error) => Err(format!("cargo cannot be started: {error}")),
    }
}

fn call(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Command::new(cargo)
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TERM_COLOR", "never")
        .stdin(Stdio::null())
        .output()
}

/// Locked packages that Cargo names as the reasons why it found no versions, each with its version.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Conflict {
    /// Those whose version does not fit.
    pub selected: Vec<(String, String)>,
    /// Those whose requirements were considered.
    pub others: Vec<(String, String)>,
}

impl Conflict {
    /// Reads what Cargo said.
    pub fn in_message(message: &str) -> Conflict {
        let mut conflict = Conflict::default();
        let owned = |(name, version): (&str, &str)| (name.to_owned(), version.to_owned());
        for line in message.lines() {
            // previously selected package `libc v0.2.174`
            let selected = between(line, "previously selected package `")
                .and_then(|package| package.split_once(" v"))
                .map(|(name, version)| (name, version.split(' ').next().unwrap_or(version)));
            conflict.selected.extend(selected.map(owned));
            // ... which satisfies dependency `rayon = "^1.10.0"` (locked to 1.10.0) of package ...
            let other = between(line, "satisfies dependency `")
                .and_then(|dependency| dependency.split_once(" = "))
                .zip(between(line, "(locked to "))
                .map(|((name, _), version)| (name, version));
            conflict.others.extend(other.map(owned));
        }
        conflict
    }
}

/// Returns what stands in `line` between `start` and the next closing quote or parenthesis.
fn between<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(start)?;
    rest.split(['`', ')']).next()
}

/// Returns what to do if `message` says that a package in a folder, as one of the program is, requires a version of `name`
/// that forbids the replacement. `versions`: a requirement that does not.
pub fn pinned(message: &str, name: &str, versions: &str) -> Option<String> {
    let requirement = between(message, "for the requirement `")?;
    let (package, rest) = message
        .split_once("required by package `")?
        .1
        .split_once(" v")?;
    let (_, folder) = rest.split_once('`')?.0.split_once(" (")?;
    let is_folder = !folder.contains("://");
    (is_folder && requirement.starts_with(&format!("{name} = "))).then(|| {
        let manifest = Path::new(folder.trim_end_matches(')')).join("Cargo.toml");
        let ours = message
            .split_once("which didn't match: ")
            .and_then(|(_, rest)| rest.lines().next());
        let ours = ours.map(|version| format!(", and blitz-io's package is {version}"));
        format!(
            "{package} asks for `{requirement}`{}. Write `{name} = \"{versions}\"` in {}, and run `blitz migrate` again.",
            ours.unwrap_or_default(),
            manifest.display()
        )
    })
}

/// Returns what to do if `message` says that Cargo could not reach a server. `wants_ours`: the packages of
/// blitz-io may be what it was for.
pub fn unreachable(message: &str, wants_ours: bool) -> Option<&'static str> {
    const SIGNS: [&str; 12] = [
        "can't checkout from",
        "failed to authenticate",
        "you are in the offline mode",
        "unexpected http status code",
        "Could not connect",
        "Could not resolve host",
        "Couldn't connect to server",
        "Couldn't resolve host name",
        "attempting to make an HTTP request, but --offline was specified",
        "download of config.json failed",
        "failed to fetch",
        "network failure seems to have happened",
    ];
    const OTHERS: &str = "Cargo needs the network here: for the registry's index, or for another dependency of the program. \
         Run the command again with a connection. CARGO_NET_OFFLINE=true lets Cargo use what it has already downloaded.";
    const OURS: &str = "Cargo needs the network here: for the registry's index, and for the packages of blitz-io. \
         Run the command again with a connection. Without one, take the packages from a checkout, and \
         let Cargo use what it has already downloaded:\n\n  \
         CARGO_NET_OFFLINE=true blitz migrate --path ../blitz-io";
    let is_unreachable = SIGNS.iter().any(|sign| message.contains(sign));
    is_unreachable.then_some(if wants_ours { OURS } else { OTHERS })
}

/// Returns the error without the warnings before it.
fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let start = text.find("error: ").unwrap_or(0);
    text[start..]
        .trim()
        .trim_start_matches("error: ")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_of_the_program_has_advice() {
        let message = |from| {
            format!(
                "failed to select a version for the requirement `tokio = \"=1.40.0\"`\n\
                 candidate versions found which didn't match: 1.54.1\nlocation searched: crates.io index\n\
                 required by package `pin v0.1.0{from}`"
            )
        };
        let advice =
            pinned(&message(" (/x/pin)"), "tokio", "1").expect("it is a package of the program");
        let manifest = Path::new("/x/pin").join("Cargo.toml");
        let start = "pin asks for `tokio = \"=1.40.0\"`, and blitz-io's package is 1.54.1. Write `tokio = \"1\"` in ";
        assert!(advice.starts_with(start), "{advice}");
        assert!(advice.contains(&manifest.display().to_string()), "{advice}");
        assert_eq!(pinned(&message(""), "tokio", "1"), None);
        assert_eq!(
            pinned(&message(" (https://example.org/pin#1)"), "tokio", "1"),
            None
        );
        assert_eq!(pinned(&message(" (/x/pin)"), "rayon-core", "1"), None);
    }

    #[test]
    fn a_program_with_a_checkout_is_not_told_to_take_one() {
        let message = "failed to fetch `https://example.org/other`";
        let without = unreachable(message, true).expect("it is a failure of the network");
        assert!(without.contains("--path ../blitz-io"), "{without}");
        let with = unreachable(message, false).expect("it is a failure of the network");
        assert!(!with.contains("--path"), "{with}");
        assert!(with.contains("CARGO_NET_OFFLINE=true"), "{with}");
        assert_eq!(unreachable("failed to select a version", true), None);
    }

    #[test]
    fn cargo_names_the_version_that_does_not_fit() {
        let message = "failed to select a version for `libc`.
    ... required by package `blitz-io-core v0.2.0 (/x/crates/core)`
    ... which satisfies path dependency `blitz-io-core` of package `blitz-io-pool v0.2.0 (/x/crates/pool)`
    ... which satisfies dependency `rayon = \"^1.10.0\"` (locked to 1.10.0) of package `imagequant v4.4.1`
versions that meet the requirements `^0.2.183` are: 0.2.191, 0.2.190

all possible versions conflict with previously selected packages.

  previously selected package `libc v0.2.174`
    ... which satisfies dependency `libc = \"^0.2\"` (locked to 0.2.174) of package `ffmpeg-next v6.1.1`";
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            let owned = |&(name, version): &(&str, &str)| (name.to_owned(), version.to_owned());
            pairs.iter().map(owned).collect()
        };
        let expected = Conflict {
            selected: pairs(&[("libc", "0.2.174")]),
            others: pairs(&[("rayon", "1.10.0"), ("libc", "0.2.174")]),
        };
        assert_eq!(Conflict::in_message(message), expected);
    }
}
