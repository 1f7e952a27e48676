//! What `Cargo.lock` says: which packages are in the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use toml_edit::{DocumentMut, Item, Table};

use super::replacement::Replacement;
use crate::exit::Exit;

/// The prefix of the names of blitz-io's own crates.
pub const OURS: &str = "blitz-";

/// How a program gets the feature `inspect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The feature, for `--features`.
    pub name: &'static str,
    /// The program does not use blitz-io yet.
    pub must_migrate: bool,
}

#[derive(Debug, Default)]
pub struct Lock {
    packages: Vec<Package>,
    /// Names and versions of the patches that Cargo did not use.
    unused: Vec<(String, String)>,
}

#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    /// The package is in a folder, as those of the program are, and comes from no registry or repository.
    is_local: bool,
    /// Each is a name, followed by the version if there are several, and by the source if there
    /// are several of that version.
    dependencies: Vec<String>,
}

impl Package {
    /// Returns `true` for one of the packages in `drop-in/`: each depends on a crate of blitz-io,
    /// and no package that it replaces does.
    fn is_ours(&self) -> bool {
        self.dependencies.iter().any(|name| name.starts_with(OURS))
    }

    /// Returns `true` for a package of the program.
    fn is_own(&self) -> bool {
        self.is_local && !self.is_ours() && !self.name.starts_with(OURS)
    }
}

impl Lock {
    /// Reads the file; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or is not TOML.
    pub fn read(path: &Path) -> Result<Option<Lock>, Exit> {
        match fs::read_to_string(path) {
            Ok(text) => {
                let lock = Lock::parse(&text);
                lock.map(Some)
                    .map_err(|error| Exit::unreadable(path, error))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Exit::unreadable(path, error)),
        }
    }

    pub fn parse(text: &str) -> Result<Lock, toml_edit::TomlError> {
        let document: DocumentMut = text.parse()?;
        let word = |table: &Table, key| {
            let value = table.get(key).and_then(Item::as_str);
            value.unwrap_or_default().to_owned()
        };
        let tables = |item: Option<&Item>| -> Vec<Table> {
            let tables = item.and_then(Item::as_array_of_tables);
            tables.into_iter().flatten().cloned().collect()
        };
        let packages = tables(document.get("package")).into_iter().map(|table| {
            let names = table.get("dependencies").and_then(Item::as_array);
            let names = names.into_iter().flatten().filter_map(|name| name.as_str());
            Package {
                name: word(&table, "name"),
                version: word(&table, "version"),
                is_local: table.get("source").is_none(),
                dependencies: names.map(str::to_owned).collect(),
            }
        });
        let unused = document.get("patch").and_then(|patch| patch.get("unused"));
        let unused = tables(unused);
        Ok(Lock {
            packages: packages.collect(),
            unused: unused
                .iter()
                .map(|table| (word(table, "name"), word(table, "version")))
                .collect(),
        })
    }

    /// Returns the version of blitz-io's package, if it is in the tree.
    pub fn ours(&self, known: &Replacement) -> Option<&str> {
        let mut found = self.named(known.name).filter(|package| package.is_ours());
        found.next().map(|package| package.version.as_str())
    }

    /// Returns how the program gets the feature `inspect`.
    pub fn inspect_feature(&self) -> Feature {
        let tokio = self.named("tokio").any(Package::is_ours);
        let direct = self.named("blitz-io").next().is_some();
        Feature {
            name: if direct && !tokio {
                "blitz-io/inspect"
            } else {
                "tokio/inspect"
            },
            must_migrate: !direct && !tokio,
        }
    }

    /// Returns the versions that could be replaced and are not.
    pub fn locked(&self, known: &Replacement) -> Vec<&str> {
        self.others(known.name)
            .filter(|version| known.fits(version))
            .collect()
    }

    /// Returns the versions that blitz-io does not replace.
    pub fn unknown(&self, known: &Replacement) -> Vec<&str> {
        self.others(known.name)
            .filter(|version| !known.fits(version))
            .collect()
    }

    fn others(&self, name: &str) -> impl Iterator<Item = &str> {
        let found = self.named(name).filter(|package| !package.is_ours());
        found.map(|package| package.version.as_str())
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(move |package| package.name == name)
    }

    /// Returns the version of the patch for this package, if Cargo did not use it.
    pub fn unused_patch(&self, name: &str) -> Option<&str> {
        let mut unused = self.unused.iter().filter(|(unused, _)| unused == name);
        unused.next().map(|(_, version)| version.as_str())
    }

    /// Returns the names of the packages that depend on this version.
    pub fn dependents(&self, name: &str, version: &str) -> Vec<String> {
        let versioned = format!("{name} {version}");
        let depends = |package: &&Package| {
            package.dependencies.iter().any(|dependency| {
                dependency == name
                    || dependency == &versioned
                    || dependency.starts_with(&format!("{versioned} "))
            })
        };
        let found: BTreeSet<&str> = self
            .packages
            .iter()
            .filter(depends)
            .map(|package| package.name.as_str())
            .collect();
        found.into_iter().map(str::to_owned).collect()
    }

