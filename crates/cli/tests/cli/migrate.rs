//! `blitz migrate` from outside, in programs whose registry is a folder: nothing here needs the
//! network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use super::common::{Ran, blitz, expect};

/// A program, the registry that it uses, and a checkout of what looks like blitz-io.
struct World {
    folder: TempDir,
}

impl World {
    /// Creates a program with these dependencies, which the registry does not have yet.
    fn new(dependencies: &str) -> World {
        let world = World {
            folder: TempDir::new().expect("there is a folder for temporary files"),
        };
        library(&world.at("program"), "program", "0.1.0", dependencies);
        let registry = world.at("registry");
        let config = format!(
            "[source.crates-io]\nreplace-with = \"folder\"\n\
             [source.folder]\nlocal-registry = '{}'\n",
            registry.display()
        );
        write(&world.at("program/.cargo/config.toml"), &config);
        fs::create_dir_all(registry.join("index")).expect("a folder can be created");
        world
    }

    /// Adds a package to the registry. It is only resolved and never compiled, so it needs no
    /// file but its line in the index.
    fn publish(&self, name: &str, version: &str, dependency: Option<(&str, &str)>) -> &World {
        let depends = |(name, req)| {
            json!({
                "name": name, "req": req, "features": [], "optional": false,
                "default_features": true, "target": null, "kind": "normal",
            })
        };
        let line = json!({
            "name": name, "vers": version, "deps": Vec::from_iter(dependency.map(depends)),
            "cksum": "0".repeat(64), "features": {}, "yanked": false,
        });
        let index = format!("registry/index/{}/{}/{name}", &name[..2], &name[2..4]);
        let index = self.at(&index);
        let lines = fs::read_to_string(&index).unwrap_or_default();
        write(&index, &format!("{lines}{line}\n"));
        self
    }

    /// Creates the checkout. `needs` are the dependencies of its crate `blitz-io`.
    fn checkout(&self, needs: &str) -> &World {
        let ours = |name: &str| format!("{name} = {{ path = '../../crates/{name}' }}\n");
        for (name, version, on) in [
            ("tokio", "1.54.1", "blitz-io"),
            ("rayon-core", "1.13.0", "blitz-io-pool"),
            ("parking_lot", "0.12.5", "blitz-io-sync"),
        ] {
            let folder = self.at(&format!("blitz-io/drop-in/{name}"));
            library(&folder, name, version, &ours(on));
        }
        for (name, dependencies) in [
            ("blitz-io", needs),
            ("blitz-io-pool", ""),
            ("blitz-io-sync", ""),
        ] {
            let folder = self.at(&format!("blitz-io/crates/{name}"));
            library(&folder, name, "0.1.0", dependencies);
        }
        self
    }

    /// Runs Cargo in the program's folder.
    fn cargo(&self, arguments: &[&str]) -> &World {
        let ran = Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(self.at("program"))
            .output()
            .expect("cargo starts");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "cargo {arguments:?}: {said}");
        self
    }

    /// Resolves the program.
    fn lock(&self) -> &World {
        self.cargo(&["generate-lockfile"])
    }

    /// Checks that Cargo accepts the lock file as it is.
    fn is_current(&self) {
        self.cargo(&["update", "--workspace", "--locked"]);
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at("program").join(name)).unwrap_or_default()
    }

    fn files(&self) -> (String, String) {
        (self.read("Cargo.toml"), self.read("Cargo.lock"))
    }

    /// Appends lines to the manifest.
    fn append(&self, lines: &str) -> &World {
        let text = self.read("Cargo.toml") + lines;
        write(&self.at("program/Cargo.toml"), &text);
        self
    }

    /// Runs the command in the program's folder and expects `code`.
    fn blitz(&self, code: i32, arguments: &[&str]) -> Ran {
        let mut command = blitz(&["migrate"]);
        command.args(arguments).current_dir(self.at("program"));
        let ran = Ran::from(command.output().expect("the command starts"));
        assert_eq!(ran.code, Some(code), "{arguments:?}\n{ran:?}");
        ran
    }

    /// The same, with the checkout as the source.
    fn migrate(&self, code: i32) -> Ran {
        self.blitz(code, &["--json", "--path", "../blitz-io"])
    }
}

fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("the path has a folder");
    fs::create_dir_all(folder).expect("a folder can be created");
    fs::write(path, text).expect("a file can be written");
}

fn library(folder: &Path, name: &str, version: &str, dependencies: &str) {
    let package = format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\n");
    let rest = format!("edition = \"2021\"\n\n[dependencies]\n{dependencies}");
    write(&folder.join("Cargo.toml"), &format!("{package}{rest}"));
    write(&folder.join("src/lib.rs"), "");
}

/// A program whose lock file has `bits` 1.0.0, where `blitz-io` needs 1.2. Cargo then does not
/// use the patch for Tokio, not even after `cargo update tokio`.
fn held_back() -> World {
    let world = World::new("bits = \"1\"\ntokio = \"1\"\n");
    world
        .publish("bits", "1.0.0", None)
        .publish("tokio", "1.28.0", Some(("bits", "1")))
        .checkout("bits = \"1.2\"\n")
        .lock()
        .publish("bits", "1.2.0", None);
    world
}

#[test]
fn a_lock_file_does_not_hold_back_the_replacement() {
    let world = held_back();
    let before = world.files();
    let report = world.migrate(0).json();
    let tokio = &report["packages"][0];
    assert_eq!(tokio["name"], "tokio");
    assert_eq!(tokio["state"], "replaced");
    assert_eq!(tokio["was"], "1.28.0");
    assert_eq!(tokio["version"], "1.54.1");
    assert_eq!(tokio["required_by"][0], "program");
    assert_eq!(report["packages"][1]["state"], "absent");
    let changed = report["changed"].to_string();
    let bits = "{\"from\":[\"1.0.0\"],\"name\":\"bits\",\"to\":[\"1.2.0\"]}";
    assert!(changed.contains(bits), "{changed}");

    // Only what is in the tree has a line, so no patch is unused.
    let (manifest, lock) = world.files();
    assert!(manifest.contains("drop-in/tokio"), "{manifest}");
    assert!(!manifest.contains("rayon"), "{manifest}");
    assert!(!lock.contains("patch.unused"), "{lock}");
    world.is_current();
    world.blitz(0, &["--check"]);
    // A second run changes nothing.
    world.migrate(0);
    assert_eq!(world.files(), (manifest, lock));

    world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), before);
    world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), before);
}

#[test]
fn a_line_that_cargo_does_not_use_is_found_and_used() {
    let world = held_back();
    world
        .append("\n[patch.crates-io]\ntokio = { path = \"../blitz-io/drop-in/tokio\" }\n")
        .cargo(&["update", "tokio"]);
    let ran = world.blitz(1, &["--check"]);
    assert!(ran.out.contains("holds on"), "{}", ran.out);
    assert!(ran.err.contains("not replaced: tokio"), "{}", ran.err);
    let manifest = world.read("Cargo.toml");
    // Without a source, the line stays as it is.
    world.blitz(0, &[]);
    assert_eq!(world.read("Cargo.toml"), manifest);
    world.blitz(0, &["--check"]);
}

#[test]
fn a_program_that_pins_a_version_stays_as_it_is() {
    let world = World::new("tokio = \"=1.28.0\"\nrayon-core = \"1\"\n");
    world
        .publish("tokio", "1.28.0", None)
        .publish("rayon-core", "1.12.0", None)
        .checkout("")
        .lock();
    let before = world.files();
    let report = world.migrate(1).json();
    let tokio = &report["packages"][0];
    assert_eq!(tokio["state"], "not-replaced");
    let why = tokio["why"].as_str().expect("there is a reason");
    assert!(why.contains("tokio = \"=1.28.0\""), "{why}");
    // The other one is still replaced.
    assert_eq!(report["packages"][1]["state"], "replaced");
    assert!(!world.read("Cargo.toml").contains("drop-in/tokio"));
    assert!(!world.read("Cargo.lock").contains("1.54.1"));
    world.is_current();
    world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), before);
}

