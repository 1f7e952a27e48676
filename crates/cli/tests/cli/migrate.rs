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
            ("parking_lot_core", "0.9.12", "blitz-io-futex"),
            ("atomic-wait", "1.1.0", "blitz-io-futex"),
        ] {
            let folder = self.at(&format!("blitz-io/drop-in/{name}"));
            let features = match name {
                "tokio" => "\n[features]\ninspect = []\nsim = []\n",
                _ => "",
            };
            library(&folder, name, version, &(ours(on) + features));
        }
        for (name, dependencies) in [
            ("blitz-io", needs),
            ("blitz-io-futex", ""),
            ("blitz-io-pool", ""),
            ("blitz-io-sync", ""),
        ] {
            let folder = self.at(&format!("blitz-io/crates/{name}"));
            library(&folder, name, "0.1.0", dependencies);
        }
        self
    }

    /// Lets this program build in the folder `target` beside all programs.
    fn share_target(&self, program: &str) -> &World {
        let target = self.at("target");
        let line = format!("[build]\ntarget-dir = '{}'\n", target.display());
        self.edit(&format!("{program}/.cargo/config.toml"), |text| {
            text + &line
        })
    }

    /// Runs Cargo in the program's folder.
    fn cargo(&self, arguments: &[&str]) -> &World {
        self.cargo_in("program", arguments)
    }

    /// Runs Cargo in this folder.
    fn cargo_in(&self, folder: &str, arguments: &[&str]) -> &World {
        let (is_done, said) = self.try_cargo(folder, arguments);
        assert!(is_done, "cargo {arguments:?}: {said}");
        self
    }

    /// Runs Cargo in the program's folder, where it fails. Returns what it says.
    fn refuses(&self, arguments: &[&str]) -> String {
        let (is_done, said) = self.try_cargo("program", arguments);
        assert!(!is_done, "cargo {arguments:?}: {said}");
        said
    }

    fn try_cargo(&self, folder: &str, arguments: &[&str]) -> (bool, String) {
        let ran = Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(self.at(folder))
            .output()
            .expect("cargo starts");
        let said = String::from_utf8_lossy(&ran.stderr);
        (ran.status.success(), said.into_owned())
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
        self.files_of("program")
    }

    fn files_of(&self, program: &str) -> (String, String) {
        let read = |name| fs::read_to_string(self.at(program).join(name)).unwrap_or_default();
        (read("Cargo.toml"), read("Cargo.lock"))
    }

    /// Changes the text of a file.
    fn edit(&self, path: &str, change: impl FnOnce(String) -> String) -> &World {
        let file = self.at(path);
        let text = fs::read_to_string(&file).expect("the file is there");
        write(&file, &change(text));
        self
    }

    /// Appends lines to the manifest.
    fn append(&self, lines: &str) -> &World {
        self.edit("program/Cargo.toml", |text| text + lines)
    }

    /// Runs the command in the program's folder and expects `code`.
    fn blitz(&self, code: i32, arguments: &[&str]) -> Ran {
        let mut command = blitz(&["migrate"]);
        command.args(arguments).current_dir(self.at("program"));
        let ran = Ran::from(command.output().expect("the command starts"));
        assert_eq!(ran.code, Some(code), "{arguments:?}\n{ran:?}");
        ran
    }

    /// Runs `blitz migrate --json` with the checkout as the source.
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

    let ran = world.blitz(0, &["--undo"]);
    let said = "Taken back in Cargo.lock, Cargo.toml.\ntokio            1.28.0 of the registry\n";
    assert!(ran.out.contains(said), "{}", ran.out);
    assert_eq!(world.files(), before);
    let ran = world.blitz(1, &["--undo"]);
    assert!(ran.err.contains("nothing to take back"), "{}", ran.err);
    assert_eq!(world.files(), before);
}

/// `bits` is locked at a version that is too old for the replacement, and is no dependency of Tokio, so that
/// Cargo does not unlock it together with Tokio.
#[test]
fn a_locked_version_of_another_package_that_is_too_old_is_updated() {
    let world = World::new("bits = \"1\"\nmore = \"1\"\ntokio = \"1\"\n");
    world
        .publish("bits", "1.0.0", None)
        .publish("more", "1.0.0", None)
        .publish("tokio", "1.28.0", None)
        .checkout("bits = \"1.2\"\n")
        .lock()
        .publish("bits", "1.2.0", None)
        .publish("more", "1.1.0", None);
    let before = world.files();
    let report = world.migrate(0).json();
    assert_eq!(report["packages"][0]["state"], "replaced");
    let changed = report["changed"].to_string();
    assert!(changed.contains("\"bits\""), "{changed}");
    // Nothing else is updated.
    assert!(!changed.contains("\"more\""), "{changed}");
    world.is_current();
    world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), before);
}

