//! The files that a replacement changes, as they were at some time.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cargo::Project;
use super::manifest;
use crate::exit::Exit;

/// The texts of files, by their paths; `None` if there is no such file.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files(pub BTreeMap<PathBuf, Option<String>>);

impl Files {
    /// Reads the files that a replacement changes: the manifest of the workspace, the lock file, and the manifests of the
    /// packages that depend on Tokio.
    pub fn of(project: &Project) -> Result<Files, Exit> {
        let members = project.members.iter().map(|member| &member.manifest);
        Files::read(
            [&project.manifest, &project.lock]
                .into_iter()
                .chain(members),
        )
    }

    /// Reads the same files as they are now.
    pub fn again(&self) -> Result<Files, Exit> {
        Files::read(self.0.keys())
    }

    fn read<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Files, Exit> {
        let read = |path: &PathBuf| match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok((path.clone(), None)),
            Err(error) => Err(Exit::unreadable(path, error)),
            Ok(text) => Ok((path.clone(), Some(text))),
        };
        let files: Result<_, Exit> = paths.map(read).collect();
        files.map(Files)
    }

    /// Makes the files what they are here. Those that are so already are not touched.
    pub fn write(&self) -> Result<(), Exit> {
        let now = self.again()?;
        for (path, text) in &self.0 {
            match text {
                _ if now.0.get(path) == Some(text) => {}
                Some(text) => manifest::write(path, text)?,
                None => fs::remove_file(path).map_err(|error| Exit::unwritable(path, error))?,
            }
        }
        Ok(())
    }

    pub fn text(&self, path: &Path) -> Option<&str> {
        self.0.get(path)?.as_deref()
    }

    /// Returns the manifests: all that is no lock file.
    pub fn manifests<'a>(
        &'a self,
        project: &'a Project,
    ) -> impl Iterator<Item = (&'a Path, &'a str)> {
        let files = self.0.iter().filter(|(path, _)| **path != project.lock);
        files.filter_map(|(path, text)| Some((path.as_path(), text.as_deref()?)))
    }

    /// Returns the manifests that differ in the other ones, each with the lines that only this has, after a `-`, and those that
    /// only the other has, after a `+`.
    pub fn lines_to(&self, other: &Files, project: &Project) -> Vec<(String, Vec<String>)> {
        let all = self.manifests(project).map(|(path, old)| {
            let new = other.text(path).unwrap_or_default();
            let lines = [only(old, new, '-'), only(new, old, '+')].concat();
            (project.shown(path), lines)
        });
        all.filter(|(_, lines)| !lines.is_empty()).collect()
    }
}

/// Returns the lines of a text that another one has not, each after a sign.
fn only(of: &str, other: &str, sign: char) -> Vec<String> {
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
}
