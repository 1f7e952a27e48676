//! Names of segments, for the completions of shells.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use blitz_io_ipc::Kind;
use clap_complete::CompletionCandidate;

/// Returns the segments with messages whose names begin with `current`. If there are none,
/// or they cannot be listed, there is nothing to complete.
pub fn complete(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = match directory(std::env::args_os()) {
        Some(directory) => blitz_io_ipc::list_in(&directory),
        None => blitz_io_ipc::list(),
    };
    let current = current.to_string_lossy();
    let has_messages = |kind| matches!(kind, Kind::Route | Kind::Channel | Kind::Queue);
    found
        .unwrap_or_default()
        .into_iter()
        .filter(|segment| has_messages(segment.kind) && segment.name.starts_with(&*current))
        .map(|segment| {
            let help = format!("{:?}", segment.kind).to_lowercase();
            CompletionCandidate::new(segment.name).help(Some(help.into()))
        })
        .collect()
}

/// Returns the value of `--directory` in the line that is completed.
fn directory(line: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let mut words = line.skip_while(|word| word != "--").skip(1);
    while let Some(word) = words.next() {
        if word == "--directory" {
            // In bash a `=` is a word of its own.
            let value = words.next()?;
            return if value == "=" {
                words.next()
            } else {
                Some(value)
            }
            .map(PathBuf::from);
        }
        let value = word
            .to_str()
            .and_then(|word| word.strip_prefix("--directory="));
        if let Some(value) = value {
            return Some(PathBuf::from(value));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::directory;

    #[test]
    fn the_directory_is_found_however_the_shell_splits_words() {
        for words in [
            &[
                "blitz",
                "--",
                "blitz",
                "ipc",
                "tail",
                "--directory",
                "/a",
                "p",
            ][..],
            &[
                "blitz",
                "--",
                "blitz",
                "ipc",
                "--directory",
                "=",
                "/a",
                "tail",
                "p",
            ],
            &["blitz", "--", "blitz", "ipc", "--directory=/a", "tail"],
        ] {
            let found = directory(words.iter().map(Into::into));
            assert_eq!(found, Some("/a".into()), "{words:?}");
        }
        let none = ["blitz", "--", "blitz", "ipc", "tail", "p"];
        assert_eq!(directory(none.iter().map(Into::into)), None);
    }
}
