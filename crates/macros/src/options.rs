//! The options with which `cargo test` compiles the tests of a package as they are compiled now.
//!
//! A macro runs in the compiler, whose arguments have the features of the package. Those of a package that it depends on are
//! not among them, but its `Cargo.toml` may switch them on.

use std::collections::BTreeSet;
use std::env;

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
    options(&text, &enabled, needed)
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
