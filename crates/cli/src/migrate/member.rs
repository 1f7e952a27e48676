//! A package of the program that depends on Tokio, and the features that it lacks.

use std::path::PathBuf;

use serde_json::Value;

const TOKIO: &str = "tokio";
/// A program may have it beside Tokio, as for `blitz_io::trace::request`.
const OURS: &str = "blitz-io";
/// The features: those of blitz-io's tokio have the same names.
pub const FEATURES: [&str; 2] = ["inspect", "sim"];

/// A package of the program that depends on Tokio 1 of the registry.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    pub manifest: PathBuf,
    /// The name that Tokio has in the package.
    pub tokio: String,
    /// What its features do not enable yet: a feature, and the value that enables the one of a dependency.
    pub missing: Vec<(&'static str, String)>,
    /// The programs of the package: the first is that of `cargo run`, or has the package's name.
    pub programs: Vec<String>,
}

impl Member {
    /// Returns the packages that depend on Tokio, from the list of `cargo metadata`.
    pub fn all(packages: &Value) -> Vec<Member> {
        let packages = packages.as_array().into_iter().flatten();
        packages.filter_map(Member::of).collect()
    }

    fn of(package: &Value) -> Option<Member> {
        let dependencies = package["dependencies"].as_array()?;
        let tokio = dependencies.iter().filter(is_tokio);
        let (name, tokio) = reached(tokio, TOKIO)?;
        let ours = dependencies.iter().filter(|it| it["name"] == OURS);
        let ours = reached(ours, OURS).map(|(_, ours)| ours);
        let features = package["features"].as_object();
        let is_missing = |value: &String| {
            let wanted = [value.clone(), value.replacen("?/", "/", 1)];
            let own = features.into_iter().flat_map(|own| own.values());
            let mut values = own.filter_map(Value::as_array).flatten();
            !values.any(|it| wanted.iter().any(|wanted| it == wanted))
        };
        let [inspect, sim] = FEATURES;
        let wanted = [
            Some((inspect, format!("{tokio}/{inspect}"))),
            ours.map(|ours| (inspect, format!("{ours}/{inspect}"))),
            Some((sim, format!("{tokio}/{sim}"))),
        ];
        let missing = wanted.into_iter().flatten();
        let missing = missing.filter(|(_, value)| is_missing(value));
        let targets = package["targets"].as_array().into_iter().flatten();
        let programs = targets.filter(|it| it["kind"][0] == "bin");
        let programs = programs.filter_map(|it| it["name"].as_str());
        let mut programs: Vec<String> = programs.map(str::to_owned).collect();
        let given = |key: &str| package[key].as_str();
        let rank = |it: &String| {
            (
                given("default_run") != Some(it.as_str()),
                given("name") != Some(it.as_str()),
            )
        };
        programs.sort_by_key(rank);
        Some(Member {
            manifest: package["manifest_path"].as_str()?.into(),
            tokio: name,
            missing: missing.collect(),
            programs,
        })
    }

    /// Returns `true` if features are to be written.
    pub fn lacks_features(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Returns `true` if the package has a feature that enables `inspect`.
    pub fn has_inspect(&self) -> bool {
        self.missing
            .iter()
            .all(|(feature, _)| *feature != FEATURES[0])
    }
}

/// Returns the name of a dependency, and how features name it. That of the program rather than that of its tests, and one that is
/// always there rather than an optional one.
fn reached<'a>(all: impl Iterator<Item = &'a Value>, name: &str) -> Option<(String, String)> {
    let found = all.min_by_key(|it| (!it["kind"].is_null(), it["optional"] == true))?;
    let name = found["rename"].as_str().unwrap_or(name);
    let weak = if found["optional"] == true { "?" } else { "" };
    Some((name.to_owned(), format!("{name}{weak}")))
}