    /// Returns the names of the program's own packages that depend on a package of this name.
    pub fn own_dependents(&self, name: &str) -> Vec<&str> {
        let depends = |package: &&Package| {
            let mut names = package.dependencies.iter();
            names.any(|dependency| dependency.split(' ').next() == Some(name))
        };
        let found: BTreeSet<&str> = self
            .packages
            .iter()
            .filter(|package| package.is_own())
            .filter(depends)
            .map(|package| package.name.as_str())
            .collect();
        found.into_iter().collect()
    }

    /// Returns `true` if a package of this name is one of the program.
    pub fn has_own(&self, name: &str) -> bool {
        self.named(name).any(Package::is_own)
    }

    /// Returns the versions of each package, by name.
    pub fn versions(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for package in &self.packages {
            let known = versions.entry(&package.name).or_default();
            known.insert(&package.version);
        }
        versions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::replacement::REPLACEMENTS;

    const LOCK: &str = r#"
version = 4
[[package]]
name = "blitz-io-sync"
version = "0.1.0"
[[package]]
name = "hyper"
version = "1.0.0"
dependencies = ["parking_lot 0.11.2", "tokio"]
[[package]]
name = "parking_lot"
version = "0.11.2"
source = "registry+https://github.com/rust-lang/crates.io-index"
[[package]]
name = "parking_lot"
version = "0.12.5"
dependencies = ["blitz-io-sync", "lock_api"]
[[package]]
name = "program"
version = "0.1.0"
dependencies = ["parking_lot 0.12.5", "tokio"]
[[package]]
name = "tokio"
version = "1.28.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
[[patch.unused]]
name = "tokio"
version = "1.54.1"
"#;

    #[test]
    fn ours_are_told_from_those_of_the_registry() {
        let lock = Lock::parse(LOCK).expect("it is TOML");
        let [tokio, rayon, parking_lot, ..] = &REPLACEMENTS;
        assert_eq!(lock.ours(tokio), None);
        assert_eq!(lock.locked(tokio), ["1.28.0"]);
        assert_eq!(lock.unused_patch("tokio"), Some("1.54.1"));
        assert_eq!(lock.ours(rayon), None);
        assert!(lock.locked(rayon).is_empty() && lock.unknown(rayon).is_empty());
        assert_eq!(lock.ours(parking_lot), Some("0.12.5"));
        assert!(lock.locked(parking_lot).is_empty());
        assert_eq!(lock.unknown(parking_lot), ["0.11.2"]);
    }

    #[test]
    fn dependents_are_those_of_one_version() {
        let lock = Lock::parse(LOCK).expect("it is TOML");
        assert_eq!(lock.dependents("parking_lot", "0.11.2"), ["hyper"]);
        assert_eq!(lock.dependents("parking_lot", "0.12.5"), ["program"]);
        assert_eq!(lock.dependents("tokio", "1.28.0"), ["hyper", "program"]);
    }

    #[test]
    fn own_dependents_are_packages_of_the_program() {
        let lock = Lock::parse(
            r#"
[[package]]
name = "blitz-io-bench"
version = "0.2.0"
dependencies = ["crossbeam-channel"]
[[package]]
name = "ignore"
version = "0.4.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
dependencies = ["crossbeam-channel"]
[[package]]
name = "program"
version = "0.1.0"
dependencies = ["crossbeam-channel 0.5.15", "ignore"]
"#,
        )
        .expect("it is TOML");
        assert_eq!(lock.own_dependents("crossbeam-channel"), ["program"]);
        assert!(lock.own_dependents("crossbeam").is_empty());
    }

    #[test]
    fn the_feature_is_that_of_the_package_in_the_tree() {
        let feature = |lock: &str| Lock::parse(lock).expect("it is TOML").inspect_feature();
        let of = |name, must_migrate| Feature { name, must_migrate };
        assert_eq!(feature(LOCK), of("tokio/inspect", true));
        let blitz = "[[package]]\nname = \"blitz-io\"\nversion = \"0.2.0\"\n";
        assert_eq!(feature(blitz), of("blitz-io/inspect", false));
        let tokio =
            "[[package]]\nname = \"tokio\"\nversion = \"1.54.1\"\ndependencies = [\"blitz-io\"]\n";
        assert_eq!(feature(tokio), of("tokio/inspect", false));
        assert_eq!(
            feature(&(tokio.to_owned() + blitz)),
            of("tokio/inspect", false)
        );
    }

    #[test]
    fn a_broken_file_is_an_error() {
        assert!(Lock::parse("[[package]\nname = 3").is_err());
        // Nothing in it is a package, but it is TOML.
        let odd = Lock::parse("package = 3\npatch = \"x\"").expect("it is TOML");
        assert!(odd.versions().is_empty());
    }
}
