//! The options with which `cargo test` compiles the tests of a package as they are compiled now, and runs this program alone.
//!
//! A macro runs in the compiler, whose arguments have the features of the package. Those of a package that it depends on are
//! not among them, but its `Cargo.toml` may switch them on. The arguments also have the root file of the program: a file below
//! `tests` is the test of that name, as Cargo finds it. Where `Cargo.toml` gives it another name, there is no option.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;

use crate::crate_path::{self, own_manifest};
use crate::manifest;

/// Returns these options for a test that needs a feature of this library: empty, or with a space at the end.
pub(crate) fn of_cargo(feature: &str) -> String {
    let Some((text, root)) = own_manifest() else {
        return String::new();
    };
    let enabled = features_of(env::args());
    let needed = crate_path::dependency().filter(|name| {
        let has = |feature: &str| manifest::has_feature(&text, name, feature, &root);
        // The one for threads includes the other one.
        !has(feature) && !has("sim-threads")
    });
    let needed = needed.map(|name| format!("{name}/{feature}"));
    let target = target(env::args(), env::var("CARGO_BIN_NAME").ok());
    options(&text, &enabled, needed) + &target.unwrap_or_default()
}

/// Returns the option that selects the program that these arguments of the compiler make, with a space at the end. `program`: its
/// name, if it is one of `src` or `examples`.
fn target(arguments: impl Iterator<Item = String>, program: Option<String>) -> Option<String> {
    let arguments: Vec<String> = arguments.collect();
    let name = arguments.windows(2).find(|pair| pair[0] == "--crate-name");
    let name = &name?[1];
    let root = arguments
        .iter()
        .find(|argument| argument.ends_with(".rs"))?;
    let root = Path::new(root);
    let stem = |path: &Path| Some(path.file_stem()?.to_str()?.to_owned());
    if let Some(program) = program {
        let is_example = folders(root).any(|folder| folder == "examples");
        let kind = if is_example { "example" } else { "bin" };
        return Some(format!("--{kind} {program} "));
    }
    // `tests/NAME.rs`, or `tests/NAME/main.rs`.
    let found = match folders(root).next()? {
        "tests" => stem(root),
        _ if root.ends_with("main.rs") => {
            let folder = root.parent()?;
            let is_test = folders(folder).next() == Some("tests");
            stem(folder).filter(|_| is_test)
        }
        _ => None,
    };
    match found {
        Some(test) if test.replace('-', "_") == *name => Some(format!("--test {test} ")),
        None if root.ends_with("src/lib.rs") => Some("--lib ".to_owned()),
        _ => None,
    }
}

/// Returns the names of the folders in which a file is, the innermost first.
fn folders(file: &Path) -> impl Iterator<Item = &str> {
    file.ancestors()
        .skip(1)
        .filter_map(|folder| folder.file_name()?.to_str())
}

/// Returns the features among the compiler's arguments.
fn features_of(arguments: impl Iterator<Item = String>) -> BTreeSet<String> {
    let features = arguments.filter_map(|argument| {
        let quoted = argument.strip_prefix("feature=\"")?.strip_suffix('"')?;
        Some(quoted.to_owned())
    });
    features.collect()
}

fn options(manifest: &str, enabled: &BTreeSet<String>, needed: Option<String>) -> String {
    let known = manifest::features(manifest);
    let mut text = String::new();
    // A compiler outside of Cargo has none of these arguments.
    if !enabled.is_empty() && !enabled.contains("default") && known.contains_key("default") {
        text.push_str("--no-default-features ");
    }
    let implied: BTreeSet<&String> = known
        .iter()
        .filter(|(feature, _)| enabled.contains(*feature))
        .flat_map(|(_, implied)| implied)
        .collect();
    let own = enabled
        .iter()
        .filter(|feature| *feature != "default" && !implied.contains(feature));
    let needed = needed.filter(|needed| !implied.contains(needed));
    let all: Vec<String> = own.cloned().chain(needed).collect();
    if !all.is_empty() {
        text.push_str("--features ");
        text.push_str(&all.join(","));
        text.push(' ');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"app\"\n\n[features]\ndefault = [\"log\"]\nlog = []\n\
        all = [\n  \"log\",\n  \"net\", # and more\n]\nnet = []\nsim = [\"tokio/sim\"]\n\n[dependencies]\ntokio = \"1\"\n";

    fn of(enabled: &[&str], needed: Option<&str>) -> String {
        let enabled = enabled.iter().map(|feature| (*feature).to_owned());
        options(MANIFEST, &enabled.collect(), needed.map(str::to_owned))
    }

    #[test]
    fn options_are_those_that_the_test_needs() {
        let tokio = Some("tokio/sim");
        assert_eq!(of(&["default", "log"], None), "");
        assert_eq!(of(&["default", "log"], tokio), "--features tokio/sim ");
        assert_eq!(of(&[], tokio), "--features tokio/sim ");
        assert_eq!(
            of(&["default", "log", "net"], tokio),
            "--features net,tokio/sim "
        );
        // One that another one switches on is left out.
        assert_eq!(
            of(&["all", "default", "log", "net"], None),
            "--features all "
        );
        assert_eq!(of(&["default", "log", "sim"], tokio), "--features sim ");
        assert_eq!(of(&["net"], None), "--no-default-features --features net ");
    }

    #[test]
    fn the_program_is_that_of_the_root_file() {
        let of = |name: &str, root: &str, program: Option<&str>| {
            let arguments = [
                "rustc",
                "--crate-name",
                name,
                "--edition=2024",
                root,
                "--test",
            ];
            target(
                arguments.map(str::to_owned).into_iter(),
                program.map(str::to_owned),
            )
        };
        let some = |option: &str| Some(option.to_owned());
        assert_eq!(of("app", "src/lib.rs", None), some("--lib "));
        assert_eq!(of("app", "crates/app/src/lib.rs", None), some("--lib "));
        assert_eq!(of("a_b", "tests/a-b.rs", None), some("--test a-b "));
        assert_eq!(
            of("it", "crates/app/tests/it/main.rs", None),
            some("--test it ")
        );
        assert_eq!(of("app", "src/main.rs", Some("app")), some("--bin app "));
        assert_eq!(of("two", "src/bin/two.rs", Some("two")), some("--bin two "));
        assert_eq!(
            of("one", "examples/one.rs", Some("one")),
            some("--example one ")
        );
        // `Cargo.toml` gives these a name.
        assert_eq!(of("other", "tests/it/main.rs", None), None);
        assert_eq!(of("other", "other/all.rs", None), None);
    }

    #[test]
    fn features_are_arguments_of_the_compiler() {
        let arguments = [
            "rustc",
            "--cfg",
            "feature=\"net\"",
            "--cfg",
            "docsrs",
            "--test",
        ];
        let found = features_of(arguments.map(str::to_owned).into_iter());
        assert_eq!(found, BTreeSet::from(["net".to_owned()]));
    }
}
