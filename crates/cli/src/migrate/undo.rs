//! `blitz migrate --undo`, and the files that it needs.
//!
//! Cargo's build folder keeps both files as they were before and after the replacement. If they
//! have not changed since, they become again what they were, byte for byte. Several programs may
//! share a build folder, so each has a folder of its own there, named for the path of its manifest.
//! A file in it holds that path, and files that belong to another manifest are not used.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::cargo::{self, Project};
use super::lock::Lock;
use super::manifest::{LeftOut, Manifest};
use super::replacement::{REPLACEMENTS, Replacement};
use super::report::{Finding, Report, listed};
use crate::exit::Exit;

/// The file that holds the path of the manifest to which saved files belong.
const OWNER: &str = "manifest-path";

/// The contents of both files.
#[derive(PartialEq, Eq)]
pub struct Files {
    manifest: Vec<u8>,
    /// `None` if there is no such file.
    lock: Option<Vec<u8>>,
}

impl Files {
    /// Reads both files of the program.
    pub fn read(project: &Project) -> Result<Files, Exit> {
        Files::of(&project.manifest, &project.lock)
            .map_err(|error| Exit::unreadable(&project.lock, error))
    }

    fn of(manifest: &Path, lock: &Path) -> io::Result<Files> {
        Ok(Files {
            manifest: fs::read(manifest)?,
            lock: match fs::read(lock) {
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                lock => Some(lock?),
            },
        })
    }

    /// Writes both files of the program.
    pub fn write(&self, project: &Project) -> Result<(), Exit> {
        self.put(&project.manifest, &project.lock)
            .map_err(|error| Exit::unwritable(&project.lock, error))
    }

    /// Returns the lines of the manifest that the other one has not, each after a `-`, and those that only the other one has,
    /// each after a `+`.
    pub fn lines_to(&self, other: &Files) -> Vec<String> {
        let [old, new] = [self, other].map(|files| String::from_utf8_lossy(&files.manifest));
        let only = |of: &str, other: &str, sign| -> Vec<String> {
            let mut others: Vec<&str> = other.lines().collect();
            let is_new = |line: &&str| match others.iter().position(|other| other == line) {
                Some(at) => {
                    others.swap_remove(at);
                    false
                }
                None => !line.trim().is_empty(),
            };
            let lines = of.lines().filter(is_new);
            lines.map(|line| format!("{sign}{line}")).collect()
        };
        [only(&old, &new, '-'), only(&new, &old, '+')].concat()
    }

    fn put(&self, manifest: &Path, lock: &Path) -> io::Result<()> {
        fs::write(manifest, &self.manifest)?;
        match &self.lock {
            Some(text) => fs::write(lock, text),
            None => match fs::remove_file(lock) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        }
    }
}

/// When both files were changed. Cargo runs some build scripts again if a file of their package is newer.
pub struct Times([Option<SystemTime>; 2]);

impl Times {
    pub fn of(project: &Project) -> Times {
        let time = |path| fs::metadata(path).and_then(|file| file.modified()).ok();
        Times([&project.manifest, &project.lock].map(time))
    }

    /// Sets the times of files that have become what they were. A wrong one does no harm.
    pub fn restore(&self, project: &Project) {
        for (path, time) in [&project.manifest, &project.lock].into_iter().zip(self.0) {
            if let (Some(time), Ok(file)) = (time, File::options().write(true).open(path)) {
                let _ = file.set_modified(time);
            }
        }
    }
}

/// The folder with both files of one program as they were before the replacement, and after it.
pub struct Saved {
    folder: PathBuf,
    /// The path of the program's manifest.
    manifest: PathBuf,
    /// This run saved the files as they were before.
    is_new: bool,
}

