//! The program's own features `inspect` and `sim`, which enable those of blitz-io's tokio.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::cargo::Project;

const TOKIO: &str = "tokio";
/// The features: those of blitz-io's tokio have the same names.
const FEATURES: [&str; 2] = ["inspect", "sim"];

/// A package of the program that depends on Tokio.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    manifest: PathBuf,
    /// The lines below `[features]` that it needs, each with what the feature enables already.
    missing: Vec<String>,
}

impl Member {
    /// Returns the packages that depend on Tokio, from the list of `cargo metadata`.
    pub fn all(packages: &Value) -> Vec<Member> {
        let packages = packages.as_array().into_iter().flatten();
        packages.filter_map(Member::of).collect()
    }

    fn of(package: &Value) -> Option<Member> {
        let dependencies = package["dependencies"].as_array()?;
        let is_tokio = |it: &&Value| it["name"] == TOKIO && it["kind"] != "build";
        // That of the program rather than that of its tests.
        let tokio = dependencies.iter().filter(is_tokio);
        let tokio = tokio.min_by_key(|it| !it["kind"].is_null())?;
        let name = tokio["rename"].as_str().unwrap_or(TOKIO);
        let weak = if tokio["optional"] == true { "?" } else { "" };
        let features = &package["features"];
        let enabled = |feature: &str| {
            let enabled = features[feature].as_array().into_iter().flatten();
            enabled.filter_map(Value::as_str).map(str::to_owned)
        };
        let is_enabled = |feature: &str| {
            let mut own = features.as_object().into_iter().flat_map(|own| own.keys());
            let wanted = [format!("{name}/{feature}"), format!("{name}?/{feature}")];
            own.any(|own| enabled(own).any(|it| wanted.contains(&it)))
        };
        let line = |feature: &str| {
            let all = enabled(feature).chain([format!("{name}{weak}/{feature}")]);
            let all: Vec<String> = all.map(|it| format!("\"{it}\"")).collect();
            format!("{feature} = [{}]", all.join(", "))
        };
        let missing = FEATURES.into_iter().filter(|it| !is_enabled(it)).map(line);
        Some(Member {
            manifest: package["manifest_path"].as_str()?.into(),
            missing: missing.collect(),
        })
    }
}

/// Says how the program gets the features.
pub fn advice(project: &Project) -> String {
    let mut text = "`--features inspect` builds the program for `blitz why`, `trace`, `lint` and `top`, and `--features sim` its \
                    tests with `#[tokio::sim]`."
        .to_owned();
    let members = project.members.iter();
    for member in members.filter(|member| !member.missing.is_empty()) {
        let manifest = member.manifest.strip_prefix(&project.folder);
        let manifest = manifest.unwrap_or(&member.manifest);
        _ = write!(text, "{}", below_features(manifest, &member.missing));
    }
    text
}

fn below_features(manifest: &Path, lines: &[String]) -> String {
    let manifest = manifest.display();
    format!(
        " Let {manifest} have:\n\n  [features]\n  {}\n",
        lines.join("\n  ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn missing(dependencies: &Value, features: &Value) -> Option<Vec<String>> {
        let package = json!({
            "manifest_path": "/app/Cargo.toml", "dependencies": dependencies, "features": features,
        });
        Some(Member::of(&package)?.missing)
    }

    fn tokio(rename: Option<&str>, optional: bool, kind: Option<&str>) -> Value {
        json!({"name": "tokio", "rename": rename, "optional": optional, "kind": kind})
    }

    #[test]
    fn the_lines_name_the_dependency_as_the_package_does_and_keep_what_is_there() {
        let none = json!({});
        let plain = tokio(None, false, None);
        let both = ["inspect = [\"tokio/inspect\"]", "sim = [\"tokio/sim\"]"];
        for (dependencies, features, lines) in [
            (json!([plain]), &none, &both[..]),
            (
                json!([tokio(Some("rt"), false, None)]),
                &none,
                &["inspect = [\"rt/inspect\"]", "sim = [\"rt/sim\"]"],
            ),
            (
                json!([tokio(None, true, None)]),
                &none,
                &["inspect = [\"tokio?/inspect\"]", "sim = [\"tokio?/sim\"]"],
            ),
            (
                json!([tokio(Some("t"), false, Some("dev")), plain]),
                &none,
                &both[..],
            ),
            (
                json!([plain]),
                &json!({"inspect": ["blitz-io/inspect"], "all": ["tokio/sim"]}),
                &["inspect = [\"blitz-io/inspect\", \"tokio/inspect\"]"],
            ),
            (
                json!([plain]),
                &json!({"inspect": ["tokio/inspect"], "sim": ["tokio/sim"]}),
                &[],
            ),
        ] {
            let found = missing(&dependencies, features);
            assert_eq!(
                found.as_deref(),
                Some(&lines.iter().map(ToString::to_string).collect::<Vec<_>>()[..])
            );
        }
        assert_eq!(
            missing(&json!([tokio(None, false, Some("build"))]), &none),
            None
        );
        assert_eq!(
            missing(&json!([{"name": "serde", "kind": null}]), &none),
            None
        );
    }
}
