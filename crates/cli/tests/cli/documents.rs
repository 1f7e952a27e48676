//! The commands that the documents show.

use std::fs;
use std::path::{Path, PathBuf};

use super::common::expect;

/// Returns the Markdown files below `folder`.
fn markdown(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            markdown(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Returns the commands of `text`: lines of a block for a shell, and what stands between backticks.
fn commands(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_shell = false;
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            is_shell = language == "sh";
        } else if is_shell {
            found.push(line);
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found.retain(|command| command.starts_with("blitz "));
    found
}

/// Returns the arguments of a command, up to a comment, an operator of the shell, or the command line of
/// another program.
fn arguments(command: &str) -> Vec<&str> {
    command
        .split_whitespace()
        .skip(1)
        .take_while(|word| *word != "--" && !word.starts_with(['#', '|', '>', '&']))
        .map(|word| word.trim_matches('\''))
        .collect()
}

#[test]
fn the_commands_of_the_documents_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![
        root.join("README.md"),
        root.join("crates/cli/README.md"),
        root.join("crates/bench/README.md"),
    ];
    markdown(&root.join("book/src"), &mut pages);
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(&page).expect("the page can be read");
        for command in commands(&text) {
            let mut words = arguments(command);
            // `blitz COMMAND` and `blitz …` stand for several.
            let is_one = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
            if !words.first().is_some_and(is_one) {
                continue;
            }
            words.push("--help");
            expect(0, &words);
            count += 1;
        }
    }
    assert!(count >= 30, "only {count} commands were found");
}
