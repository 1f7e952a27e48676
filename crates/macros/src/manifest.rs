//! The name that a `Cargo.toml` gives to a package that it depends on, and features.
//!
//! This reads the tables of dependencies and features, and nothing else: a whole parser of TOML would be ten packages
//! more below each program.

use std::collections::BTreeMap;

/// One entry of a table of dependencies.
#[derive(Debug, Default, PartialEq)]
struct Dependency {
    /// The name in the manifest.
    key: String,
    /// The value of `package`, if the entry has one.
    package: Option<String>,
    /// The entry has `workspace = true`.
    is_inherited: bool,
    /// All texts of the entry, its features among them.
    texts: Vec<String>,
}

impl Dependency {
    fn is_for(&self, package: &str) -> bool {
        self.package.as_deref().unwrap_or(&self.key) == package
    }
}

/// Returns the name by which `manifest` depends on `package`. `root` returns the manifest of the
/// workspace, where an inherited entry may name the package.
pub(crate) fn name_of(
    manifest: &str,
    package: &str,
    root: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let found = dependencies(manifest, false);
    if let Some(direct) = found.iter().find(|entry| entry.is_for(package)) {
        return Some(direct.key.clone());
    }
    if !found.iter().any(|entry| entry.is_inherited) {
        return None;
    }
    let shared = dependencies(&root()?, true);
    let inherited = found.into_iter().filter(|entry| entry.is_inherited);
    let mut names = inherited.map(|entry| entry.key);
    names.find(|name| {
        shared
            .iter()
            .any(|entry| entry.key == *name && entry.is_for(package))
    })
}

/// Returns `true` if `manifest` switches on the feature of the dependency `name`, or the entry of the workspace does that it
/// inherits. `root` returns the manifest of the workspace.
pub(crate) fn has_feature(
    manifest: &str,
    name: &str,
    feature: &str,
    root: impl FnOnce() -> Option<String>,
) -> bool {
    let has = |entries: &[Dependency]| {
        let mut named = entries.iter().filter(|entry| entry.key == name);
        named.any(|entry| entry.texts.iter().any(|text| text == feature))
    };
    let own = dependencies(manifest, false);
    let is_inherited = || {
        own.iter()
            .any(|entry| entry.key == name && entry.is_inherited)
    };
    has(&own) || is_inherited() && root().is_some_and(|root| has(&dependencies(&root, true)))
}

/// Returns the features of a manifest, each with those that it switches on.
pub(crate) fn features(manifest: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut last = None;
    let mut is_inside = false;
    for line in manifest.lines().map(without_comment) {
        if let Some(header) = header(line) {
            is_inside = header == "features";
            continue;
        }
        if !is_inside {
            continue;
        }
        let rest = match entry(line) {
            Some((key, rest)) => {
                last = Some(key.to_owned());
                rest
            }
            // Another line of the array above.
            None => line,
        };
        if let Some(key) = &last {
            found.entry(key.clone()).or_default().extend(texts(rest));
        }
    }
    found
}

/// Returns `true` if the manifest is the root of a workspace.
pub(crate) fn is_root(manifest: &str) -> bool {
    let mut headers = manifest.lines().filter_map(header);
    headers.any(|header| header == "workspace" || header.starts_with("workspace."))
}

/// Returns the dependencies of a manifest: those of the package, or those that a workspace offers.
fn dependencies(manifest: &str, of_workspace: bool) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut table = Table::Other;
    for line in manifest.lines().map(without_comment) {
        if let Some(header) = header(line) {
            table = Table::of(header, of_workspace);
            if let Table::One(key) = &table {
                found.push(Dependency {
                    key: key.clone(),
                    ..Dependency::default()
                });
            }
            continue;
        }
        let rest = match &table {
            Table::Other => continue,
            Table::One(_) => line,
            Table::All => match entry(line) {
                Some((key, rest)) => {
                    // `name.package = "…"` and `name.workspace = true` may share an entry.
                    if found.last().is_none_or(|last| last.key != key) {
                        found.push(Dependency {
                            key: key.to_owned(),
                            ..Dependency::default()
                        });
                    }
                    rest
                }
                // Another line of the value above.
                None => line,
            },
        };
        if let Some(last) = found.last_mut() {
            if let Some(value) = value_of(rest, "package") {
                last.package = Some(value.trim_matches(['"', '\'']).to_owned());
            }
            last.is_inherited |= value_of(rest, "workspace") == Some("true");
            last.texts.extend(texts(rest));
        }
    }
    found
}

/// The kind of the lines below a header.
enum Table {
    /// Each line is a dependency.
    All,
    /// The lines belong to the dependency of this name.
    One(String),
    Other,
}

impl Table {
    fn of(header: &str, of_workspace: bool) -> Self {
        let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
        if header.starts_with("workspace.") != of_workspace {
            return Self::Other;
        }
        // The condition of `target.'cfg(…)'` may contain periods; the rest does not.
        let (before, last) = header.rsplit_once('.').unwrap_or(("", header));
        if kinds.contains(&last) {
            return Self::All;
        }
        let table = before.rsplit_once('.').map_or(before, |(_, table)| table);
        if kinds.contains(&table) {
            Self::One(unquoted(last).to_owned())
        } else {
            Self::Other
        }
    }
}

/// Returns the name between the brackets of a header.
fn header(line: &str) -> Option<&str> {
    let inner = without_comment(line).trim().strip_prefix('[')?;
    let name = inner.strip_suffix(']')?;
    // `[[bin]]`, or the end of an array.
    (!name.is_empty() && !name.starts_with(['[', '"'])).then(|| name.trim())
}

