//! The programs to run: the named one, or the tests of `cargo test`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use blitz_io_sim::Program;
use serde::Deserialize;

use super::harness::Selection;
use super::instrumented;
use crate::exit::Exit;
use crate::{output, shell};

/// A program and its name in the table.
pub struct Target {
    pub name: String,
    pub program: Program,
    /// Its state in a harness of tests; `None`: it has no such harness.
    pub test: Option<Test>,
}

/// One test of a program with the harness of Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Runs,
    /// It has `#[ignore]`, and no argument selects such tests.
    IsIgnored,
}

/// One line of `cargo test --no-run --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    profile: Option<Profile>,
    #[serde(default)]
    target: Option<Named>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Returns what the words after `--` name. `atomics`: tests are compiled so that their atomic operations can be points.
pub fn find(words: &[OsString], atomics: bool) -> Result<Vec<Target>, Exit> {
    let (first, rest) = words.split_first().expect("clap requires one");
    if let Some(place) = shell::cargo_command(words) {
        if words.get(place).is_some_and(|word| word == "test") {
            let toolchain = words[1..place].first();
            return tests(first, toolchain, &words[place + 1..], atomics);
        }
        return Err(Exit::usage(
            "cargo starts other programs, which are not simulated.",
            "Give `cargo test` and its arguments, or the program that cargo has built.",
        ));
    }
    let name = Path::new(first)
        .file_name()
        .unwrap_or(first)
        .to_string_lossy()
        .into_owned();
    let program = Program::new(first, rest.iter().cloned());
    program.file().map_err(|error| {
        Exit::Failed(error.to_string()).with_advice(shell::HOW_TO_NAME_A_PROGRAM)
    })?;
    Ok(vec![Target {
        name,
        program,
        test: None,
    }])
}

/// Builds the tests, and lists them.
fn tests(
    cargo: &OsString,
    toolchain: Option<&OsString>,
    words: &[OsString],
    atomics: bool,
) -> Result<Vec<Target>, Exit> {
    let end = words
        .iter()
        .position(|word| word == "--")
        .unwrap_or(words.len());
    let (of_cargo, of_tests) = (&words[..end], words.get(end + 1..).unwrap_or(&[]));
    // It filters the tests, as those behind `--` do.
    let name = test_name(of_cargo).into_iter().cloned();
    let words: Vec<OsString> = name.chain(of_tests.iter().cloned()).collect();
    let selection = Selection::parse(&words)?;
    let mut build = Command::new(cargo);
    build
        .args(toolchain)
        .arg("test")
        .args(of_cargo)
        .args(["--no-run", "--message-format=json-render-diagnostics"]);
    if atomics {
        instrumented::compile(&mut build, cargo, toolchain, of_cargo)?;
    }
    let built = build
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Exit::Failed(format!("cargo cannot be started: {error}")))?;
    if !built.status.success() {
        let needs = if atomics {
            "; --atomics needs the sources of std: rustup component add rust-src"
        } else {
            ""
        };
        return Err(Exit::Failed(format!(
            "cargo could not build the tests{needs}"
        )));
    }
    let mut found = vec![];
    for line in String::from_utf8_lossy(&built.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Message>(line) else {
            continue;
        };
        let is_test = message.reason == "compiler-artifact"
            && message.profile.is_some_and(|profile| profile.test);
        let (true, Some(file), Some(target)) = (is_test, message.executable, message.target) else {
            continue;
        };
        let folder = message
            .manifest_path
            .as_deref()
            .and_then(Path::parent)
            .map(Path::to_owned);
        found.extend(list(&file, &target.name, folder, &selection)?);
    }
    output::tell(
        "tests in the documentation are not simulated: they have no program of their own\n",
    );
    Ok(found)
}

/// The options of `cargo test` whose value may be the next word.
const WITH_VALUE: [&str; 22] = [
    "-p",
    "--package",
    "--exclude",
    "--bin",
    "--example",
    "--test",
    "--bench",
    "-F",
    "--features",
    "-j",
    "--jobs",
    "--profile",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--message-format",
    "--color",
    "--config",
    "-Z",
    "-C",
    "--lockfile-path",
    "--artifact-dir",
];