/// The version that does not fit is required by a locked package, of which a newer version does not.
#[test]
fn a_locked_package_that_requires_a_version_that_is_too_old_is_updated() {
    let world = World::new("holds = \"1\"\ntokio = \"1\"\n");
    world
        .publish("bits", "1.0.0", None)
        .publish("holds", "1.0.0", Some(("bits", "=1.0.0")))
        .publish("tokio", "1.28.0", None)
        .checkout("bits = \"1.2\"\n")
        .lock()
        .publish("bits", "1.2.0", None)
        .publish("holds", "1.1.0", Some(("bits", "1")));
    world.migrate(0);
    world.is_current();
    let lock = world.read("Cargo.lock");
    assert!(
        lock.contains("\"1.1.0\"") && lock.contains("\"1.2.0\""),
        "{lock}"
    );
}

#[test]
fn a_requirement_that_forbids_it_is_named_and_changes_nothing() {
    let world = World::new("bits = \"=1.0.0\"\ntokio = \"1\"\n");
    world
        .publish("bits", "1.0.0", None)
        .publish("tokio", "1.28.0", None)
        .checkout("bits = \"1.2\"\n")
        .lock()
        .publish("bits", "1.2.0", None);
    let before = world.files();
    let report = world.migrate(1).json();
    let why = report["packages"][0]["why"]
        .as_str()
        .expect("there is a reason");
    assert!(why.contains("bits = \"=1.0.0\""), "{why}");
    assert_eq!(world.files(), before);
}

/// Both programs build in one folder, which once held the files of the last one only.
#[test]
fn programs_with_one_target_folder_are_each_taken_back() {
    let world = World::new("tokio = \"1\"\n");
    world
        .publish("tokio", "1.28.0", None)
        .checkout("")
        .share_target("program")
        .lock()
        .publish("tokio", "1.30.0", None);
    let first = world.files();
    library(&world.at("other"), "other", "0.1.0", "tokio = \"1\"\n");
    let config = world.at("program/.cargo/config.toml");
    fs::create_dir_all(world.at("other/.cargo")).expect("a folder can be created");
    fs::copy(config, world.at("other/.cargo/config.toml")).expect("a file can be copied");
    world.cargo_in("other", &["generate-lockfile"]);
    let other = world.files_of("other");
    assert!(first.1.contains("1.28.0") && other.1.contains("1.30.0"));

    world.migrate(0);
    world.blitz(0, &["--path", "../blitz-io", "../other"]);
    assert!(world.files() != first && world.files_of("other") != other);
    world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), first);
    world.blitz(0, &["--undo", "../other"]);
    assert_eq!(world.files_of("other"), other);
    // `--undo` has removed the saved files.
    let saved = fs::read_dir(world.at("target/blitz-migrate")).expect("the folder is there");
    assert_eq!(saved.count(), 0);
}

#[test]
fn saved_files_of_another_manifest_are_not_used() {
    let world = held_back();
    world.share_target("program").migrate(0);
    let saved = fs::read_dir(world.at("target/blitz-migrate")).expect("the folder is there");
    let saved: Vec<_> = saved
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    let [saved] = &saved[..] else {
        panic!("one program was migrated: {saved:?}");
    };
    for name in ["before.json", "after.json"] {
        let file = saved.join(name);
        let text = fs::read_to_string(&file).expect("the file is there");
        let elsewhere = world.at("elsewhere");
        let program = world.at("program");
        let [here, there] =
            [&program, &elsewhere].map(|path| path.to_str().expect("it is UTF-8").to_owned());
        assert!(text.contains(&here), "{text}");
        write(&file, &text.replace(&here, &there));
    }
    world.publish("tokio", "1.40.0", Some(("bits", "1")));
    world.blitz(0, &["--undo"]);
    // Cargo chose the newest, because nothing named the version of before.
    let lock = world.read("Cargo.lock");
    assert!(
        lock.contains("1.40.0") && !lock.contains("1.28.0"),
        "{lock}"
    );
}