impl Saved {
    fn of(project: &Project) -> Saved {
        let manifest = fs::canonicalize(&project.manifest);
        let manifest = manifest.unwrap_or_else(|_| project.manifest.clone());
        let hash = Sha256::digest(manifest.as_os_str().as_encoded_bytes());
        let key: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Saved {
            folder: project.target.join("blitz-migrate").join(key),
            manifest,
            is_new: false,
        }
    }

    /// Returns `true` if the files in the folder are those of this program.
    fn belongs(&self) -> bool {
        fs::read(self.folder.join(OWNER))
            .is_ok_and(|owner| owner == self.manifest.as_os_str().as_encoded_bytes())
    }

    /// Saves the files before they are changed. If they are as the last run left them, those of
    /// before that run are kept instead.
    pub fn begin(project: &Project, files: &Files) -> Result<Saved, Exit> {
        let mut saved = Saved::of(project);
        if saved.load("after").as_ref() != Some(files) || saved.load("before").is_none() {
            saved.discard();
            saved.is_new = true;
            saved.save("before", files)?;
            // Last: without the owner's path, nothing in the folder is used.
            let owner = saved.folder.join(OWNER);
            fs::write(&owner, saved.manifest.as_os_str().as_encoded_bytes())
                .map_err(|error| Exit::unwritable(&owner, error))?;
        }
        Ok(saved)
    }

    /// Saves the files after they were changed.
    pub fn end(&mut self, files: &Files) -> Result<(), Exit> {
        self.save("after", files)
    }

    /// Removes what was saved, if this run saved it.
    pub fn discard_new(&self) {
        if self.is_new {
            self.discard();
        }
    }

