//! `blitz migrate` from outside, in programs whose registry is a folder: nothing here needs the
//! network.

mod undo;
mod workspace;
mod world;

use std::fs;

use serde_json::json;

use self::world::{World, library, write};
use super::common::{Ran, blitz, expect};

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