#[test]
fn a_manifest_with_windows_line_ends_keeps_them() {
    for is_saved in [true, false] {
        let world = World::new("tokio = \"1\"\n");
        let text = world.read("Cargo.toml").replace('\n', "\r\n");
        write(&world.at("program/Cargo.toml"), &text);
        world
            .publish("tokio", "1.28.0", None)
            .checkout("")
            .share_target("program")
            .lock();
        let before = world.files();
        world.migrate(0);
        let manifest = world.read("Cargo.toml");
        let lines = manifest.matches('\n').count();
        assert!(lines > text.matches('\n').count(), "{manifest}");
        assert_eq!(manifest.matches("\r\n").count(), lines, "{manifest:?}");
        if !is_saved {
            fs::remove_dir_all(world.at("target")).expect("the folder can be removed");
        }
        world.blitz(0, &["--undo"]);
        assert_eq!(world.files(), before);
    }
}

/// Nothing listens on this port.
#[test]
fn a_server_that_cannot_be_reached_comes_with_advice() {
    let world = World::new("tokio = \"1\"\nrayon-core = \"1\"\n");
    world
        .publish("tokio", "1.28.0", None)
        .publish("rayon-core", "1.12.0", None)
        .lock();
    let before = world.files();
    let ran = world.blitz(1, &["--git", "https://127.0.0.1:1/blitz-io"]);
    assert!(ran.err.contains("CARGO_NET_OFFLINE=true"), "{}", ran.err);
    assert_eq!(ran.out, "");
    assert_eq!(world.files(), before);
    world.blitz(1, &["--undo"]);
    assert_eq!(world.files(), before);
}

#[test]
fn a_feature_of_the_replacement_alone_is_named_when_it_is_taken_back() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    world.migrate(0);
    let plain = world.read("Cargo.toml");
    let asked = plain.replace(
        "tokio = \"1\"",
        "tokio = { version = \"1\", features = [\"inspect\"] }",
    );
    write(&world.at("program/Cargo.toml"), &asked);
    let ran = world.blitz(1, &["--undo"]);
    let said = "so they stay. Only blitz-io's tokio has the feature `inspect`";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert_eq!(world.read("Cargo.toml"), asked);
    write(&world.at("program/Cargo.toml"), &plain);
    let ran = world.blitz(0, &["--undo"]);
    assert!(
        ran.out
            .contains("Leave `--features inspect` and `--features sim` out of your commands now"),
        "{}",
        ran.out
    );
}