    fn discard(&self) {
        // What remains is compared with the program's files before it is used.
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn load(&self, when: &str) -> Option<Files> {
        if !self.belongs() {
            return None;
        }
        let folder = self.folder.join(when);
        Files::of(&folder.join("Cargo.toml"), &folder.join("Cargo.lock")).ok()
    }

    fn save(&self, when: &str, files: &Files) -> Result<(), Exit> {
        let folder = self.folder.join(when);
        fs::create_dir_all(&folder)
            .and_then(|()| files.put(&folder.join("Cargo.toml"), &folder.join("Cargo.lock")))
            .map_err(|error| Exit::unwritable(&folder, error))
    }
}

/// Takes the replacement back.
///
/// # Errors
///
/// Fails if there is nothing to take back.
pub fn run(project: &Project, json: bool) -> Result<Exit, Exit> {
    let saved = Saved::of(project);
    let now = Files::read(project)?;
    let old = Lock::read(&project.lock)?.unwrap_or_default();
    let before = saved.load("before");
    let mut left_out = LeftOut::default();
    let is_undone = match before {
        Some(before) if saved.load("after").as_ref() == Some(&now) => {
            before.write(project)?;
            true
        }
        before => remove(
            project,
            &now,
            before.is_some().then(|| saved.folder.join("before")),
            &mut left_out,
        )?,
    };
    saved.discard();
    let lock = Lock::read(&project.lock)?;
    let has_lock = lock.is_some();
    let new = lock.unwrap_or_default();
    let findings = REPLACEMENTS
        .iter()
        .map(|known| Finding::new(known, &new))
        .collect();
    let gone = |known: &Replacement| {
        !known.own_features.is_empty() && old.ours(known).is_some() && new.ours(known).is_none()
    };
    let mut next = Vec::new();
    if now.lock.is_some() && !has_lock {
        next.push("Cargo.lock is gone, as there was none before.".to_owned());
    }
    if !left_out.enabled.is_empty() {
        next.push(of_left_out(&left_out));
    } else if REPLACEMENTS.iter().any(gone) {
        next.push("If you build with the feature `tokio/inspect`, leave that out now: the registry's tokio does not have it.".to_owned());
    }
    let next = (!next.is_empty()).then(|| next.join("\n\n"));
    // Without the file, nothing says which packages the program needs.
    let report = Report::new(project, findings, has_lock.then_some((&old, &new)));
    let report = if is_undone { report.undone() } else { report };
    report.with_next(next).print(json)?;
    if is_undone {
        Ok(Exit::Done)
    } else {
        Err(Exit::Failed(format!(
            "there is nothing to take back: {} has no line that `blitz migrate` writes",
            project.manifest.display()
        )))
    }
}

/// Describes the features that were removed from those of the program.
fn of_left_out(left_out: &LeftOut) -> String {
    let are = |names: &[String]| if names.len() == 1 { "is" } else { "are" };
    let enabled = &left_out.enabled;
    let mut text = format!(
        "{} {} no longer in `[features]` of Cargo.toml: the registry's package has no such feature.",
        listed(enabled),
        are(enabled)
    );
    let emptied = &left_out.emptied;
    if !emptied.is_empty() {
        text += &format!(
            " {} {} empty now, and stay{} for builds that name {}.",
            listed(emptied),
            are(emptied),
            if emptied.len() == 1 { "s" } else { "" },
            if emptied.len() == 1 { "it" } else { "them" },
        );
    }
    text
}

/// Returns what to do if `message` says that a manifest asks for a feature that only blitz-io's package has. `again`: the
/// command to run then.
pub fn own_feature(message: &str, again: &str) -> Option<String> {
    let features = REPLACEMENTS.iter().flat_map(|known| {
        let features = known.own_features.iter();
        features.map(move |feature| (known.name, feature))
    });
    let is_named = |&(name, feature): &(&str, &&str)| {
        message.contains(&format!("`{name}`")) && message.contains(&format!("`{feature}`"))
            || message.contains(&format!("{name}/{feature}"))
    };
    let (name, feature) = features.into_iter().find(is_named)?;
    Some(format!(
        "Only blitz-io's {name} has the feature `{feature}`. Remove it from the manifests of the program, and \
         run `{again}` again."
    ))
}

/// Removes the lines, and lets Cargo return to the versions of before where they still fit. Returns `false` if there is
/// no such line. Adds to `left_out` what the program's own features enable no longer.
fn remove(
    project: &Project,
    now: &Files,
    before: Option<PathBuf>,
    left_out: &mut LeftOut,
) -> Result<bool, Exit> {
    let mut manifest = Manifest::read(&project.manifest)?;
    let mut removed = Vec::new();
    for known in &REPLACEMENTS {
        if manifest
            .patch(known.name)
            .is_some_and(|patch| patch.is_ours)
        {
            manifest.remove(known.name);
            manifest.leave_out_own_features(known, left_out);
            removed.push(known);
        }
    }
    if removed.is_empty() {
        return Ok(false);
    }
    manifest.write()?;
    if now.lock.is_none() {
        return Ok(true);
    }
    if let Err(message) = cargo::update(project, &["--workspace"]) {
        now.write(project)?;
        let stay = "Cargo does not resolve the program without the replacements, so they stay";
        return Err(Exit::Failed(
            match (
                cargo::unreachable(&message, false),
                own_feature(&message, "blitz migrate --undo"),
            ) {
                (Some(advice), _) => format!("{stay}:\n{message}\n\n{advice}"),
                // Cargo's message lists all versions that have no such feature.
                (None, Some(advice)) => format!("{stay}. {advice}"),
                (None, None) => format!("{stay}:\n{message}"),
            },
        ));
    }
    let before = before.and_then(|folder| Lock::read(&folder.join("Cargo.lock")).ok()?);
    let before = before.unwrap_or_default();
    for known in removed {
        let now = Lock::read(&project.lock)?.unwrap_or_default();
        if let ([new], [old]) = (&now.locked(known)[..], &before.locked(known)[..])
            && new != old
        {
            let package = format!("{}@{new}", known.name);
            // Another version than before is no failure: something else needs it now.
            let _ = cargo::update(project, &[&package, "--precise", old]);
        }
    }
    Ok(true)
}
