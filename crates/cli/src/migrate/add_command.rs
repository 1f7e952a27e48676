//! The command that adds the package `blitz-io` to a program, from where its replaced packages come.

use std::path::Path;

use super::cargo::Project;
use super::manifest::{Manifest, normal};
use super::replacement::REPLACEMENTS;
use crate::shell;

/// Returns the command that adds the package `blitz-io` with these options to the program of this folder, from where its
/// replaced packages come, Tokio first; `None` if none is replaced.
pub fn add_command(folder: &Path, options: &[&str]) -> Option<String> {
    add_command_of(&Project::find(folder).ok()?, options)
}

/// Like [`add_command`], of a project that is known.
pub(super) fn add_command_of(project: &Project, options: &[&str]) -> Option<String> {
    let manifest = Manifest::read(&project.manifest).ok()?;
    let whole = |path: &Path| normal(&project.folder.join(path));
    let mut names = REPLACEMENTS.iter().map(|known| known.name);
    let source = names.find_map(|name| manifest.options_to_add(name, whole))?;
    let words = ["cargo", "add", "blitz-io"].iter().chain(options);
    let words = words.map(|&word| word.to_owned()).chain(source);
    Some(shell::line(words))
}
