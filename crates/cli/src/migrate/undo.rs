//! `blitz migrate --undo`, and the files that it needs.
//!
//! Cargo's build folder keeps all files as they were before and after the replacement. If they
//! have not changed since, they become again what they were, byte for byte. A manifest that has
//! changed loses the lines of the replacement only.
//!
//! The files of before are saved before anything is changed, and those of after at the end. So
//! a run that was stopped in the middle has left only the first ones. They count if the manifests have
//! no other changes than those of the replacement.
//!
//! Several programs may share a build folder, so each has a folder of its own there, named for the path of its manifest.
//! Saved files that do not have this manifest belong to another program, and are not used.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::cargo::{self, Project};
use super::files::Files;
use super::lock::Lock;
use super::manifest::{self, LeftOut, Manifest};
use super::member::FEATURES;
use super::replacement::{REPLACEMENTS, Replacement};
use super::report::{Finding, Report, listed};
use crate::exit::Exit;

/// The files of before the replacement, and those of after it.
const BEFORE: &str = "before.json";
const AFTER: &str = "after.json";

/// When files were changed. Cargo runs some build scripts again if a file of their package is newer.
pub struct Times(Vec<(PathBuf, SystemTime)>);

impl Times {
    pub fn of(files: &Files) -> Times {
        let time = |path: &PathBuf| {
            let time = fs::metadata(path).and_then(|file| file.modified()).ok()?;
            Some((path.clone(), time))
        };
        Times(files.0.keys().filter_map(time).collect())
    }

    /// Sets the times of files that have become what they were. A wrong one does no harm.
    pub fn restore(&self) {
        for (path, time) in &self.0 {
            if let Ok(file) = File::options().write(true).open(path) {
                let _ = file.set_modified(*time);
            }
        }
    }
}

/// The folder with the files of one program as they were before the replacement, and after it.
pub struct Saved {
    folder: PathBuf,
    /// The manifest of the program's workspace.
    manifest: PathBuf,
    /// This run saved the files as they were before.
    is_new: bool,
    /// The program has changed since an earlier replacement. What that has saved stays, and its files of after differ from those
    /// of this run: so no file becomes what it was, and each loses the lines.
    is_mixed: bool,
    /// The files of after the last replacement.
    last: Option<Files>,
}

impl Saved {
    fn of(project: &Project) -> Saved {
        let manifest = fs::canonicalize(&project.manifest);
        let manifest = manifest.unwrap_or_else(|_| project.manifest.clone());
        let hash = Sha256::digest(manifest.as_os_str().as_encoded_bytes());
        let key: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Saved {
            folder: project.target.join("blitz-migrate").join(key),
            manifest: project.manifest.clone(),
            is_new: false,
            is_mixed: false,
            last: None,
        }
    }

    /// Saves the files before they are changed. If they are as the last run left them, those of
    /// before that run are kept instead.
    pub fn begin(project: &Project, files: &Files) -> Result<Saved, Exit> {
        let mut saved = Saved::of(project);
        let (before, last) = (saved.load(BEFORE), saved.load(AFTER));
        match before {
            Some(before) if is_left_by_us(project, &before, last.as_ref())? => {
                // Those that this run is the first to change.
                let mut all = files.clone();
                all.0.extend(before.0);
                saved.save(BEFORE, &all)?;
                saved.last = last;
                // Until this run ends, it may have been stopped.
                let _ = fs::remove_file(saved.folder.join(AFTER));
            }
            Some(_) if has_lines(project)? => saved.is_mixed = true,
            _ => {
                saved.discard();
                saved.is_new = true;
                saved.save(BEFORE, files)?;
            }
        }
        Ok(saved)
    }

    /// Saves the files after they were changed.
    pub fn end(&self, files: &Files) -> Result<(), Exit> {
        if self.is_mixed {
            return Ok(());
        }
        let mut all = self.last.clone().unwrap_or_default();
        all.0.extend(files.0.clone());
        self.save(AFTER, &all)
    }

    /// Leaves what was saved before this run, which has changed nothing.
    pub fn cancel(&self) -> Result<(), Exit> {
        if self.is_new {
            self.discard();
        }
        match &self.last {
            Some(last) => self.save(AFTER, last),
            None => Ok(()),
        }
    }

