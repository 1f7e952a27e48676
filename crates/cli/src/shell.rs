//! Command lines as a user would type them.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Returns the words as one line for a shell: words that it would change stand between quotes.
pub fn line<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> String {
    let words = words.into_iter();
    let words: Vec<String> = words
        .map(|word| quoted(&word.as_ref().to_string_lossy()).into_owned())
        .collect();
    words.join(" ")
}

fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-+=:,./@%^".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
    }
}

/// What to do if there is no such program.
pub const HOW_TO_NAME_A_PROGRAM: &str =
    "Give the path of the program, such as target/debug/server, or the name of one in PATH.";

/// Returns the place of Cargo's subcommand, if the words call Cargo: `cargo +nightly test` names a toolchain first.
pub fn cargo_command(words: &[OsString]) -> Option<usize> {
    let program = Path::new(words.first()?);
    let is_cargo = program.file_stem().is_some_and(|name| name == "cargo");
    let has_toolchain = |word: &OsString| word.as_encoded_bytes().starts_with(b"+");
    is_cargo.then(|| 1 + usize::from(words.get(1).is_some_and(has_toolchain)))
}

/// Returns `true` if the words are `cargo test`, whose filter may select no test.
pub fn is_cargo_test(words: &[OsString]) -> bool {
    let command = cargo_command(words).and_then(|place| words.get(place));
    command.is_some_and(|command| ["test", "t", "nextest"].iter().any(|it| command == it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        let words = ["a b", "", "it's", "--x=1", "é", "$HOME"];
        assert_eq!(line(words), r"'a b' '' 'it'\''s' --x=1 é '$HOME'");
    }

    #[test]
    fn cargo_may_be_given_a_toolchain() {
        for (words, place) in [
            ("cargo test", Some(1)),
            ("/usr/bin/cargo +1.85 test", Some(2)),
            ("cargo", Some(1)),
            ("./server test", None),
        ] {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert_eq!(cargo_command(&words), place, "{words:?}");
        }
        assert_eq!(cargo_command(&[]), None);
    }

    #[test]
    fn tests_of_cargo_are_known() {
        for (words, is_test) in [
            ("cargo test --features inspect transfer", true),
            ("cargo +1.85 t", true),
            ("cargo run test", false),
            ("./server test", false),
        ] {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert_eq!(is_cargo_test(&words), is_test, "{words:?}");
        }
    }
}