/// A user wrote them.
#[test]
fn the_programs_own_features_lose_those_of_the_replacement_when_it_is_taken_back() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    let plain = world.read("Cargo.toml");
    world.blitz(0, &["--no-features", "--path", "../blitz-io"]);
    let own = |seen: &str, inspect: &str| {
        format!("\n[features]\nnet = []\nseen = [{seen}]\ninspect = [{inspect}]\n")
    };
    let migrated = world.read("Cargo.toml");
    let asked = own(
        "\"tokio/inspect\", \"net\", \"tokio/sim\"",
        "\"tokio/inspect\"",
    );
    write(
        &world.at("program/Cargo.toml"),
        &(migrated.clone() + &asked),
    );
    let ran = world.blitz(0, &["--undo"]);
    let said = "`tokio/inspect` and `tokio/sim` are no longer in `[features]` of Cargo.toml: the registry's package has \
                no such feature.";
    assert!(ran.out.contains(said), "{}", ran.out);
    let left = "\n[features]\nnet = []\nseen = [\"net\"]\n";
    assert_eq!(
        world.read("Cargo.toml").trim_end(),
        (plain + left).trim_end()
    );
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_would_change() {
    let world = held_back();
    let before = world.files();
    let changed = |world: &World| {
        let of =
            |name| fs::metadata(world.at("program").join(name)).and_then(|file| file.modified());
        [of("Cargo.toml"), of("Cargo.lock")].map(|time| time.expect("the file has a time"))
    };
    let times = changed(&world);
    let ran = world.blitz(0, &["--dry-run", "--path", "../blitz-io"]);
    for part in [
        "would be replaced: 1.28.0 by 1.54.1 of blitz-io",
        "Would be updated as well\n  - bits 1.0.0 → 1.2.0",
        "+[patch.crates-io]\n  +tokio = { path = \"../blitz-io/drop-in/tokio\" }",
        "Nothing is changed.",
        "`blitz migrate --path ../blitz-io` does this.",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert_eq!((world.files(), changed(&world)), (before, times));
    // There is nothing to take back.
    world.blitz(1, &["--undo"]);
    let report = world
        .blitz(0, &["--dry-run", "--json", "--path", "../blitz-io"])
        .json();
    assert_eq!(report["dry_run"], true);
    assert_eq!(
        report["lines"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );

    // What an earlier run has saved is still there.
    let before = world.files();
    world.migrate(0);
    let after = world.read("Cargo.toml");
    world.append("# a change\n");
    world.blitz(0, &["--dry-run"]);
    write(&world.at("program/Cargo.toml"), &after);
    world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), before);

    // A package that cannot be replaced.
    let world = World::new("tokio = \"=1.28.0\"\n");
    world.publish("tokio", "1.28.0", None).checkout("");
    world.blitz(1, &["--dry-run", "--path", "../blitz-io"]);
    assert_eq!(world.read("Cargo.lock"), "");
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
    world.blitz(0, &["--no-features"]);
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
    let start = "program asks for `tokio = \"=1.28.0\"`, and blitz-io's package is 1.54.1. Write `tokio = \"1\"` in ";
    assert!(why.starts_with(start), "{why}");
    let end = "Cargo.toml, and run `blitz migrate` again.";
    assert!(why.ends_with(end), "{why}");
    // The other one stays, too.
    assert_eq!(report["packages"][1]["state"], "not-replaced");
    assert_eq!(world.files(), before);
    world.blitz(1, &["--undo"]);

    // In text there is only the error.
    let ran = world.blitz(1, &["--path", "../blitz-io"]);
    assert_eq!(ran.out, "");
    let start = "error: not replaced: tokio";
    assert!(ran.err.starts_with(start), "{}", ran.err);
    let others = "Nothing was changed. `blitz migrate --only rayon-core --path ../blitz-io` replaces the others.";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&ran.err).contains(&words(start)), "{}", ran.err);
    assert!(words(&ran.err).contains(others), "{}", ran.err);
    assert_eq!(world.files(), before);
    world.blitz(0, &["--only", "rayon-core", "--path", "../blitz-io"]);
    world.is_current();
    assert!(!world.read("Cargo.toml").contains("drop-in/tokio"));
    assert!(!world.read("Cargo.lock").contains("1.54.1"));
    world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), before);
}

/// As "When a newer Tokio is out" of book/src/moving/tokio.md describes it.
#[test]
fn a_library_that_needs_a_newer_tokio_is_named() {
    let world = World::new("needs = \"1\"\ntokio = \"1\"\n");
    world
        .publish("tokio", "1.28.0", None)
        .publish("needs", "1.0.0", Some(("tokio", "1.28")))
        .checkout("")
        .lock();
    world.blitz(0, &["--no-features", "--path", "../blitz-io"]);
    world
        .publish("tokio", "1.55.0", None)
        .publish("needs", "1.1.0", Some(("tokio", "1.55")))
        .publish("newer", "1.0.0", Some(("tokio", "1.55")));
    // The lock file keeps the library, and with it the package in Tokio's place.
    world.is_current();
    world.blitz(0, &["--check"]);
    let migrated = world.read("Cargo.toml");
    // Another library that needs it takes Tokio from the registry for the whole program, also with the lock file.
    let both = migrated.replace("needs = \"1\"", "needs = \"1\"\nnewer = \"1\"");
    write(&world.at("program/Cargo.toml"), &both);
    world.cargo(&["update", "--workspace"]);
    let lock = world.read("Cargo.lock");
    assert!(lock.contains("[[patch.unused]]"), "{lock}");
    let ran = world.blitz(1, &["--check"]);
    assert!(
        ran.out.contains("not replaced: 1.55.0 of the registry"),
        "{}",
        ran.out
    );
    write(&world.at("program/Cargo.toml"), &migrated);
    // So does the new version of the library that is there.
    world.cargo(&["update"]);
    let updated = world.files();
    assert!(updated.1.contains("name = \"needs\"\nversion = \"1.1.0\""));
    let ran = world.blitz(1, &["--check"]);
    assert!(
        ran.out.contains("not replaced: 1.55.0 of the registry"),
        "{}",
        ran.out
    );
    let ran = world.blitz(1, &["--path", "../blitz-io"]);
    assert!(ran.err.contains("needs v1.1.0"), "{}", ran.err);
    assert_eq!(world.files(), updated);
    // The last version of the library that the package is new enough for.
    world.cargo(&["update", "needs", "--precise", "1.0.0"]);
    world.migrate(0);
    world.is_current();
    world.blitz(0, &["--check"]);
    // With the features, Cargo keeps it, and refuses another one.
    let migrated = world.files();
    world.cargo(&["update"]);
    assert_eq!(world.files(), migrated);
    let both = migrated
        .0
        .replace("needs = \"1\"", "needs = \"1\"\nnewer = \"1\"");
    write(&world.at("program/Cargo.toml"), &both);
    let said = world.refuses(&["update", "--workspace"]);
    let why = "depends on `tokio` with feature `inspect` but `tokio` does not have that feature";
    assert!(said.contains(why), "{said}");
    // The way out is the same.
    world.blitz(0, &["--undo"]);
    assert!(world.read("Cargo.lock").contains("1.55.0"));
    assert!(world.read("Cargo.toml").contains("newer"));
}