/// Returns the word that names tests among the arguments of `cargo test`, as Cargo finds it.
fn test_name(words: &[OsString]) -> Option<&OsString> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if WITH_VALUE.iter().any(|option| word == option) {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return Some(word);
        }
    }
    None
}

/// Lists the tests of a program.
fn list(
    file: &Path,
    target: &str,
    folder: Option<PathBuf>,
    selection: &Selection,
) -> Result<Vec<Target>, Exit> {
    let shown = file.display();
    // A program without the harness would run here, outside of the simulation.
    if !has_harness(file)? {
        output::tell(format_args!(
            "{target} is left out: it has no test harness (harness = false). It is run by its name: blitz sim run -- {shown}\n"
        ));
        return Ok(vec![]);
    }
    let names = |more: &[&str]| names_of(file, folder.as_deref(), selection, more);
    let all = match names(&[])? {
        Ok(all) => all,
        Err(problem) => {
            output::tell(format_args!(
                "{target} is left out: {shown} does not list its tests: {problem}\n"
            ));
            return Ok(vec![]);
        }
    };
    let ignored: HashSet<String> = match selection.ignored {
        Some(_) => HashSet::new(),
        None => names(&["--ignored"])?
            .unwrap_or_default()
            .into_iter()
            .collect(),
    };
    let targets = all.into_iter().map(|name| {
        let arguments = ["--exact", &name, "--test-threads=1", "--nocapture"];
        let mut program = Program::new(file, arguments.into_iter().chain(selection.ignored));
        program.folder = folder.clone();
        if let Some(folder) = &folder {
            program
                .variables
                .push(("CARGO_MANIFEST_DIR".into(), folder.into()));
        }
        let test = if ignored.contains(&name) {
            Test::IsIgnored
        } else {
            Test::Runs
        };
        Target {
            name: format!("{target}::{name}"),
            program,
            test: Some(test),
        }
    });
    Ok(targets.collect())
}

/// Returns the names of the tests that are selected, or what is wrong with the list.
fn names_of(
    file: &Path,
    folder: Option<&Path>,
    selection: &Selection,
    more: &[&str],
) -> Result<Result<Vec<String>, String>, Exit> {
    let listed = Command::new(file)
        .args(&selection.of_list)
        .args(more)
        .args(["--list", "--format", "terse"])
        .stdin(Stdio::null())
        .current_dir(folder.unwrap_or(Path::new(".")))
        .output()
        .map_err(|error| Exit::Failed(format!("{}: {error}", file.display())))?;
    if !listed.status.success() {
        let text = String::from_utf8_lossy(&listed.stderr);
        let said = text.lines().find(|line| !line.trim().is_empty());
        return Ok(Err(said.unwrap_or("it fails").to_owned()));
    }
    let text = String::from_utf8_lossy(&listed.stdout);
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(Ok(names.map(str::to_owned).collect()))
}

/// Returns `true` if a program has the harness of Rust's tests, or another one with the same options. Then their names are in
/// the file, unless the harness is in a library of its own.
fn has_harness(file: &Path) -> Result<bool, Exit> {
    const MARKS: [&str; 2] = ["include-ignored", "libtest-"];
    let bytes = fs::read(file).map_err(|error| Exit::unreadable(file, error))?;
    let has = |mark: &str| {
        bytes
            .windows(mark.len())
            .any(|part| part == mark.as_bytes())
    };
    Ok(MARKS.into_iter().any(has))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_test_is_the_first_word_that_no_option_takes() {
        for (line, name) in [
            ("", None),
            ("two_orders", Some("two_orders")),
            ("-p app --lib two_orders", Some("two_orders")),
            (
                "--features sim,net --test it two_orders --release",
                Some("two_orders"),
            ),
            ("--features=sim --workspace", None),
            ("-p app", None),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(
                test_name(&words),
                name.map(OsString::from).as_ref(),
                "{line}"
            );
        }
    }
}
