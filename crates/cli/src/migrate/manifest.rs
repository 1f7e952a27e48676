//! The lines of `Cargo.toml` that replace a package.

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::array::{add_text, remove_texts};
use super::member::FEATURES;
use super::replacement::Replacement;
use crate::exit::Exit;
use blitz_io_pipeline::atomic_output::{AtomicOutput, Target};

/// The source of the packages, unless the arguments name another one.
pub const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// The tag of the release that this program is of; empty if it was built from a checkout.
const RELEASE_TAG: &str = env!("BLITZ_RELEASE_TAG");

/// The commit of this program, if `cargo install --git` built it; empty otherwise.
const FETCHED_REVISION: &str = env!("BLITZ_FETCHED_REVISION");

/// The two names that Cargo has for the public registry, in `[patch]`. The first is written.
const REGISTRY: [&str; 2] = ["crates-io", "https://github.com/rust-lang/crates.io-index"];

/// The source of the packages.
#[derive(Debug)]
pub enum Source {
    /// A checkout of blitz-io.
    Path(PathBuf),
    /// A git repository; and `rev`, `tag` or `branch` with its name.
    Git {
        url: String,
        reference: Option<(&'static str, String)>,
    },
    /// A registry, by its name in Cargo's configuration.
    Registry(String),
}

impl Default for Source {
    fn default() -> Source {
        Source::of_build(RELEASE_TAG, FETCHED_REVISION)
    }
}

impl Source {
    /// Returns the source of the packages for a program `blitz` of this release, or of this commit of the repository; each
    /// is empty if it is of none. It takes the packages of its own tag or commit, so that later commits change nothing in a
    /// program.
    fn of_build(tag: &str, revision: &str) -> Source {
        let references = [("tag", tag), ("rev", revision)];
        let reference = references.into_iter().find(|(_, name)| !name.is_empty());
        Source::Git {
            url: REPOSITORY.to_owned(),
            reference: reference.map(|(kind, name)| (kind, name.to_owned())),
        }
    }

