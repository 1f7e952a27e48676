//! The features that the packages of a program get.

use std::fs;

use super::world::{World, library, write};

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
