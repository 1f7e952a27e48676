//! The feature `inspect`, without which a program neither answers nor records.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use blitz_io_inspect::CAN_ANSWER;

use crate::exit::Exit;
use crate::migrate::{self, Feature};
use crate::shell;

/// How to build with the feature, where the command for that is not known.
pub const HOW: &str = "build it with --features blitz-io/inspect, or, on Tokio, with --features inspect, which `blitz migrate` writes.";

/// Returns how a program without a runtime and without blitz-io answers.
#[cfg(target_os = "linux")]
pub fn without_runtime() -> String {
    // From where the packages come that `blitz migrate` has replaced, if this is the program's folder.
    let add = migrate::add_command(".".as_ref(), &migrate::TO_ANSWER);
    let add = add.unwrap_or_else(|| {
        let options = migrate::TO_ANSWER.join(" ");
        format!(
            "cargo add blitz-io {options} --git {}",
            env!("CARGO_PKG_REPOSITORY")
        )
    });
    format!(
        "A program with neither Tokio nor blitz-io, such as one on parking_lot and rayon, needs both after `blitz \
         migrate`:\n\n  {add}\n\nand this as the first line of `main`:\n\n  {};",
        migrate::SERVE
    )
}

/// Returns `true` if the program has the text that is in each program that can answer. `None` if it cannot be read.
pub fn is_in(program: &Path) -> Option<bool> {
    let mark = CAN_ANSWER.as_bytes();
    let program = fs::read(program).ok()?;
    Some(program.windows(mark.len()).any(|part| part == mark))
}

/// Returns the exit for a program that has succeeded and written no record, with commands to try. `begin`: what happened.
/// `command`: `lint` or `trace`. `words`: the program and its arguments.
pub fn missing(begin: &str, command: &str, words: &[OsString]) -> Exit {
    let idle = if shell::is_cargo_test(words) {
        "runs no test, or takes no lock and polls no task"
    } else {
        "takes no lock and polls no task"
    };
    let has_feature = match shell::cargo_command(words) {
        Some(_) => words.iter().any(|word| is_named(&word.to_string_lossy())),
        None => words.first().and_then(|program| is_in(program.as_ref())) == Some(true),
    };
    if has_feature {
        return Exit::Failed(format!(
            "{begin}: it {idle}, or a signal has ended it; see blitz {command} --help"
        ));
    }
    let exit = Exit::Failed(format!(
        "{begin}: it is built without the feature `inspect`, or {idle}"
    ));
    match migrate::inspect_feature(".".as_ref()) {
        Some(feature) => {
            exit.with_advice(format_args!("Try:\n{}", commands(command, words, &feature)))
        }
        None => exit.with_advice(format_args!(
            "To try again, {HOW} `blitz {command} --help` has the rest."
        )),
    }
}

/// Returns `true` if the command line names the feature, and the Tokio of the current folder has none.
pub fn is_missing_tokio(words: &[OsString]) -> bool {
    let mut names = words.iter();
    let is_asked = names.any(|word| is_named(&word.to_string_lossy()));
    is_asked && migrate::inspect_feature(".".as_ref()).is_some_and(|feature| feature.must_migrate)
}

/// Returns `true` if a word of Cargo's command line names the feature, as `--features=a,tokio/inspect` does.
fn is_named(word: &str) -> bool {
    let mut names = word.split(['=', ',', ' ']);
    names.any(|name| name == "inspect" || name.ends_with("/inspect"))
}

/// Returns the commands that build with the feature and repeat this one, a line each.
fn commands(command: &str, words: &[OsString], feature: &Feature) -> String {
    let mut lines = vec![];
    if feature.must_migrate {
        lines.push("blitz migrate".to_owned());
    }
    let options = ["--features".into(), feature.name.into()];
    let mut words = words.to_owned();
    if let Some(place) = shell::cargo_command(&words) {
        let place = (place + 1).min(words.len());
        words.splice(place..place, options);
    } else {
        let mut build = vec![OsString::from("cargo"), "build".into()];
        let folders = Path::new(&words[0]).components();
        if folders
            .into_iter()
            .any(|part| part.as_os_str() == "release")
        {
            build.push("--release".into());
        }
        build.extend(options);
        lines.push(shell::line(build));
    }
    lines.push(format!("blitz {command} -- {}", shell::line(words)));
    let lines = lines.iter().map(|line| format!("  {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_build_with_the_feature() {
        let of = |words: &str, must_migrate| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let name = "tokio/inspect";
            let feature = Feature { name, must_migrate };
            commands("lint", &words, &feature)
        };
        for (words, expected) in [
            (
                "cargo test -p app -- transfer",
                "  blitz lint -- cargo test --features tokio/inspect -p app -- transfer",
            ),
            ("cargo", "  blitz lint -- cargo --features tokio/inspect"),
            (
                "cargo +nightly run",
                "  blitz lint -- cargo +nightly run --features tokio/inspect",
            ),
            (
                "target/debug/x $1",
                "  cargo build --features tokio/inspect\n  blitz lint -- target/debug/x '$1'",
            ),
            (
                "target/release/x",
                "  cargo build --release --features tokio/inspect\n  blitz lint -- target/release/x",
            ),
        ] {
            assert_eq!(of(words, false), expected);
            assert_eq!(of(words, true), format!("  blitz migrate\n{expected}"));
        }
    }

    #[test]
    fn features_are_named_in_many_ways() {
        for word in [
            "inspect",
            "a,inspect",
            "--features=tokio/inspect",
            "-F=a b/inspect",
        ] {
            assert!(is_named(word), "{word}");
        }
        for word in ["inspector", "test", "tests/inspect.rs", "--features"] {
            assert!(!is_named(word), "{word}");
        }
    }
}