    /// Returns what stands after `tokio =`.
    pub fn line(&self, known: &Replacement) -> InlineTable {
        let mut line = InlineTable::new();
        let mut put = |key: &str, value: &str| {
            line.insert(key, value.into());
        };
        match self {
            Source::Path(folder) => {
                let folder = folder.join("drop-in").join(known.name);
                let folder = folder.to_string_lossy();
                // Cargo takes forward slashes on Windows too, and they need no escaping.
                put("path", &folder.replace(std::path::MAIN_SEPARATOR, "/"));
            }
            Source::Git { url, reference } => {
                put("git", url);
                if let Some((kind, name)) = reference {
                    put(kind, name);
                }
            }
            Source::Registry(name) => {
                put("registry", name);
                put("version", known.versions);
            }
        }
        line
    }
}

/// A line that replaces a package.
pub struct Patch {
    /// The text after the name.
    pub text: String,
    /// The package is one of `drop-in/`, as far as the line shows it.
    pub is_ours: bool,
}

/// The features of the replacement that were removed from those that a user wrote.
#[derive(Default)]
pub struct LeftOut {
    /// The removed values, such as `tokio/inspect`, each once.
    pub enabled: Vec<String>,
    /// The program's features that now enable nothing.
    pub emptied: Vec<String>,
}

pub struct Manifest {
    path: PathBuf,
    /// The file as it was read.
    text: String,
    document: DocumentMut,
}

impl Manifest {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or is not TOML.
    pub fn read(path: &Path) -> Result<Manifest, Exit> {
        let text = fs::read_to_string(path).map_err(|error| Exit::unreadable(path, error))?;
        Manifest::parse(path, text)
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    ///
    /// Fails if it is not TOML.
    pub fn parse(path: &Path, text: String) -> Result<Manifest, Exit> {
        Ok(Manifest {
            path: path.to_owned(),
            document: text
                .parse()
                .map_err(|error: toml_edit::TomlError| Exit::unreadable(path, error))?,
            text,
        })
    }

    /// Returns `true` if the package has a feature of this name.
    pub fn has_feature(&self, name: &str) -> bool {
        let features = self.document.get("features");
        features.is_some_and(|features| features.get(name).is_some())
    }

    /// Lets the feature of this name enable `value`, and creates it if there is none.
    pub fn enable(&mut self, feature: &str, value: &str) {
        let root = self.document.as_table_mut();
        let features = root
            .entry("features")
            .or_insert_with(|| Item::Table(Table::new()));
        let Some(features) = features.as_table_like_mut() else {
            return;
        };
        match features.get_mut(feature).and_then(Item::as_array_mut) {
            Some(enabled) => add_text(enabled, value),
            None => {
                let enabled = Array::from_iter([value]);
                features.insert(feature, Item::Value(Value::Array(enabled)));
            }
        }
    }

    /// Returns the line that replaces the package of this name, if there is one.
    pub fn patch(&self, name: &str) -> Option<Patch> {
        let line = self.line(name)?;
        let word = |key| word(line, key);
        let end = format!("drop-in/{name}");
        let is_ours = match (word("path"), word("git"), word("registry")) {
            (Some(path), ..) => path
                .replace('\\', "/")
                .trim_end_matches('/')
                .ends_with(&end),
            (_, Some(url), _) => url.trim_end_matches('/').ends_with("/blitz-io"),
            // A registry other than the public one was chosen for this line.
            (.., registry) => registry.is_some(),
        };
        let text = match line.as_inline_table() {
            Some(line) => line.to_string(),
            None => "…".to_owned(),
        };
        let text = text.trim().to_owned();
        Some(Patch { text, is_ours })
    }

    /// Returns the options with which `cargo add` takes the package `blitz-io` from where the package of this name comes.
    /// `whole` makes the path of a line, from the folder of the manifest, one for any folder.
    pub fn options_to_add(
        &self,
        name: &str,
        whole: impl Fn(&Path) -> PathBuf,
    ) -> Option<Vec<String>> {
        let line = self
            .line(name)
            .filter(|_| self.patch(name).is_some_and(|patch| patch.is_ours))?;
        if let Some(path) = word(line, "path") {
            let root = whole(Path::new(path)).parent()?.parent()?.to_owned();
            let path = root.join("crates").join("blitz-io");
            return Some(vec!["--path".into(), path.to_str()?.into()]);
        }
        let keys = ["git", "rev", "tag", "branch", "registry"].into_iter();
        let options = keys.filter_map(|key| Some([format!("--{key}"), word(line, key)?.into()]));
        Some(options.flatten().collect())
    }

    /// Returns `true` if the line of this package names `source`. `whole` makes the path of a line, from the folder of
    /// the manifest, one that can be compared.
    pub fn is_from(
        &self,
        known: &Replacement,
        source: &Source,
        whole: impl Fn(&Path) -> PathBuf,
    ) -> bool {
        let Some(line) = self.line(known.name) else {
            return false;
        };
        let wanted = source.line(known);
        let same = |key: &str| {
            let (here, there) = (word(line, key), wanted.get(key).and_then(Value::as_str));
            if key == "path" {
                let whole = |path: &str| whole(Path::new(path));
                return here.map(whole) == there.map(whole);
            }
            here == there
        };
        let keys = ["path", "git", "rev", "tag", "branch", "registry"];
        keys.into_iter().all(same)
    }

    /// Returns what stands after the name of the package in `[patch]`, if anything does.
    fn line(&self, name: &str) -> Option<&Item> {
        let mut tables = REGISTRY.iter().filter_map(|registry| self.table(registry));
        tables.find_map(|table| table.get(name))
    }

    fn table(&self, registry: &str) -> Option<&dyn TableLike> {
        let patch = self.document.get("patch")?.as_table_like()?;
        patch.get(registry)?.as_table_like()
    }

    /// Replaces the package by the one from `source`.
    pub fn set(&mut self, known: &Replacement, source: &Source) {
        let line = source.line(known);
        for registry in REGISTRY {
            if let Some(table) = self.table_mut(registry)
                && let Some(item) = table.get_mut(known.name)
            {
                *item = Item::Value(Value::InlineTable(line));
                return;
            }
        }
        let root = self.document.as_table_mut();
        let patch = root.entry("patch").or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        if let Some(patch) = patch.as_table_like_mut() {
            let table = patch
                .entry(REGISTRY[0])
                .or_insert_with(|| Item::Table(Table::new()));
            if let Some(table) = table.as_table_like_mut() {
                table.insert(known.name, Item::Value(Value::InlineTable(line)));
            }
        }
    }

    /// Removes the line of this package, and the table if nothing else is in it.
    pub fn remove(&mut self, name: &str) {
        for registry in REGISTRY {
            let Some(table) = self.table_mut(registry) else {
                continue;
            };
            table.remove(name);
            if table.is_empty()
                && let Some(patch) = self
                    .document
                    .get_mut("patch")
                    .and_then(Item::as_table_like_mut)
            {
                patch.remove(registry);
                if patch.is_empty() {
                    self.document.remove("patch");
                }
            }
        }
    }

    /// Takes the features that only blitz-io's package has out of the program's own, such as `tokio/inspect`. `name`: what
    /// the package is called here. A feature that `enable` wrote goes, unless another one names it, or `had` says that it was
    /// there before. All others stay, with what else they enable, so that a build may still name them.
    pub fn leave_out_own_features(
        &mut self,
        known: &Replacement,
        name: &str,
        had: &dyn Fn(&str) -> bool,
        left_out: &mut LeftOut,
    ) {
        let own = known.own_features.iter();
        let own: Vec<String> = own
            .flat_map(|own| [format!("{name}/{own}"), format!("{name}?/{own}")])
            .collect();
        let features = self.document.get_mut("features");
        let Some(features) = features.and_then(Item::as_table_like_mut) else {
            return;
        };
        let named = named(features);
        let mut written = Vec::new();
        for (name, feature) in features.iter_mut() {
            let Some(enabled) = feature.as_array_mut() else {
                continue;
            };
            let removed = remove_texts(enabled, |text| own.iter().any(|own| own == text));
            let name = name.get();
            if !removed.is_empty() && enabled.is_empty() {
                let is_ours = FEATURES.contains(&name) && !had(name);
                if is_ours && !named.iter().any(|named| named == name) {
                    written.push(name.to_owned());
                    continue;
                }
                left_out.emptied.push(name.to_owned());
            }
            for one in removed {
                if !left_out.enabled.contains(&one) {
                    left_out.enabled.push(one);
                }
            }
        }
        for name in &written {
            features.remove(name);
        }
        if features.is_empty() && !written.is_empty() {
            self.document.remove("features");
        }
    }

    fn table_mut(&mut self, registry: &str) -> Option<&mut dyn TableLike> {
        let patch = self.document.get_mut("patch")?.as_table_like_mut()?;
        patch.get_mut(registry)?.as_table_like_mut()
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write(&self) -> Result<(), Exit> {
        write(&self.path, &self.changed())
    }

    /// Returns the changed text. The lines before and after the change keep their ends, which
    /// `toml_edit` would make `\n`, and those of the change end as the first line of the file does.
    pub fn changed(&self) -> String {
        let text = self.document.to_string();
        let old: Vec<&str> = self.text.split_inclusive('\n').collect();
        let new: Vec<&str> = text.split_inclusive('\n').collect();
        let same = |(old, new): &(&&str, &&str)| content(old) == content(new);
        let start = old.iter().zip(&new).take_while(same).count();
        let (old_rest, new_rest) = (&old[start..], &new[start..]);
        let end = old_rest.iter().rev().zip(new_rest.iter().rev());
        let end = end.take_while(same).count();
        let is_crlf = old.first().is_some_and(|line| line.ends_with("\r\n"));
        let line_end = if is_crlf { "\r\n" } else { "\n" };
        let mut changed = old[..start].concat();
        for line in &new_rest[..new_rest.len() - end] {
            // The last line of the file may have had no end.
            if !changed.is_empty() && !changed.ends_with('\n') {
                changed.push_str(line_end);
            }
            changed.push_str(content(line));
            changed.push_str(line_end);
        }
        changed + &old_rest[old_rest.len() - end..].concat()
    }
}

/// Writes a file so that it has its old text or the new one, however this process ends.
///
/// # Errors
///
/// Fails if the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Exit> {
    let write = || {
        let mut file = AtomicOutput::create(&Target::new(path)?)?;
        file.write_all(text.as_bytes())?;
        file.finish()
    };
    write().map_err(|error: io::Error| Exit::unwritable(path, error))
}

/// Returns all texts that features enable.
fn named(features: &dyn TableLike) -> Vec<String> {
    let enabled = features.iter().filter_map(|(_, item)| item.as_array());
    let texts = enabled.flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Returns a text of a line in `[patch]`.
fn word<'a>(line: &'a Item, key: &str) -> Option<&'a str> {
    line.as_table_like()?.get(key)?.as_str()
}

/// Returns the line without its end.
fn content(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

/// Returns the path without `.` and `..`, as Cargo reads those of a manifest: links are not followed.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            // That of the root is the root.
            Component::ParentDir => _ = normal.pop(),
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::replacement::REPLACEMENTS;

    const PLAIN: &str = "\
# A program.
[package]
name = \"program\" # of mine

[dependencies]
tokio = \"1\"
";

    fn manifest(text: &str) -> Manifest {
        Manifest {
            path: PathBuf::new(),
            text: text.to_owned(),
            document: text.parse().expect("it is TOML"),
        }
    }

    /// A build of a checkout names neither, as its commit may be in no other repository.
    #[test]
    fn a_line_is_added_and_removed() {
        for (tag, revision, reference) in [
            ("", "", ""),
            ("v0.2.0", "", ", tag = \"v0.2.0\""),
            ("", "4f9e07c3", ", rev = \"4f9e07c3\""),
            // `cargo install --git` of a package of a release.
            ("v0.2.0", "4f9e07c3", ", tag = \"v0.2.0\""),
        ] {
            let mut manifest = manifest(PLAIN);
            manifest.set(&REPLACEMENTS[0], &Source::of_build(tag, revision));
            let written = manifest.document.to_string();
            let line = format!("tokio = {{ git = \"{REPOSITORY}\"{reference} }}");
            assert_eq!(written, format!("{PLAIN}\n[patch.crates-io]\n{line}\n"));
            assert!(manifest.patch("tokio").expect("it is there").is_ours);
            manifest.remove("tokio");
            assert_eq!(manifest.document.to_string(), PLAIN);
        }
    }

    #[test]
    fn a_line_ends_as_those_of_its_file() {
        let plain = PLAIN.replace('\n', "\r\n");
        let mut first = manifest(&plain);
        first.set(&REPLACEMENTS[0], &Source::of_build("", ""));
        let written = first.changed();
        let line = format!("tokio = {{ git = \"{REPOSITORY}\" }}\r\n");
        assert_eq!(written, format!("{plain}\r\n[patch.crates-io]\r\n{line}"));
        let mut second = manifest(&written);
        second.remove("tokio");
        assert_eq!(second.changed(), plain);

        // Of mixed ends, each stays.
        for mixed in [
            "[package]\r\nname = \"x\"\n\n",
            "[package]\nname = \"x\"\r\n",
        ] {
            let mut first = manifest(mixed);
            first.set(&REPLACEMENTS[0], &Source::of_build("", ""));
            let written = first.changed();
            assert!(written.starts_with(mixed), "{written:?}");
            let mut second = manifest(&written);
            second.remove("tokio");
            assert_eq!(second.changed(), mixed);
        }

        let mut unended = manifest("[package]\r\nname = \"x\"");
        unended.set(&REPLACEMENTS[0], &Source::of_build("", ""));
        let expected = format!("[package]\r\nname = \"x\"\r\n\r\n[patch.crates-io]\r\n{line}");
        assert_eq!(unended.changed(), expected);
    }

    #[test]
    fn other_lines_stay() {
        let text = format!("{PLAIN}\n[patch.crates-io]\nserde = {{ path = \"serde\" }} # mine\n");
        let mut manifest = manifest(&text);
        manifest.set(&REPLACEMENTS[2], &Source::Registry("ours".to_owned()));
        let line = "parking_lot = { registry = \"ours\", version = \"0.12\" }\n";
        assert_eq!(manifest.document.to_string(), format!("{text}{line}"));
        manifest.remove("parking_lot");
        assert_eq!(manifest.document.to_string(), text);
    }

    #[test]
    fn a_line_is_changed_where_it_stands() {
        let registry = REGISTRY[1];
        let text = format!("[patch.\"{registry}\"]\ntokio = {{ path = \"/x/drop-in/tokio\" }}\n");
        let mut manifest = manifest(&text);
        let source = Source::Git {
            url: "file:///y".to_owned(),
            reference: Some(("tag", "v1".to_owned())),
        };
        manifest.set(&REPLACEMENTS[0], &source);
        let line = "tokio = { git = \"file:///y\", tag = \"v1\" }";
        let expected = format!("[patch.\"{registry}\"]\n{line}\n");
        assert_eq!(manifest.document.to_string(), expected);
    }

    #[test]
    fn a_line_of_another_project_is_not_ours() {
        for (line, is_ours) in [
            ("{ path = \"../forks/tokio\" }", false),
            ("{ git = \"https://github.com/tokio-rs/tokio\" }", false),
            ("\"1\"", false),
            ("{ path = '..\\blitz-io\\drop-in\\tokio' }", true),
            ("{ git = \"https://example.org/mirror/blitz-io/\" }", true),
        ] {
            let manifest = manifest(&format!("[patch.crates-io]\ntokio = {line}\n"));
            let patch = manifest.patch("tokio").expect("it is there");
            assert_eq!(patch.is_ours, is_ours, "{line}");
        }
    }

    #[test]
    fn features_are_written_and_taken_back() {
        let tokio = &REPLACEMENTS[0];
        let all = "all = [\"net\"] # of mine\n";
        for (features, written) in [
            (
                String::new(),
                "\n[features]\ninspect = [\"tokio/inspect\"]\nsim = [\"tokio/sim\"]\n".to_owned(),
            ),
            (
                format!("\n[features]\n{all}"),
                format!("\n[features]\n{all}inspect = [\"tokio/inspect\"]\nsim = [\"tokio/sim\"]\n"),
            ),
            (
                "\n[features]\ninspect = [\n  \"net\", # of mine\n]\n".to_owned(),
                "\n[features]\ninspect = [\n  \"net\", # of mine\n  \"tokio/inspect\",\n]\nsim = [\"tokio/sim\"]\n"
                    .to_owned(),
            ),
        ] {
            let mut manifest = manifest(&format!("{PLAIN}{features}"));
            manifest.enable("inspect", "tokio/inspect");
            manifest.enable("sim", "tokio/sim");
            assert_eq!(manifest.changed(), format!("{PLAIN}{written}"));
            let mut left_out = LeftOut::default();
            manifest.leave_out_own_features(tokio, "tokio", &|_| false, &mut left_out);
            assert_eq!(manifest.document.to_string(), format!("{PLAIN}{features}"));
            assert!(left_out.emptied.is_empty());
        }
    }

    #[test]
    fn a_feature_that_another_one_names_or_that_was_there_stays() {
        let text = "[features]\ndefault = [\"inspect\"]\ninspect = [\"rt/inspect\"]\nsim = [\"rt?/sim\"]\n";
        let mut manifest = manifest(text);
        let mut left_out = LeftOut::default();
        let had = |name: &str| name == "sim";
        manifest.leave_out_own_features(&REPLACEMENTS[0], "rt", &had, &mut left_out);
        let left = "[features]\ndefault = [\"inspect\"]\ninspect = []\nsim = []\n";
        assert_eq!(manifest.changed(), left);
        assert_eq!(left_out.emptied, ["inspect", "sim"]);
        assert_eq!(left_out.enabled, ["rt/inspect", "rt?/sim"]);
    }
}
