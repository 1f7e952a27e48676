//! `blitz migrate`: puts the packages of `drop-in/` into the dependency tree of a program.
//!
//! A `[patch]` alone is not enough where there is a `Cargo.lock`: Cargo keeps the locked version
//! of the registry and warns that the patch was not used. `cargo update NAME` keeps it too, if
//! another locked version does not fit. `cargo update NAME --precise VERSION` with the version of
//! the replacement makes Cargo use it and update what else must change, or say what forbids it.
//!
//! Packages are replaced one after the other, because one can make another unnecessary: without
//! Tokio of the registry, the tree may not need parking_lot. A package that cannot be replaced leaves
//! `Cargo.toml` and `Cargo.lock` as they were before it was tried. If that is Tokio, nothing is replaced.

mod add_command;
mod array;
mod cargo;
mod features;
mod files;
mod lock;
mod manifest;
mod member;
mod replacement;
mod report;
mod undo;

use std::collections::BTreeSet;
use std::path::{self, Component, Path, PathBuf};

use clap::{Args, ValueHint};

pub use add_command::add_command;
pub use features::{SERVE, TO_ANSWER};
pub use lock::Feature;

use crate::exit::Exit;
use crate::interrupt;
use crate::shell;
use cargo::{Conflict, Project};
use features::Got;
use files::Files;
use lock::Lock;
use manifest::{Manifest, Source, normal};
use replacement::{REPLACEMENTS, Replacement};
use report::{Finding, Report, State};
use undo::{Saved, Times};

/// The end of the help.
fn after_help() -> String {
    let line = Source::default().line(&REPLACEMENTS[0]);
    format!("{EXAMPLES}  tokio = {line}{END}")
}

const EXAMPLES: &str = "\
Examples:
  blitz migrate                    replace what can be, in the program of this folder
  blitz migrate --dry-run          what that would change
  blitz migrate --check            what is replaced, what is not, and why
  blitz migrate --check --path ../blitz-io
                                   also whether the packages come from this checkout
  blitz migrate --path ../blitz-io take the packages from a checkout
  blitz migrate --only tokio       leave all other packages as they are
  blitz migrate --undo             take it back

