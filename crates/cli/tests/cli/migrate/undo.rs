//! `--undo`, and programs whose features and files are taken back.

use std::fs;

use super::held_back;
use super::world::{World, library, write};

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
fn a_feature_of_the_replacement_is_named_if_there_is_no_lock_file() {
    let world = World::new("tokio = { version = \"1\", features = [\"inspect\"] }\n");
    world.publish("tokio", "1.28.0", None).checkout("");
    let ran = world.blitz(1, &["--path", "../blitz-io"]);
    let said = "Only blitz-io's tokio has the feature `inspect`. Remove it from the manifests of the program, and run \
                `blitz migrate` again. Then the feature may come back.";
    assert!(ran.err.contains(said), "{}", ran.err);
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