/// Cargo creates the lock file when it is asked, and it goes again.
#[test]
fn a_program_that_pins_a_version_gets_no_lock_file() {
    let world = World::new("tokio = \"=1.28.0\"\nrayon-core = \"1\"\n");
    world
        .publish("tokio", "1.28.0", None)
        .publish("rayon-core", "1.12.0", None)
        .checkout("");
    let manifest = world.read("Cargo.toml");
    world.migrate(1);
    assert_eq!(world.read("Cargo.toml"), manifest);
    assert!(!world.at("program/Cargo.lock").exists());
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
        let text = if arguments.is_empty() {
            &ran.err
        } else {
            &ran.out
        };
        assert!(text.contains("another package"), "{text}");
        assert_eq!(world.files(), before);
    }
    world.blitz(1, &["--undo"]);
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
    let ran = world.blitz(0, &["--undo"]);
    assert_eq!(world.files(), before);
    assert!(!world.at("program/Cargo.lock").exists());
    let gone = "Cargo.lock is gone, as there was none before.";
    assert!(ran.out.contains(gone), "{}", ran.out);
    assert!(!ran.out.contains("No longer needed"), "{}", ran.out);
}

#[test]
fn the_programs_own_packages_are_no_changes() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    world.migrate(0);
    let manifest = world.read("Cargo.toml");
    let newer = manifest.replace("version = \"0.1.0\"", "version = \"0.2.0\"");
    assert_ne!(newer, manifest);
    write(&world.at("program/Cargo.toml"), &newer);
    let ran = world.blitz(0, &["--undo"]);
    assert!(world.read("Cargo.lock").contains("\"0.2.0\""));
    assert!(!ran.out.contains("  - program"), "{}", ran.out);
}

#[test]
fn a_feature_of_the_replacement_is_named_if_there_is_no_lock_file() {
    let world = World::new("tokio = { version = \"1\", features = [\"inspect\"] }\n");
    world.publish("tokio", "1.28.0", None).checkout("");
    let ran = world.blitz(1, &["--path", "../blitz-io"]);
    let said = "Only blitz-io's tokio has the feature `inspect`. Remove it from the manifests of the program, and run \
                `blitz migrate` again. Then the feature may come back.";
    assert!(ran.err.contains(said), "{}", ran.err);
}