It writes lines like these, and makes Cargo.lock follow: the first into each package of the
program that depends on Tokio, the others into the Cargo.toml of the workspace. A program
without Tokio gets no feature; the report says what it needs for blitz why.

  [features]
  inspect = [\"tokio/inspect\"]   # for blitz why, trace, lint and top
  sim = [\"tokio/sim\"]           # for tests with #[tokio::sim]

  [patch.crates-io]
";

const END: &str = "

Every package of the tree that depends on tokio 1, rayon-core 1 (as rayon does), parking_lot
0.12, parking_lot_core 0.9 (as dashmap does) or atomic-wait 1 then gets blitz-io under that
name. No source changes. Commit the files; in CI, `blitz migrate --check` fails when a later
`cargo update` has brought the registry's package back.

Exit statuses:
  0    every package that blitz-io can replace is replaced, or would be (--dry-run); with --undo:
       it was taken back
  1    one is not, or comes from another place (the report says why); there is none, or nothing to
       take back; or a file is missing, as Cargo.toml may be, cannot be read or written, or is not
       what it should be. If Tokio cannot be replaced, nothing is changed
  64   the arguments are wrong
  130  interrupted; nothing is changed";

#[derive(Args)]
#[command(after_help = after_help())]
pub struct Arguments {
    /// The folder of the program, or one inside it.
    #[arg(default_value = ".", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: PathBuf,

    /// Reports what is replaced, and why the rest is not. Changes nothing, and needs no network. With --path, --git or
    /// --registry, a package that comes from elsewhere is reported too.
    #[arg(long, conflicts_with = "undo")]
    check: bool,

    /// Prints what would change, and changes nothing. Cargo tries it in the files themselves, which then become again what
    /// they were.
    #[arg(long, conflicts_with_all = ["check", "undo"])]
    dry_run: bool,

    /// Takes the replacement back: all files become what they were, if they have not changed
    /// since. A manifest that has changed loses the lines only, and the report names it; Cargo then returns
    /// to the versions of before where they still fit.
    #[arg(long, conflicts_with_all = ["path", "git", "registry", "only", "no_features"])]
    undo: bool,

    /// Writes no features into the packages of the program. `cargo publish` refuses a package with them, as the
    /// registry's Tokio has none of them; `--features tokio/inspect` works without.
    #[arg(long, conflicts_with = "check")]
    no_features: bool,

    /// Replaces these only, separated by commas: tokio, rayon-core, parking_lot, parking_lot_core, atomic-wait.
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = ["tokio", "rayon-core", "parking_lot", "parking_lot_core", "atomic-wait"])]
    only: Vec<String>,

    /// Takes the packages from a checkout of blitz-io. A relative path is written relative to the manifest.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with_all = ["git", "registry"])]
    path: Option<PathBuf>,

    /// Takes the packages from a git repository. This is the default, with blitz-io's own: a release takes its
    /// tag, a `blitz` of `cargo install --git` its own commit, and a build from a checkout the newest commit.
    #[arg(long, value_name = "URL", conflicts_with = "registry")]
    git: Option<String>,

    /// The commit to take from the repository.
    #[arg(long, value_name = "COMMIT", conflicts_with_all = ["path", "registry", "tag", "branch"])]
    rev: Option<String>,

    /// The tag to take from the repository.
    #[arg(long, value_name = "TAG", conflicts_with_all = ["path", "registry", "branch"])]
    tag: Option<String>,

    /// The branch to take from the repository.
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["path", "registry"])]
    branch: Option<String>,

    /// Takes the packages from a registry of your own, by its name in Cargo's configuration.
    #[arg(long, value_name = "NAME")]
    registry: Option<String>,

    /// Prints the report as JSON, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    fn wanted(&self) -> Vec<&'static Replacement> {
        let all = REPLACEMENTS.iter();
        all.filter(|known| self.only.is_empty() || self.only.iter().any(|name| name == known.name))
            .collect()
    }

    /// Returns the options that name where the packages come from, as a user types them, each after a space.
    fn source_options(&self) -> String {
        let path = self.path.as_deref().map(Path::to_string_lossy);
        let options = [
            ("--path", path.as_deref()),
            ("--git", self.git.as_deref()),
            ("--rev", self.rev.as_deref()),
            ("--tag", self.tag.as_deref()),
            ("--branch", self.branch.as_deref()),
            ("--registry", self.registry.as_deref()),
        ];
        let given = options
            .iter()
            .filter_map(|(option, value)| Some(format!(" {}", shell::line([option, &(*value)?]))));
        given.collect()
    }

    /// Returns where the packages come from, if the arguments name it. `root`: the folder of the manifest.
    fn source(&self, root: &Path) -> Result<Option<Source>, Exit> {
        if let Some(folder) = &self.path {
            return checkout(folder, root).map(Some);
        }
        if let Some(name) = &self.registry {
            return Ok(Some(Source::Registry(name.clone())));
        }
        let reference = [
            ("rev", &self.rev),
            ("tag", &self.tag),
            ("branch", &self.branch),
        ];
        let reference = reference
            .into_iter()
            .find_map(|(kind, name)| Some((kind, name.clone()?)));
        if self.git.is_none() && reference.is_none() {
            return Ok(None);
        }
        let url = self.git.clone();
        Ok(Some(Source::Git {
            url: url.unwrap_or_else(|| manifest::REPOSITORY.to_owned()),
            reference,
        }))
    }
}

/// Checks that the folder is a checkout of blitz-io. If the path is relative, so is the result, from `root`, the folder of
/// the manifest: both folders can then move together.
fn checkout(folder: &Path, root: &Path) -> Result<Source, Exit> {
    let whole = path::absolute(folder).map_err(|error| Exit::unreadable(folder, error))?;
    let whole = normal(&whole);
    let mut files = REPLACEMENTS
        .iter()
        .map(|known| format!("drop-in/{}/Cargo.toml", known.name));
    if let Some(file) = files.find(|file| !whole.join(file).is_file()) {
        return Err(
            Exit::Failed(format!("--path: {} has no {file}", folder.display())).with_advice(
                "Give the folder of a checkout of blitz-io, the one with crates/ and drop-in/.",
            ),
        );
    }
    let is_relative = folder.is_relative();
    Ok(Source::Path(if is_relative {
        relative(&whole, root).unwrap_or(whole)
    } else {
        whole
    }))
}

/// Returns the way from a folder to another one; `None` if there is none, as between two drives. Both are absolute.
fn relative(to: &Path, from: &Path) -> Option<PathBuf> {
    let prefix = |path: &Path| {
        path.components()
            .next()
            .map(|first| first.as_os_str().to_owned())
    };
    if prefix(to) != prefix(from) {
        return None;
    }
    let common = to.components().zip(from.components());
    let common = common.take_while(|(to, from)| to == from).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to.components().skip(common)).collect();
    Some(if way.as_os_str().is_empty() {
        ".".into()
    } else {
        way
    })
}

