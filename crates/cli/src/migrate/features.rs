//! Writes the program's own features `inspect` and `sim`, which enable those of blitz-io's tokio.
//!
//! Each package of the program that depends on Tokio gets both. A package that has `blitz-io` as well records with that,
//! too. A feature that no package of the program names has no packages in `Cargo.lock`, so that Cargo would choose their
//! versions anew for each build, with `--locked` too.
//!
//! A program without Tokio gets no feature: without a runtime, only a call in its `main` lets it answer.

use serde::Serialize;

use super::add_command::add_command_of;
use super::cargo::{self, Project};
use super::files::Files;
use super::lock::Lock;
use super::manifest::Manifest;
use super::member::{FEATURES, Member};
use crate::exit::Exit;

/// The features that a manifest got.
#[derive(Debug, Serialize)]
pub struct Got {
    pub manifest: String,
    pub features: Vec<&'static str>,
}

/// The options of `cargo add blitz-io` for a program that only answers and records.
pub const TO_ANSWER: [&str; 3] = ["--no-default-features", "--features", "inspect"];
/// The call that lets a program without a runtime answer.
pub const SERVE: &str = "blitz_io::inspect::serve_if_asked()";

/// Lets each package that depends on Tokio have the features, and makes `Cargo.lock` follow. Returns why not if Cargo
/// refuses; the manifests are then as they were.
///
/// # Errors
///
/// Fails if a file cannot be read or written. Some manifests may then have the features.
pub fn write(project: &Project) -> Result<Result<Vec<Got>, String>, Exit> {
    let lacking = || project.members.iter().filter(|it| it.lacks_features());
    if lacking().next().is_none() {
        return Ok(Ok(vec![]));
    }
    let begin = Files::of(project)?;
    for member in lacking() {
        enable(member)?;
    }
    if let Err(why) = cargo::update(project, &["--workspace"]) {
        begin.write()?;
        return Ok(Err(why));
    }
    let got = lacking().map(|member| {
        let features = FEATURES.into_iter();
        let features = features.filter(|it| member.missing.iter().any(|(name, _)| name == it));
        Got {
            manifest: project.shown(&member.manifest),
            features: features.collect(),
        }
    });
    Ok(Ok(got.collect()))
}

/// Writes what a package lacks into its manifest.
fn enable(member: &Member) -> Result<(), Exit> {
    let mut manifest = Manifest::read(&member.manifest)?;
    for (feature, value) in &member.missing {
        manifest.enable(feature, value);
    }
    manifest.write()
}

/// Returns the commands that need the features.
pub fn advice(project: &Project) -> String {
    let programs = project.members.iter().flat_map(|member| &member.programs);
    let programs: Vec<&str> = programs.map(String::as_str).collect();
    let name = programs.first().copied().unwrap_or("PROGRAM");
    // Cargo has to know which.
    let choice = if programs.len() > 1 {
        format!(" --bin {name}")
    } else {
        String::new()
    };
    format!(
        "To see what its tasks wait for:\n\n  \
         BLITZ_INSPECT=1 cargo run{choice} --features inspect &\n  \
         blitz why {name}\n\n\
         `blitz trace` and `top` take the same program, `blitz lint -- cargo test --features inspect` its tests, and \
         `cargo test --features sim` those with `#[tokio::sim]`."
    )
}

/// Returns how a program that has neither Tokio nor blitz-io gets the feature; `None` if it has blitz-io.
pub fn advice_without_tokio(project: &Project, lock: &Lock) -> Option<String> {
    if !lock.own_dependents("blitz-io").is_empty() {
        return None;
    }
    let command = add_command_of(project, &TO_ANSWER)?;
    Some(format!(
        "The program has no Tokio, so it got no feature `inspect`. To see what its threads wait for, add blitz-io in the \
         folder of its package:\n\n  {command}\n\nand this as the first line of `main`:\n\n  {SERVE};\n\nThen:\n\n  \
         BLITZ_INSPECT=1 cargo run &\n  blitz why PROGRAM"
    ))
}
