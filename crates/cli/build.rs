//! Tells the program which target it is built for, from which commit, and of which release it is.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets it"));
    let target = env::var("TARGET").expect("Cargo sets it");
    println!("cargo:rustc-env=BLITZ_TARGET={target}");
    println!("cargo:rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").expect("Cargo sets it");
    let checkout = checkout(&folder);
    let head = checkout.as_deref().and_then(head);
    let revision = published(&folder).or_else(|| head.clone());
    // Empty if it is not known: the sources may come from an archive.
    let known = revision.as_deref().unwrap_or_default();
    println!("cargo:rustc-env=BLITZ_REVISION={known}");
    println!(
        "cargo:rustc-env=BLITZ_LONG_VERSION={}",
        long_version(&version, revision.as_deref())
    );
    let is_fetched = checkout.is_some_and(|root| root.join(FETCHED).is_file());
    let fetched = head.filter(|_| is_fetched).unwrap_or_default();
    println!("cargo:rustc-env=BLITZ_FETCHED_REVISION={fetched}");
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    match release(&folder, env::var(VARIABLE).ok().as_deref(), &version) {
        Ok(tag) => println!(
            "cargo:rustc-env=BLITZ_RELEASE_TAG={}",
            tag.unwrap_or_default()
        ),
        Err(problem) => panic!("{problem}"),
    }
}

/// The workflow `release` sets this to the tag that it builds.
const VARIABLE: &str = "BLITZ_RELEASE";

/// Returns the tag of the release, if this is one: a package that Cargo has packed, or a build of the workflow
/// `release`. A checkout may be any commit, also between two releases.
///
/// # Errors
///
/// Fails if the workflow builds a tag that is not that of the version.
pub fn release(
    folder: &Path,
    built: Option<&str>,
    version: &str,
) -> Result<Option<String>, String> {
    let tag = format!("v{version}");
    match built.filter(|built| !built.is_empty()) {
        Some(built) if built != tag => Err(format!(
            "{VARIABLE} is {built}, and the version has the tag {tag}"
        )),
        Some(_) => Ok(Some(tag)),
        None => Ok(folder.join(PACKED).is_file().then_some(tag)),
    }
}

/// Returns the version with as much of the revision as git shows, if it is known.
pub fn long_version(version: &str, revision: Option<&str>) -> String {
    let short = revision.map(|revision| revision.get(..12).unwrap_or(revision));
    short.map_or_else(
        || version.to_owned(),
        |short| format!("{version} ({short})"),
    )
}

/// Cargo writes this file into the checkouts of `cargo install --git`, whose commits are in the repository that it was given.
/// Those of other checkouts may not be in any other repository yet.
const FETCHED: &str = ".cargo-ok";

/// Cargo writes this file into a package.
pub const PACKED: &str = ".cargo_vcs_info.json";

/// Returns the commit that Cargo wrote into a published package.
fn published(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join(PACKED)).ok()?;
    let (_, rest) = text.split_once("\"sha1\": \"")?;
    let (revision, _) = rest.split_once('"')?;
    revision
        .bytes()
        .all(|digit| digit.is_ascii_hexdigit())
        .then(|| revision.to_owned())
}

/// Returns the folder of the repository, if this package is where it is in ours: the package may
/// also lie in the repository of a project that vendored it.
fn checkout(folder: &Path) -> Option<PathBuf> {
    let root = PathBuf::from(git(folder, &["rev-parse", "--show-toplevel"])?);
    let ours = root.join("crates/cli").canonicalize().ok()?;
    (ours == folder.canonicalize().ok()?).then_some(root)
}

/// Returns the commit of the repository.
fn head(folder: &Path) -> Option<String> {
    // Git appends to this file with each commit and each checkout.
    let log = git(
        folder,
        &[
            "rev-parse",
            "--path-format=absolute",
            "--git-path",
            "logs/HEAD",
        ],
    )?;
    if Path::new(&log).exists() {
        println!("cargo:rerun-if-changed={log}");
    }
    git(folder, &["rev-parse", "HEAD"])
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