    fn discard(&self) {
        // What remains is compared with the program's files before it is used.
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn load(&self, name: &str) -> Option<Files> {
        let text = fs::read(self.folder.join(name)).ok()?;
        let files: Files = serde_json::from_slice(&text).ok()?;
        files.0.contains_key(&self.manifest).then_some(files)
    }

    fn save(&self, name: &str, files: &Files) -> Result<(), Exit> {
        let path = self.folder.join(name);
        let text = serde_json::to_string(files).map_err(|error| Exit::unwritable(&path, error))?;
        fs::create_dir_all(&self.folder).map_err(|error| Exit::unwritable(&self.folder, error))?;
        manifest::write(&path, &text)
    }
}

/// Returns `true` if nothing but the replacement has changed the files since `before`. `after`: how it left them; `None` if
/// it was stopped.
fn is_left_by_us(project: &Project, before: &Files, after: Option<&Files>) -> Result<bool, Exit> {
    if let Some(after) = after {
        return Ok(after.again()? == *after);
    }
    let now = before.again()?;
    let mut left_out = LeftOut::default();
    let mut bare = |path: &Path, text: &str| {
        let mut manifest = Manifest::parse(path, text.to_owned())?;
        take_out(project, path, &mut manifest, None, &mut left_out);
        Ok::<_, Exit>(manifest.changed().trim_end().to_owned())
    };
    for (path, text) in before.manifests(project) {
        let is_same = match now.text(path) {
            Some(now) => bare(path, now)? == bare(path, text)?,
            None => false,
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns `true` if the manifest of the workspace has lines of a replacement.
fn has_lines(project: &Project) -> Result<bool, Exit> {
    let manifest = Manifest::read(&project.manifest)?;
    let mut patches = REPLACEMENTS.iter().filter_map(|it| manifest.patch(it.name));
    Ok(patches.any(|patch| patch.is_ours))
}

/// Removes what the replacement has written into a manifest. `before`: its text of before, if that is known.
fn take_out(
    project: &Project,
    path: &Path,
    manifest: &mut Manifest,
    before: Option<&str>,
    left_out: &mut LeftOut,
) {
    if path == project.manifest {
        for known in &REPLACEMENTS {
            if manifest.patch(known.name).is_some_and(|it| it.is_ours) {
                manifest.remove(known.name);
            }
        }
    }
    let before = before.and_then(|text| Manifest::parse(path, text.to_owned()).ok());
    let had = |feature: &str| {
        let before = before.as_ref();
        before.is_some_and(|before| before.has_feature(feature))
    };
    for member in &project.members {
        if member.manifest == path {
            manifest.leave_out_own_features(&REPLACEMENTS[0], &member.tokio, &had, left_out);
        }
    }
}

/// Takes the replacement back.
///
/// # Errors
///
/// Fails if there is nothing to take back.
pub fn run(project: &Project, json: bool) -> Result<Exit, Exit> {
    let saved = Saved::of(project);
    let (before, after) = (saved.load(BEFORE), saved.load(AFTER));
    let mut now = Files::of(project)?;
    if let Some(before) = &before {
        now.0.extend(before.again()?.0);
    }
    let old = Lock::read(&project.lock)?.unwrap_or_default();
    let mut taken = Taken::default();
    match before {
        Some(before) if is_left_by_us(project, &before, after.as_ref())? => before.write()?,
        before => remove(
            project,
            &now,
            &before.unwrap_or_default(),
            &after.unwrap_or_default(),
            &mut taken,
        )?,
    }
    saved.discard();
    let end = now.again()?;
    let is_undone = end != now;
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
    if is_undone && !taken.changed.is_empty() {
        next.push(of_changed(&taken.changed));
    }
    if now.text(&project.lock).is_some() && !has_lock {
        next.push("Cargo.lock is gone, as there was none before.".to_owned());
    }
    if !taken.left_out.enabled.is_empty() {
        next.push(of_left_out(&taken.left_out));
    }
    if REPLACEMENTS.iter().any(gone) {
        let options = FEATURES.map(|feature| format!("--features {feature}"));
        next.push(format!(
            "Leave {} out of your commands now, as in CI: the registry's tokio has no such features.",
            listed(&options)
        ));
    }
    let next = (!next.is_empty()).then(|| next.join("\n\n"));
    // Without the file, nothing says which packages the program needs.
    let report = Report::new(project, findings, has_lock.then_some((&old, &new)));
    let report = if is_undone {
        let restored = now
            .0
            .keys()
            .filter(|path| end.0.get(*path) != now.0.get(*path));
        report.undone(restored.map(|path| project.shown(path)).collect())
    } else {
        report
    };
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

/// Removals from files that have changed since the replacement.
#[derive(Default)]
struct Taken {
    left_out: LeftOut,
    /// The manifests that have changed, where the files of before are known.
    changed: Vec<String>,
}

/// Says which files have other changes.
fn of_changed(names: &[String]) -> String {
    let (have, them) = match names.len() {
        1 => ("has", "it"),
        _ => ("have", "them"),
    };
    format!(
        "{} {have} changed since `blitz migrate`: only the lines of this command were removed from {them}.",
        names.join(", ")
    )
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

/// Takes the replacement back in each manifest. One that has not changed since becomes what it was; the others lose the lines.
/// Cargo then returns to the versions of before where they still fit.
fn remove(
    project: &Project,
    now: &Files,
    before: &Files,
    after: &Files,
    taken: &mut Taken,
) -> Result<(), Exit> {
    let mut end = Files::default();
    for (path, text) in now.manifests(project) {
        let known = before.text(path);
        let new = match known {
            Some(known) if after.text(path) == Some(text) => known.to_owned(),
            _ => {
                let mut manifest = Manifest::parse(path, text.to_owned())?;
                take_out(project, path, &mut manifest, known, &mut taken.left_out);
                manifest.changed()
            }
        };
        if known.is_some_and(|known| known != new) {
            taken.changed.push(project.shown(path));
        }
        end.0.insert(path.to_owned(), Some(new));
    }
    end.write()?;
    let is_changed = now
        .manifests(project)
        .any(|(path, text)| end.text(path) != Some(text));
    if now.text(&project.lock).is_none() || !is_changed {
        return Ok(());
    }
    let old = Lock::read(&project.lock)?.unwrap_or_default();
    if let Err(message) = cargo::update(project, &["--workspace"]) {
        now.write()?;
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
    let before = before.text(&project.lock).map(Lock::parse);
    let before = before.and_then(Result::ok).unwrap_or_default();
    for known in REPLACEMENTS
        .iter()
        .filter(|known| old.ours(known).is_some())
    {
        let now = Lock::read(&project.lock)?.unwrap_or_default();
        if let ([new], [old]) = (&now.locked(known)[..], &before.locked(known)[..])
            && new != old
        {
            let package = format!("{}@{new}", known.name);
            // Another version than before is no failure: something else needs it now.
            let _ = cargo::update(project, &[&package, "--precise", old]);
        }
    }
    Ok(())
}