/// Returns `true` for a dependency that blitz-io's tokio takes the place of, and that the program's features can reach.
fn is_tokio(dependency: &&Value) -> bool {
    let source = dependency["source"].as_str();
    let requirement = dependency["req"].as_str().unwrap_or("*");
    let mut versions = requirement.split(',');
    let mut is_one = versions.any(|version| {
        let version = version.trim_start_matches(|sign: char| !sign.is_ascii_digit());
        version.split('.').next() == Some("1")
    });
    is_one |= requirement == "*";
    dependency["name"] == TOKIO
        && dependency["kind"] != "build"
        && is_one
        && source.is_some_and(|source| source.starts_with("registry+"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

    fn member(dependencies: &Value, features: &Value) -> Option<Member> {
        let targets = json!([{"kind": ["lib"], "name": "app"}, {"kind": ["bin"], "name": "appd"}]);
        Member::of(&json!({
            "manifest_path": "/app/Cargo.toml", "dependencies": dependencies, "features": features,
            "targets": targets,
        }))
    }

    fn tokio(rename: Option<&str>, optional: bool, kind: Option<&str>) -> Value {
        json!({
            "name": "tokio", "rename": rename, "optional": optional, "kind": kind, "req": "^1.2",
            "source": REGISTRY,
        })
    }

    #[test]
    fn the_values_name_the_dependency_as_the_package_does() {
        let none = json!({});
        let plain = tokio(None, false, None);
        let both = [("inspect", "tokio/inspect"), ("sim", "tokio/sim")];
        for (dependencies, features, missing) in [
            (json!([plain]), &none, &both[..]),
            (
                json!([tokio(Some("rt"), false, None)]),
                &none,
                &[("inspect", "rt/inspect"), ("sim", "rt/sim")],
            ),
            (
                json!([tokio(None, true, None)]),
                &none,
                &[("inspect", "tokio?/inspect"), ("sim", "tokio?/sim")],
            ),
            (
                json!([
                    tokio(Some("t"), false, Some("dev")),
                    tokio(None, true, None),
                    plain
                ]),
                &none,
                &both,
            ),
            (
                json!([plain]),
                &json!({"inspect": ["blitz-io/inspect"], "all": ["tokio/sim"]}),
                &both[..1],
            ),
            (
                json!([plain, {"name": "blitz-io", "kind": null}]),
                &json!({"inspect": ["tokio/inspect"], "sim": ["tokio/sim"]}),
                &[("inspect", "blitz-io/inspect")],
            ),
            (
                json!([plain]),
                &json!({"inspect": ["tokio/inspect"], "sim": ["tokio/sim"]}),
                &[],
            ),
        ] {
            let member = member(&dependencies, features).expect("it depends on Tokio");
            let found = member.missing.iter();
            let found: Vec<_> = found.map(|(name, value)| (*name, &value[..])).collect();
            assert_eq!(found, missing);
            assert_eq!(member.programs, ["appd"]);
        }
    }

    /// A load generator may come before the service in the alphabet.
    #[test]
    fn the_first_program_is_the_default_or_that_of_the_package() {
        for (default, first) in [(None, "orders"), (Some("worker"), "worker")] {
            let targets = ["load", "orders", "worker"];
            let targets = targets.map(|name| json!({"kind": ["bin"], "name": name}));
            let package = json!({
                "name": "orders", "manifest_path": "/app/Cargo.toml", "default_run": default,
                "dependencies": [tokio(None, false, None)], "features": {}, "targets": targets,
            });
            assert_eq!(Member::of(&package).unwrap().programs[0], first);
        }
    }

    #[test]
    fn only_a_tokio_that_is_replaced_counts() {
        let with = |key: &str, value: &str| {
            let mut tokio = tokio(None, false, None);
            tokio[key] = value.into();
            member(&json!([tokio]), &json!({})).is_some()
        };
        for requirement in ["1", "^1.28", "=1.40.0", ">=1.20, <2", "*", "~1"] {
            assert!(with("req", requirement), "{requirement}");
        }
        for requirement in ["^0.2", "0.1", "10"] {
            assert!(!with("req", requirement), "{requirement}");
        }
        assert!(!with("kind", "build"));
        assert!(!with("name", "serde"));
        assert!(!with("source", "git+https://example.org/tokio"));
    }
}