/// The path in the manifest is as short as that of the arguments, and has no way up and down again.
#[test]
fn the_path_of_the_checkout_is_relative_to_the_manifest() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    let line = |path: &str| format!("tokio = {{ path = \"{path}/drop-in/tokio\" }}");
    // From a folder inside the program, too.
    for (folder, given) in [
        ("program", "../blitz-io"),
        ("program/src", "../../program/../blitz-io"),
    ] {
        let mut command = blitz(&["migrate", "--path", given]);
        let output = command.current_dir(world.at(folder)).output();
        let ran = Ran::from(output.expect("the command starts"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let manifest = world.read("Cargo.toml");
        assert!(manifest.contains(&line("../blitz-io")), "{manifest}");
        world.is_current();
        world.blitz(0, &["--undo"]);
    }
    // One that is absolute stays so.
    let program = world.at("program");
    let given = program.join("../blitz-io");
    world.blitz(0, &["--path", given.to_str().expect("it is UTF-8")]);
    let manifest = world.read("Cargo.toml");
    let whole = world.at("blitz-io");
    let whole = whole.to_str().expect("it is UTF-8").replace('\\', "/");
    assert!(manifest.contains(&line(&whole)), "{manifest}");
}

/// What a replaced version needed comes back; it does not come with anything.
#[test]
fn undo_names_what_is_needed_again() {
    let world = World::new("tokio = \"1\"\n");
    world
        .publish("bits", "1.0.0", None)
        .publish("tokio", "1.28.0", Some(("bits", "1")))
        .checkout("")
        .lock();
    world.blitz(0, &["--path", "../blitz-io"]);
    let ran = world.blitz(0, &["--undo"]);
    assert!(ran.out.contains("Needed again\n  - bits\n"), "{}", ran.out);
    assert!(!ran.out.contains("Came with it"), "{}", ran.out);
}

/// It has no runtime that would answer `blitz why`.
#[test]
fn a_program_without_tokio_is_told_how_to_answer() {
    let world = World::new("parking_lot = \"0.12\"\n");
    world
        .publish("parking_lot", "0.12.5", None)
        .checkout("")
        .lock();
    let ran = world.blitz(0, &["--path", "../blitz-io"]);
    let crates = world.at("blitz-io/crates/blitz-io");
    let add = format!(
        "  cargo add blitz-io --no-default-features --features inspect --path {}\n",
        crates.display()
    );
    for part in [&*add, "  blitz_io::inspect::serve_if_asked();\n"] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    assert!(!world.read("Cargo.toml").contains("[features]"));
}

#[test]
fn a_package_that_only_tokio_needed_is_said_to_be_gone() {
    let world = World::new("tokio = \"1\"\n");
    world
        .publish("parking_lot", "0.12.5", None)
        .publish("tokio", "1.28.0", Some(("parking_lot", "0.12")))
        .checkout("")
        .lock();
    let ran = world.blitz(0, &["--path", "../blitz-io"]);
    assert!(
        ran.out.contains("No longer needed\n  - parking_lot\n"),
        "{}",
        ran.out
    );
    let ran = world.blitz(0, &["--undo"]);
    assert!(
        ran.out.contains("Needed again\n  - parking_lot\n"),
        "{}",
        ran.out
    );
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
fn a_check_can_name_the_place_of_the_packages() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    let check = |code, options: &[&str]| world.blitz(code, &[&["--check"], options].concat());
    let here = ["--path", "../blitz-io"];
    let ran = check(1, &here);
    let said = "`blitz migrate --path ../blitz-io` replaces what can be replaced.";
    assert!(ran.out.contains(said), "{}", ran.out);
    let before = world.files();
    world.migrate(0);
    let files = world.files();
    check(0, &here);
    // The same folder by another name.
    let whole = world.at("blitz-io");
    check(0, &["--path", whole.to_str().expect("it is UTF-8")]);
    for options in [
        &["--git", "https://example.org/blitz-io"][..],
        &["--registry", "ours"],
    ] {
        let ran = check(1, options);
        assert!(
            ran.out.contains("It comes from another place: `tokio = {"),
            "{}",
            ran.out
        );
        assert!(ran.err.contains("from another place: tokio"), "{}", ran.err);
    }
    assert_ne!(before, files);
    assert_eq!(world.files(), files);
}

#[test]
fn channels_of_crossbeam_are_named_for_a_change_by_hand() {
    let world = World::new("crossbeam-channel = \"0.5\"\ntokio = \"1\"\n");
    world
        .publish("tokio", "1.28.0", None)
        .publish("crossbeam-channel", "0.5.15", None)
        .checkout("")
        .lock();
    let ran = world.blitz(0, &["--path", "../blitz-io"]);
    let line = "crossbeam-channel stays: blitz-io has no package in its place\n  - it is required by program\n";
    assert!(ran.out.contains(line), "{}", ran.out);
    assert!(ran.out.contains("moving/crossbeam.md"), "{}", ran.out);
    let report = world.blitz(0, &["--check", "--json"]).json();
    let expected = json!([{"name": "crossbeam-channel", "required_by": ["program"]}]);
    assert_eq!(report["by_hand"], expected);
}

#[test]
fn wrong_arguments_are_told_from_failures() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    let empty = world.at("empty");
    fs::create_dir(&empty).expect("a folder can be created");
    let empty = empty.to_str().expect("the path is UTF-8");

    let ran = world.blitz(1, &[empty]);
    assert!(ran.err.contains("Cargo finds no program"), "{}", ran.err);
    let ran = expect(1, &["migrate", "no/such/folder"]);
    assert!(ran.err.contains("is not a folder"), "{}", ran.err);
    let ran = world.blitz(1, &["--path", empty]);
    assert!(ran.err.contains("has no drop-in/tokio"), "{}", ran.err);
    world.blitz(64, &["--only", "serde"]);
    world.blitz(64, &["--check", "--undo"]);

    // A file that is not TOML.
    write(&world.at("program/Cargo.lock"), "[[package]\n");
    let ran = world.blitz(1, &["--path", "../blitz-io"]);
    assert!(ran.err.contains("Cargo.lock cannot be read"), "{}", ran.err);
    assert!(!world.read("Cargo.toml").contains("patch"));
}

