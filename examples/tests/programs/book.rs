//! The recipes of the book: each ends by itself, and asserts what it shows.

use crate::{program, run};

#[test]
fn the_recipes_of_the_book_end_well() {
    let manifest = include_str!("../../Cargo.toml");
    let mut count = 0;
    for line in manifest.lines() {
        let Some(name) = line
            .strip_prefix("name = \"")
            .and_then(|rest| rest.strip_suffix('"'))
        else {
            continue;
        };
        if !name.starts_with("cookbook_") {
            continue;
        }
        let ran = run(program(name), "");
        assert_eq!(ran.code, 0, "{name}\n{}{}", ran.out, ran.err);
        count += 1;
    }
    assert!(count >= 10, "only {count} programs are in the manifest");
}