#[test]
fn a_package_that_goes_with_tokio_gets_no_line() {
    let world = World::new("tokio = \"1\"\n");
    world
        .publish("parking_lot", "0.12.1", None)
        .publish("tokio", "1.28.0", Some(("parking_lot", "0.12")))
        .checkout("")
        .lock();
    let report = world.migrate(0).json();
    assert_eq!(report["packages"][2]["state"], "absent");
    assert!(!world.read("Cargo.toml").contains("parking_lot"));
}

#[test]
fn another_version_is_named_with_what_needs_it() {
    let world = World::new("older = \"1\"\n");
    world
        .publish("older", "1.0.0", Some(("parking_lot", "0.11")))
        .publish("parking_lot", "0.11.2", None)
        .checkout("")
        .lock();
    let before = world.files();
    let ran = world.blitz(1, &[]);
    assert!(
        ran.out.contains("0.11.2 is required by older"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("nothing to replace"), "{}", ran.err);
    assert_eq!(world.files(), before);
}

#[test]
fn a_line_of_another_project_is_left_alone() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("");
    library(&world.at("fork"), "tokio", "1.30.0", "");
    world
        .append("\n[patch.crates-io]\ntokio = { path = \"../fork\" }\n")
        .lock();
    let before = world.files();
    for arguments in [&["--check"][..], &[]] {
        let ran = world.blitz(1, arguments);
        assert!(ran.out.contains("another package"), "{}", ran.out);
        assert_eq!(world.files(), before);
    }
    world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), before);
}

#[test]
fn a_program_without_a_lock_file_gets_one() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.60.0", None).checkout("");
    let before = world.files();
    let ran = world.blitz(1, &["--check"]);
    assert!(ran.err.contains("does not exist yet"), "{}", ran.err);
    world.migrate(0);
    world.blitz(0, &["--check"]);
    world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), before);
    assert!(!world.at("program/Cargo.lock").exists());
}

#[test]
fn undo_keeps_what_was_changed_since() {
    let world = held_back();
    world.migrate(0);
    let manifest = world.read("Cargo.toml");
    let manifest = manifest.replace("bits = \"1\"\n", "bits = \"1\"\nmore = \"1\"\n");
    write(&world.at("program/Cargo.toml"), &manifest);
    // Cargo would take this newer Tokio, if nothing named the version of before.
    world
        .publish("more", "1.0.0", None)
        .publish("tokio", "1.40.0", Some(("bits", "1")))
        .cargo(&["update", "--workspace"]);
    world.blitz(0, &["--undo"]);
    let (manifest, lock) = world.files();
    assert!(manifest.contains("more = \"1\""), "{manifest}");
    assert!(!manifest.contains("patch"), "{manifest}");
    assert!(lock.contains("1.28.0"), "{lock}");
    assert!(lock.contains("\"more\""), "{lock}");
    assert!(!lock.contains("blitz"), "{lock}");
    world.is_current();
}

#[test]
fn wrong_arguments_are_told_from_failures() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    let empty = world.at("empty");
    fs::create_dir(&empty).expect("a folder can be created");
    let empty = empty.to_str().expect("the path is UTF-8");

    let ran = world.blitz(2, &[empty]);
    assert!(ran.err.contains("Cargo finds no program"), "{}", ran.err);
    let ran = expect(2, &["migrate", "no/such/folder"]);
    assert!(ran.err.contains("is not a folder"), "{}", ran.err);
    let ran = world.blitz(2, &["--path", empty]);
    assert!(ran.err.contains("has no drop-in/tokio"), "{}", ran.err);
    world.blitz(2, &["--only", "serde"]);
    world.blitz(2, &["--check", "--undo"]);

    // A file that is not TOML.
    write(&world.at("program/Cargo.lock"), "[[package]\n");
    let ran = world.blitz(1, &["--path", "../blitz-io"]);
    assert!(ran.err.contains("Cargo.lock cannot be read"), "{}", ran.err);
    assert!(!world.read("Cargo.toml").contains("patch"));
}