/// A workspace of three packages: one has Tokio from the workspace, one under another name for one system, and one for its
/// tests.
fn workspace() -> World {
    let world = World::new("");
    let root =
        "[workspace]\nmembers = [\"a\", \"b\", \"c\"]\n\n[workspace.dependencies]\ntokio = \"1\"\n";
    write(&world.at("program/Cargo.toml"), root);
    for (name, dependencies) in [
        (
            "a",
            "tokio.workspace = true # ours\n\n[features]\n# Of mine.\nall = []\n",
        ),
        (
            "b",
            "\n[target.'cfg(all())'.dependencies]\nrt = { package = \"tokio\", version = \"1\" }\n",
        ),
        ("c", "\n[dev-dependencies]\ntokio = \"1\"\n"),
    ] {
        library(
            &world.at(&format!("program/{name}")),
            name,
            "0.1.0",
            dependencies,
        );
    }
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    world
}

/// Returns the files of the workspace.
fn files_of_workspace(world: &World) -> Vec<String> {
    let files = [
        "Cargo.toml",
        "Cargo.lock",
        "a/Cargo.toml",
        "b/Cargo.toml",
        "c/Cargo.toml",
    ];
    files.map(|name| world.read(name)).to_vec()
}

const FEATURES: &str = "inspect = [\"tokio/inspect\"]\nsim = [\"tokio/sim\"]\n";

#[test]
fn each_package_with_tokio_gets_the_features_and_loses_them_again() {
    let world = workspace();
    let before = files_of_workspace(&world);
    let ran = world.blitz(0, &["--dry-run", "--path", "../blitz-io"]);
    let shown =
        "In b/Cargo.toml\n  +[features]\n  +inspect = [\"rt/inspect\"]\n  +sim = [\"rt/sim\"]\n";
    assert!(ran.out.contains(shown), "{}", ran.out);
    assert_eq!(files_of_workspace(&world), before);

    let ran = world.blitz(0, &["--path", "../blitz-io"]);
    let said = "New features\n  - inspect and sim in a/Cargo.toml\n  - inspect and sim in b/Cargo.toml\n  \
                - inspect and sim in c/Cargo.toml\n";
    assert!(ran.out.contains(said), "{}", ran.out);
    assert_eq!(world.read("a/Cargo.toml"), before[2].clone() + FEATURES);
    let renamed = FEATURES.replace("tokio/", "rt/");
    let written = format!("{}\n[features]\n{renamed}", before[3]);
    assert_eq!(world.read("b/Cargo.toml"), written);
    let written = format!("{}\n[features]\n{FEATURES}", before[4]);
    assert_eq!(world.read("c/Cargo.toml"), written);
    world.is_current();
    // Cargo knows the feature in each of them.
    world.cargo(&["tree", "--features", "inspect,sim", "--offline"]);
    // A second run changes nothing.
    let after = files_of_workspace(&world);
    world.migrate(0);
    assert_eq!(files_of_workspace(&world), after);
    let ran = world.blitz(0, &["--undo"]);
    let said = "Taken back in Cargo.lock, Cargo.toml, a/Cargo.toml, b/Cargo.toml, c/Cargo.toml.";
    assert!(ran.out.contains(said), "{}", ran.out);
    assert_eq!(files_of_workspace(&world), before);
}