/// Splits `name = …`, or `name.field = …` before the field.
fn entry(line: &str) -> Option<(&str, &str)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_\"'".contains(c);
    // A line with a space before it continues an array, as cargo and its formatters write it.
    let end = line.find(|c| !is_of_name(c))?;
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let is_entry = !key.is_empty() && rest.starts_with(['=', '.']);
    is_entry.then(|| (unquoted(key), &rest[1..]))
}

/// Returns the text of the value of `field`, in `field = value` anywhere in `text`.
fn value_of<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    let places = text.match_indices(field);
    places
        .filter_map(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + field.len()..]);
            let is_word = |c: char| c.is_ascii_alphanumeric() || "-_\"'".contains(c);
            let value = after.trim_start().strip_prefix('=')?.trim();
            let end = value.find([',', '}']).unwrap_or(value.len());
            (!before.ends_with(is_word)).then(|| value[..end].trim())
        })
        .next()
}

/// Returns the texts in quotes.
fn texts(line: &str) -> impl Iterator<Item = String> {
    // Every second part is between quotes.
    let parts = line.split(['"', '\'']).skip(1).step_by(2);
    parts.map(str::to_owned)
}

fn unquoted(name: &str) -> &str {
    name.trim_matches(['"', '\''])
}

/// Returns the line up to a comment.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(manifest: &str) -> Option<String> {
        name_of(manifest, "blitz-io", || None)
    }

    #[test]
    fn every_form_of_a_dependency_is_found() {
        for manifest in [
            "[dependencies]\nblitz-io = \"0.2\"",
            "[dependencies] # ours\n\"blitz-io\" = { version = \"0.2\" }",
            "[dependencies]\nlibc = \"1\"\nblitz-io.workspace = true",
            "[dependencies.blitz-io]\nversion = \"0.2\"",
            "[target.'cfg(not(a.b))'.dev-dependencies]\nblitz-io = { path = \"..\" }",
            "[target.'cfg(unix)'.dependencies.blitz-io]\npath = \"..\"",
            "[build-dependencies]\nblitz-io = { path = \"..\", features = [\n  \"rt\",\n] }",
        ] {
            assert_eq!(alone(manifest).as_deref(), Some("blitz-io"), "{manifest}");
        }
    }

    #[test]
    fn a_renamed_package_has_its_new_name() {
        for manifest in [
            "[dependencies]\nother = { path = \"..\", package = \"blitz-io\" }",
            "[dependencies]\nother = {package='blitz-io'}",
            "[dependencies]\nother.package = \"blitz-io\"\nother.path = \"..\"",
            "[dependencies.other]\npackage = \"blitz-io\"",
            "[dependencies]\nother = { features = [\n  \"rt\",\n], package = \"blitz-io\" }",
            "[dependencies]\na = \"1\"\n\n[dev-dependencies]\nother = { package = \"blitz-io\" }",
        ] {
            assert_eq!(alone(manifest).as_deref(), Some("other"), "{manifest}");
        }
    }

    #[test]
    fn what_only_looks_like_the_dependency_is_not_found() {
        for manifest in [
            "[package]\nname = \"blitz-io\"",
            "[features]\nblitz-io = []",
            "[dependencies]\n# blitz-io = \"0.2\"",
            "[dependencies]\nlibc = \"1\" # package = \"blitz-io\"",
            "[dependencies]\nblitz-io-sync = \"0.2\"",
            "[dependencies]\nblitz-io = { package = \"another\" }",
            "[dependencies]\nlibc = { features = [\"package\"], version = \"blitz-io\" }",
            "[workspace.dependencies]\nblitz-io = \"0.2\"",
            "",
        ] {
            assert_eq!(alone(manifest), None, "{manifest}");
        }
    }

    #[test]
    fn features_of_a_dependency_are_found_where_they_are_switched_on() {
        let has =
            |manifest, root: &str| has_feature(manifest, "tokio", "sim", || Some(root.to_owned()));
        for manifest in [
            "[dev-dependencies]\ntokio = { version = \"1\", features = [\"full\", \"sim\"] }",
            "[dependencies.tokio]\nversion = \"1\"\nfeatures = [\n  'sim',\n]",
            "[dependencies]\ntokio.features = [\"sim\"]",
            "[dependencies]\ntokio = \"1\"\n[dev-dependencies]\ntokio = { features = [\"sim\"] }",
        ] {
            assert!(has(manifest, ""), "{manifest}");
        }
        let inherits = "[dependencies]\ntokio.workspace = true";
        let root = "[workspace.dependencies]\ntokio = { features = [\"sim\"] }";
        assert!(has(inherits, root) && !has(inherits, ""));
        assert!(!has("[dependencies]\ntokio = \"1\"", root));
        assert!(!has(
            "[dependencies]\nother = { features = [\"sim\"] }\ntokio = \"1\"",
            root
        ));
    }

    #[test]
    fn an_inherited_dependency_is_named_by_the_workspace() {
        let root = "[workspace]\nmembers = []\n[workspace.dependencies]\n\
            other = { package = \"blitz-io\", path = \"..\" }\nunused = { package = \"tokio\" }";
        let manifest = "[dependencies]\nlibc.workspace = true\nother = { workspace = true }";
        let found = |package| name_of(manifest, package, || Some(root.to_owned()));
        assert_eq!(found("blitz-io").as_deref(), Some("other"));
        assert_eq!(found("tokio"), None);
        assert_eq!(
            name_of(
                "[dependencies]\nother = \"1\"",
                "blitz-io",
                || unreachable!()
            ),
            None
        );
        assert!(is_root(root) && is_root("[workspace.package]") && !is_root(manifest));
    }
}
