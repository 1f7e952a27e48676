//! Calls of Cargo.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::lock::Lock;
use crate::exit::Exit;

/// The workspace that is changed.
pub struct Project {
    /// Where Cargo is started, so that the program's own toolchain and settings apply.
    folder: PathBuf,
    pub manifest: PathBuf,
    pub lock: PathBuf,
    /// Where Cargo builds.
    pub target: PathBuf,
}

impl Project {
    /// Finds the workspace that `folder` belongs to.
    ///
    /// # Errors
    ///
    /// Fails if there is no Cargo, or no program.
    pub fn find(folder: &Path) -> Result<Project, Exit> {
        if !folder.is_dir() {
            return Err(Exit::usage(
                format_args!("{} is not a folder", folder.display()),
                "Give the folder of the program, the one with Cargo.toml.",
            ));
        }
        let output = call(
            folder,
            &["metadata", "--no-deps", "--format-version", "1", "--offline"],
        )
        .map_err(|error| {
            Exit::Failed(format!(
                "cargo cannot be started: {error}\n\nInstall Rust, for example from https://rustup.rs."
            ))
        })?;
        if !output.status.success() {
            return Err(Exit::usage(
                format_args!(
                    "Cargo finds no program in {}:\n{}",
                    folder.display(),
                    message(&output)
                ),
                "Give the folder of the program, the one with Cargo.toml.",
            ));
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

/// Returns the error without the warnings before it.
fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let start = text.find("error: ").unwrap_or(0);
    text[start..]
        .trim()
        .trim_start_matches("error: ")
        .to_owned()
}