/// Returns how the program of this folder gets the feature `inspect`, if its lock file is there and can be read.
pub fn inspect_feature(folder: &Path) -> Option<Feature> {
    let folder = path::absolute(folder).ok()?;
    let find = |name: &str| {
        let mut files = folder.ancestors().map(|folder| folder.join(name));
        files.find(|file| file.is_file())
    };
    let feature = Lock::read(&find("Cargo.lock")?).ok()??.inspect_feature();
    // A feature of the program's own, whose packages are in Cargo.lock. `blitz migrate` writes it.
    let manifest = find("Cargo.toml").and_then(|file| Manifest::read(&file).ok());
    let has_own = manifest.is_some_and(|manifest| manifest.has_feature("inspect"));
    let has_own = has_own || feature.must_migrate || {
        let project = Project::find(&folder).ok();
        project.is_some_and(|project| project.members.iter().any(|it| it.has_inspect()))
    };
    Some(if has_own {
        Feature {
            name: "inspect",
            ..feature
        }
    } else {
        feature
    })
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let project = Project::find(&arguments.folder)?;
    if arguments.undo {
        return undo::run(&project, arguments.json);
    }
    let wanted = arguments.wanted();
    let source = arguments.source(&project.folder)?;
    let report = if arguments.check {
        check(
            &project,
            &wanted,
            source.as_ref(),
            &arguments.source_options(),
        )?
    } else {
        let options = arguments.source_options();
        // The files have to become what they were.
        interrupt::watch(|| {});
        migrate(
            &project,
            &wanted,
            source.as_ref(),
            &options,
            arguments.dry_run,
            !arguments.no_features,
        )?
    };
    // If nothing was done, the error says all.
    if arguments.json || !report.is_given_up() {
        report.print(arguments.json)?;
    }
    report.end(&wanted)
}

/// Reads both files, and changes nothing. `options`: those that name the source.
fn check(
    project: &Project,
    wanted: &[&'static Replacement],
    source: Option<&Source>,
    options: &str,
) -> Result<Report, Exit> {
    let manifest = Manifest::read(&project.manifest)?;
    let Some(lock) = Lock::read(&project.lock)? else {
        return Err(Exit::Failed(format!(
            "{} does not exist yet: `cargo generate-lockfile` writes it\n\n\
             Or run `blitz migrate`, which does not need it.",
            project.lock.display()
        )));
    };
    let finding = |known: &&'static Replacement| {
        let mut finding = Finding::new(known, &lock);
        match (finding.state, source) {
            (State::NotReplaced, _) => finding.why = Some(why(known, &manifest, options)),
            (State::Replaced, Some(source)) => {
                finding.elsewhere(elsewhere(project, known, &manifest, source, options));
            }
            _ => {}
        }
        finding
    };
    let findings: Vec<Finding> = wanted.iter().map(finding).collect();
    // One command replaces all.
    let is_missing = |finding: &Finding| finding.why.as_deref() == Some(NO_LINE);
    let next = findings.iter().any(is_missing).then(|| {
        let only = only(wanted);
        format!("`blitz migrate{only}{options}` replaces what can be replaced.")
    });
    let report = Report::new(project, findings, None);
    Ok(report.with_by_hand(&lock).with_next(next))
}

/// Why a package without a line in Cargo.toml is not replaced.
const NO_LINE: &str = "Cargo.toml does not replace it.";

/// Describes why a package is not replaced, as far as the files show it.
fn why(known: &Replacement, manifest: &Manifest, options: &str) -> String {
    let name = known.name;
    let run = format!("`blitz migrate --only {name}{options}`");
    match manifest.patch(name) {
        Some(patch) if patch.is_ours => format!(
            "Cargo.toml replaces it, but Cargo.lock holds on to the registry's package. Run {run}."
        ),
        Some(patch) => foreign(name, &patch.text, options),
        None => NO_LINE.to_owned(),
    }
}

fn foreign(name: &str, line: &str, options: &str) -> String {
    format!(
        "Cargo.toml already replaces it by another package: `{name} = {line}`. Remove that line and run `blitz migrate --only {name}{options}`."
    )
}

