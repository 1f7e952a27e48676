//! Each program of the tutorial ends by itself, and asserts what it shows.
//!
//! `cargo test` builds the examples before it runs this.

use std::process::{Command, Stdio};

#[test]
fn the_programs_of_the_tutorial_end_well() {
    let mut folder = std::env::current_exe().unwrap();
    assert!(folder.pop() && folder.pop());
    let manifest = include_str!("../Cargo.toml");
    let names = manifest.lines().filter_map(|line| {
        line.strip_prefix("name = \"tutorial_")
            .and_then(|rest| rest.strip_suffix('"'))
    });
    let mut count = 0;
    for name in names {
        let mut path = folder.join("examples").join(format!("tutorial_{name}"));
        path.set_extension(std::env::consts::EXE_EXTENSION);
        let ran = Command::new(path).stdin(Stdio::null()).output();
        let ran = ran.expect("build the examples first: cargo test does");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{name}: {}\n{said}", ran.status);
        count += 1;
    }
    assert!(count >= 10, "only {count} programs are in the manifest");
}