#[test]
fn a_manifest_that_was_changed_by_hand_loses_the_lines_only() {
    for is_saved in [true, false] {
        let world = workspace();
        let before = files_of_workspace(&world);
        world.migrate(0);
        world.edit("program/a/Cargo.toml", |text| text + "more = [\"all\"]\n");
        if !is_saved {
            fs::remove_dir_all(world.at("program/target")).expect("the folder can be removed");
        }
        let ran = world.blitz(0, &["--undo"]);
        let said = "a/Cargo.toml has changed since `blitz migrate`: only the lines of this command were removed from it.";
        assert_eq!(ran.out.contains(said), is_saved, "{}", ran.out);
        let mut expected = before;
        expected[2] += "more = [\"all\"]\n";
        assert_eq!(files_of_workspace(&world), expected);
    }
}

/// A later run does not save the files that a killed one has left as those of before.
#[test]
fn a_run_that_was_stopped_in_the_middle_loses_nothing() {
    let stopped = || {
        let world = workspace();
        let before = files_of_workspace(&world);
        world.migrate(0);
        let saved = fs::read_dir(world.at("program/target/blitz-migrate"));
        let mut saved = saved.expect("the folder is there");
        let saved = saved
            .next()
            .expect("it has a folder")
            .expect("it can be read");
        // The run would write this last.
        fs::remove_file(saved.path().join("after.json")).expect("the file is there");
        write(&world.at("program/c/Cargo.toml"), &before[4]);
        (world, before)
    };
    let (world, before) = stopped();
    world.blitz(0, &["--undo"]);
    assert_eq!(files_of_workspace(&world), before);

    let (world, before) = stopped();
    world.migrate(0);
    assert!(world.read("c/Cargo.toml").contains("inspect"));
    world.blitz(0, &["--undo"]);
    assert_eq!(files_of_workspace(&world), before);

    // A change by the user stays.
    let (world, mut before) = stopped();
    world.edit("program/a/Cargo.toml", |text| text + "more = [\"all\"]\n");
    world.migrate(0);
    world.blitz(0, &["--undo"]);
    before[2] += "more = [\"all\"]\n";
    assert_eq!(files_of_workspace(&world), before);
}

/// The second run gives the new dependency its feature. One `--undo` takes back both runs.
#[test]
fn a_dependency_on_blitz_io_has_the_feature_too() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    world.edit("blitz-io/crates/blitz-io/Cargo.toml", |text| {
        text + "\n[features]\ninspect = []\n"
    });
    world.publish("tokio", "1.30.0", None);
    let before = world.files();
    world.migrate(0);
    world.cargo(&["add", "blitz-io", "--path", "../blitz-io/crates/blitz-io"]);
    let added = world.read("Cargo.toml");
    let ran = world.blitz(0, &[]);
    assert!(ran.out.contains("- inspect in Cargo.toml"), "{}", ran.out);
    let features = "\ninspect = [\"tokio/inspect\", \"blitz-io/inspect\"]\nsim = [\"tokio/sim\"]\n";
    let expected = added.replace(&format!("\n{FEATURES}"), features);
    assert_eq!(world.read("Cargo.toml"), expected);
    world.is_current();
    world.blitz(0, &["--undo"]);
    let left = world.read("Cargo.toml");
    assert!(left.contains("inspect = [\"blitz-io/inspect\"]"), "{left}");
    assert!(
        !left.contains("patch") && !left.contains("tokio/"),
        "{left}"
    );
    // The version of before both.
    assert!(world.read("Cargo.lock").contains("1.28.0"));
    assert!(before.1.contains("1.28.0"));
}

/// Such as an older release.
#[test]
fn features_that_the_replacement_has_not_are_not_written() {
    let world = World::new("tokio = \"1\"\n");
    world.publish("tokio", "1.28.0", None).checkout("").lock();
    world.edit("blitz-io/drop-in/tokio/Cargo.toml", |text| {
        text.replace("sim = []\n", "")
    });
    let ran = world.blitz(0, &["--path", "../blitz-io"]);
    let said =
        "No package of the program has got the features `inspect` and `sim`, as Cargo refuses them";
    assert!(ran.out.contains(said), "{}", ran.out);
    assert!(!world.read("Cargo.toml").contains("features"));
    world.blitz(0, &["--check"]);
    world.is_current();
}
