//! Tells the program which target it is built for, and from which commit.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets it"));
    let target = env::var("TARGET").expect("Cargo sets it");
    println!("cargo:rustc-env=BLITZ_TARGET={target}");
    println!("cargo:rerun-if-changed=build.rs");
    let revision = published(&folder).or_else(|| checked_out(&folder));
    // Empty if it is not known: the sources may come from an archive.
    println!(
        "cargo:rustc-env=BLITZ_REVISION={}",
        revision.unwrap_or_default()
    );
}

/// Returns the commit that Cargo wrote into a published package.
fn published(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = text.split_once("\"sha1\": \"")?;
    let (revision, _) = rest.split_once('"')?;
    revision
        .bytes()
        .all(|digit| digit.is_ascii_hexdigit())
        .then(|| revision.to_owned())
}

/// Returns the commit of the repository, if this package is where it is in ours: the package may
/// also lie in the repository of a project that vendored it.
fn checked_out(folder: &Path) -> Option<String> {
    let root = git(folder, &["rev-parse", "--show-toplevel"])?;
    let ours = Path::new(&root).join("crates/cli");
    if ours.canonicalize().ok()? != folder.canonicalize().ok()? {
        return None;
    }
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