/// Returns what to do if the package, which is replaced, does not come from `source`.
fn elsewhere(
    project: &Project,
    known: &Replacement,
    manifest: &Manifest,
    source: &Source,
    options: &str,
) -> Option<String> {
    let name = known.name;
    let patch = manifest.patch(name)?;
    let is_there = manifest.is_from(known, source, |path| normal(&project.folder.join(path)));
    (!is_there).then(|| {
        format!(
            "It comes from another place: `{name} = {}`. Run `blitz migrate --only {name}{options}`.",
            patch.text
        )
    })
}

/// Replaces what can be replaced, or nothing if Tokio stays. `options`: those that name the source. `is_dry`: all files
/// then become again what they were. `with_features`: the program's packages get features of their own, too.
fn migrate(
    project: &Project,
    wanted: &[&'static Replacement],
    source: Option<&Source>,
    options: &str,
    is_dry: bool,
    with_features: bool,
) -> Result<Report, Exit> {
    // Nothing is written if one of the files is not understood.
    Manifest::read(&project.manifest)?;
    Lock::read(&project.lock)?;
    let begin = Files::of(project)?;
    let times = Times::of(&begin);
    let saved = (!is_dry).then(|| Saved::begin(project, &begin));
    let saved = saved.transpose()?;
    let tried = attempt(project, wanted, source);
    let tokio = tried.as_ref().ok();
    let tokio = tokio.and_then(|(_, tried)| tokio_stays(wanted, tried));
    let why = tokio.map(str::to_owned);
    let got = match (&tried, &why) {
        (Ok(_), None) if with_features => write_features(project, wanted),
        _ => Ok(Ok(vec![])),
    };
    let (end, after) = (begin.again()?, Lock::read(&project.lock)?);
    let keeps = !is_dry && tried.is_ok() && why.is_none() && got.is_ok();
    if !keeps && end != begin {
        begin.write()?;
        times.restore();
    }
    match saved {
        Some(saved) if keeps && end != begin => saved.end(&end)?,
        Some(saved) => saved.cancel()?,
        None => {}
    }
    let (before, tried) = tried?;
    let got = got?;
    if let Some(why) = why {
        let others = Tried::replaced(wanted, &tried);
        let report = Report::new(project, given_up(wanted, &before, &why), None);
        let report = report.give_up(&others, options);
        return Ok(if is_dry {
            report.dry_run(vec![])
        } else {
            report
        });
    }
    // Only now: a later replacement may have changed who needs an earlier one.
    let after = after.unwrap_or_default();
    let findings = wanted.iter().zip(tried).map(|(known, tried)| {
        let mut finding = Finding::new(known, &after);
        match tried {
            Tried::Kept => {}
            // The registry's version in the lock file of before, unless it was ours then.
            Tried::Replaced => finding.was = before.locked(known).first().map(|&was| was.into()),
            Tried::Failed(why) => finding.why = Some(why),
        }
        finding
    });
    let report = Report::new(project, findings.collect(), Some((&before, &after)));
    let report = report.with_by_hand(&after).with_features(got);
    let is_changed = end != begin;
    Ok(if is_dry {
        let features = if with_features { "" } else { " --no-features" };
        let next = format!(
            "`blitz migrate{}{options}{features}` does this.",
            only(wanted)
        );
        report
            .dry_run(begin.lines_to(&end, project))
            .with_next(is_changed.then_some(next))
    } else {
        report.with_next(is_changed.then(|| after_change(project, &after, with_features)))
    })
}

/// Writes the features of the program's packages, if Tokio is replaced. Returns why Cargo refuses them.
fn write_features(
    project: &Project,
    wanted: &[&'static Replacement],
) -> Result<Result<Vec<Got>, String>, Exit> {
    if interrupt::is_pressed() {
        return Err(Exit::Interrupted);
    }
    let tokio = &REPLACEMENTS[0];
    let lock = Lock::read(&project.lock)?.unwrap_or_default();
    let is_ours = lock.ours(tokio).is_some() && lock.locked(tokio).is_empty();
    if is_ours && wanted.iter().any(|known| known.name == tokio.name) {
        features::write(project)
    } else {
        Ok(Ok(vec![]))
    }
}

/// Replaces what can be replaced. Returns the lock file of before, and the result for each package. If it fails, both files
/// may have changed.
fn attempt(
    project: &Project,
    wanted: &[&'static Replacement],
    source: Option<&Source>,
) -> Result<(Lock, Vec<Tried>), Exit> {
    if let Some(before) = Lock::read(&project.lock)? {
        return Ok((before, replace_all(project, wanted, source)?));
    }
    cargo::update(project, &["--workspace"]).map_err(|message| {
        if interrupt::is_pressed() {
            return Exit::Interrupted;
        }
        let failed = "Cargo does not resolve the program as it is";
        let unreachable = cargo::unreachable(&message, wants_ours(source));
        Exit::Failed(
            match (unreachable, undo::own_feature(&message, "blitz migrate")) {
                (Some(advice), _) => format!("{failed}:\n{message}\n\n{advice}"),
                // Cargo's message lists all versions that have no such feature.
                (None, Some(advice)) => {
                    format!("{failed}. {advice} Then the feature may come back.")
                }
                (None, None) => format!("{failed}:\n{message}"),
            },
        )
    })?;
    let before = Lock::read(&project.lock)?.unwrap_or_default();
    Ok((before, replace_all(project, wanted, source)?))
}

/// Returns the option that names these packages, after a space, if they are not all.
fn only(wanted: &[&Replacement]) -> String {
    if wanted.len() == REPLACEMENTS.len() {
        return String::new();
    }
    let names: Vec<&str> = wanted.iter().map(|known| known.name).collect();
    format!(" --only {}", names.join(","))
}

/// Returns why Tokio is not replaced, if the tree has one that should be.
///
/// Then the others stay, too: most of them are in the tree for Tokio's sake, and who asked for Tokio's replacement did
/// not ask for theirs alone.
fn tokio_stays<'a>(wanted: &[&Replacement], tried: &'a [Tried]) -> Option<&'a str> {
    let mut results = wanted.iter().zip(tried);
    results.find_map(|(known, tried)| match tried {
        Tried::Failed(why) if known.name == REPLACEMENTS[0].name => Some(why.as_str()),
        _ => None,
    })
}

/// Returns the findings for a program that is not changed, because Tokio stays for this reason.
fn given_up(wanted: &[&'static Replacement], lock: &Lock, why: &str) -> Vec<Finding> {
    let finding = |known: &&'static Replacement| {
        let mut finding = Finding::new(known, lock);
        if finding.state == State::NotReplaced {
            let is_tokio = known.name == REPLACEMENTS[0].name;
            finding.why = Some(if is_tokio { why } else { "Tokio stays." }.to_owned());
        }
        finding
    };
    wanted.iter().map(finding).collect()
}

/// Returns what to do after a replacement.
fn after_change(project: &Project, lock: &Lock, with_features: bool) -> String {
    let has_tokio = lock.ours(&REPLACEMENTS[0]).is_some();
    let features = if has_tokio {
        with_features.then(|| features::advice(project))
    } else {
        features::advice_without_tokio(project, lock)
    };
    let features = features.map_or_else(String::new, |advice| format!("\n\n{advice}"));
    format!(
        "Build and test the program now. `blitz migrate --undo` takes the replacement back.{features}"
    )
}

/// Replaces one package after the other. The replacement of one can free the versions that another
/// needs, so those that failed are tried again until none of them succeeds.
fn replace_all(
    project: &Project,
    wanted: &[&'static Replacement],
    source: Option<&Source>,
) -> Result<Vec<Tried>, Exit> {
    let mut tried = Vec::new();
    for known in wanted {
        tried.push(replace(project, known, source)?);
    }
    loop {
        let mut is_changed = false;
        for (known, tried) in wanted.iter().zip(&mut tried) {
            if matches!(tried, Tried::Failed(_)) {
                *tried = replace(project, known, source)?;
                is_changed |= !matches!(tried, Tried::Failed(_));
            }
        }
        if !is_changed {
            return Ok(tried);
        }
    }
}

/// Returns `true` if Cargo has to fetch the packages of blitz-io.
fn wants_ours(source: Option<&Source>) -> bool {
    !matches!(source, Some(Source::Path(_)))
}

/// The result for one package.
enum Tried {
    /// There was nothing to do.
    Kept,
    /// It is replaced.
    Replaced,
    /// It is not, for this reason, and all files are as they were.
    Failed(String),
}

impl Tried {
    /// Returns the names of the packages that were replaced.
    fn replaced(wanted: &[&Replacement], tried: &[Tried]) -> Vec<&'static str> {
        let results = wanted.iter().zip(tried);
        let replaced = results.filter(|(_, tried)| matches!(tried, Tried::Replaced));
        replaced.map(|(known, _)| known.name).collect()
    }
}

/// Replaces one package.
fn replace(project: &Project, known: &Replacement, source: Option<&Source>) -> Result<Tried, Exit> {
    if interrupt::is_pressed() {
        return Err(Exit::Interrupted);
    }
    let begin = Files::of(project)?;
    let lock = Lock::read(&project.lock)?.unwrap_or_default();
    let locked = lock.locked(known);
    let mut manifest = Manifest::read(&project.manifest)?;
    let has_line = match manifest.patch(known.name) {
        Some(patch) if !patch.is_ours && !locked.is_empty() => {
            return Ok(Tried::Failed(foreign(known.name, &patch.text, "")));
        }
        patch => patch.is_some_and(|patch| patch.is_ours),
    };
    // If the package is already one of `drop-in/`, the arguments may name another source.
    let is_moved = has_line && source.is_some() && lock.ours(known).is_some();
    if locked.is_empty() && !is_moved {
        return Ok(Tried::Kept);
    }
    if source.is_some() || !has_line {
        manifest.set(known, source.unwrap_or(&Source::default()));
        manifest.write()?;
    }
    match resolve(project, known) {
        Ok(()) => Ok(Tried::Replaced),
        Err(why) => {
            begin.write()?;
            match cargo::unreachable(&why, wants_ours(source)) {
                // No other package fares better.
                Some(advice) => Err(Exit::Failed(format!("{why}\n\n{advice}"))),
                None => Ok(Tried::Failed(
                    cargo::pinned(&why, known.name, known.versions).unwrap_or(why),
                )),
            }
        }
    }
}

/// Makes `Cargo.lock` follow the line that replaces `known`. Returns why it does not.
///
/// Locked versions of other packages may be too old. Cargo then names those that do not fit, and they are
/// updated together; if it names no more, so are the packages that require them. Each version is updated
/// once, so the loop ends. If a requirement holds a version back, the result is Cargo's reason.
fn resolve(project: &Project, known: &Replacement) -> Result<(), String> {
    let mut named = BTreeSet::new();
    loop {
        let Err(why) = follow(project, known) else {
            return Ok(());
        };
        let mut message = why.clone();
        loop {
            let Conflict { selected, others } = Conflict::in_message(&message);
            let mut is_new = false;
            for packages in [selected, others] {
                for package in packages {
                    is_new |= package.0 != known.name && named.insert(package);
                }
                if is_new {
                    break;
                }
            }
            if !is_new {
                return Err(why);
            }
            let lock = project.resolved()?;
            let versions = lock.versions();
            let still = named.iter().filter(|(name, version)| {
                let locked = versions.get(name.as_str());
                locked.is_some_and(|locked| locked.contains(version.as_str()))
            });
            let packages: Vec<String> = still
                .map(|(name, version)| format!("{name}@{version}"))
                .collect();
            let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
            match cargo::update(project, &packages) {
                Ok(()) => break,
                Err(more) => message = more,
            }
        }
    }
}

/// Makes Cargo read the line, and use the package.
fn follow(project: &Project, known: &Replacement) -> Result<(), String> {
    // If the package fits as it is, Cargo uses it, else the lock file names its version.
    cargo::update(project, &["--workspace"])?;
    let lock = project.resolved()?;
    if let Some(version) = lock.unused_patch(known.name) {
        for held in lock.locked(known) {
            let package = format!("{}@{held}", known.name);
            cargo::update(project, &[&package, "--precise", version])?;
        }
    }
    // Cargo also succeeds without the package. What counts is the tree.
    let lock = project.resolved()?;
    if lock.ours(known).is_some() && lock.locked(known).is_empty() {
        Ok(())
    } else {
        Err(format!(
            "Cargo read the line and did not use it. `cargo tree -i {}` shows who depends on it.",
            known.name
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normal_and_relative_where_there_is_a_way() {
        for (path, expected) in [("/x/../y", "/y"), ("/a/./b/c/..", "/a/b"), ("/../a", "/a")] {
            assert_eq!(normal(path.as_ref()), Path::new(expected), "{path}");
        }
        for (to, from, expected) in [
            ("/a/blitz-io", "/a/program", "../blitz-io"),
            ("/a/program/blitz-io", "/a/program", "blitz-io"),
            ("/b", "/a/program", "../../b"),
            ("/a", "/a", "."),
        ] {
            let way = relative(to.as_ref(), from.as_ref());
            assert_eq!(way.as_deref(), Some(Path::new(expected)), "{to} {from}");
        }
        assert_eq!(relative("C:/a".as_ref(), "/a".as_ref()), None);
    }
}
