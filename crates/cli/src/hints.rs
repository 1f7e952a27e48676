//! Tips for a wrong command line, where clap has none or a misleading one.
//!
//! 1. A word that is nearly a command or an option, or that others use for it. clap compares words in a way that finds
//!    nothing similar to `wy`.
//! 2. A `--` that is missing before a program: the tip is the first line with one that is valid.
//! 3. A command that is a program of its own.
//! 4. A flag that another program has for what this command does (`other_flags.rs`).
//! 5. Where an option of a command does what the word of another program does: `version`, and `bench WORD`.
//! 6. Else the commands of the group.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Error, Parser};

use crate::commands::{self, shown_of};
use crate::{Cli, other_flags, shell};

/// Words that other programs use, and the commands that do this.
const OTHER_WORDS: [(&str, &str); 24] = [
    ("hang", "why"),
    ("gdb", "why"),
    ("slow", "trace"),
    ("profile", "trace"),
    ("perf", "trace"),
    ("record", "trace"),
    ("strace", "trace"),
    ("htop", "top"),
    ("pigz", "gzip"),
    ("zcat", "gunzip"),
    ("compress", "gzip"),
    ("gz", "gzip"),
    ("zip", "gzip"),
    ("decompress", "gunzip"),
    ("uncompress", "gunzip"),
    ("unzip", "gunzip"),
    ("checksum", "sha256"),
    ("hash", "sha256"),
    ("sha256sum", "sha256"),
    ("list", "ls"),
    ("rm", "clean"),
    ("ipcs", "ls"),
    ("ipcrm", "clean"),
    ("test", "run"),
];

/// Adds tips to the error of this command line, which begins with the name of the program.
pub fn add(error: &mut Error, line: &[OsString]) {
    keep_shown(error);
    let (_, rest) = reached(line);
    let is_known = |word: &OsString| OTHER_WORDS.iter().any(|(other, _)| word == other);
    if rest.first().is_some_and(is_known) {
        error.remove(ContextKind::SuggestedSubcommand);
    }
    if suggest_for_other_flag(error, line) {
        return;
    }
    let has = |kind| error.get(kind).is_some();
    if has(ContextKind::SuggestedSubcommand) || has(ContextKind::SuggestedArg) {
        // An option that is nearly right is no value.
        error.remove(ContextKind::Suggested);
        return;
    }
    let missing: &[&str] = match error.kind() {
        ErrorKind::InvalidSubcommand if line.get(1).is_some_and(|word| word == "fastq") => {
            let tip = concat!(
                "blitz-fastq is a program of its own: cargo install --git ",
                env!("CARGO_PKG_REPOSITORY"),
                " blitz-io-fastq"
            );
            insert(error, tip.to_owned());
            return;
        }
        ErrorKind::InvalidSubcommand if suggest_other_line(error, line) => return,
        ErrorKind::InvalidSubcommand => &["run", "--"],
        ErrorKind::UnknownArgument => &["--"],
        _ => return,
    };
    let is_found = suggest_option(error, line)
        || suggest_command(error, line)
        || suggest_dashes(error, line, missing);
    if !is_found && error.kind() == ErrorKind::InvalidSubcommand {
        list_commands(error, line);
    } else if !is_found {
        suggest_file_only(error);
    }
}

/// Removes the tip to write `-- --word` for an unknown option, unless there is a file of this name.
fn suggest_file_only(error: &mut Error) {
    let is_file = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) => Path::new(word).exists(),
        _ => false,
    };
    if !is_file {
        error.remove(ContextKind::Suggested);
    }
}

/// Removes hidden commands from those that clap suggests.
fn keep_shown(error: &mut Error) {
    let Some(ContextValue::Strings(suggested)) = error.get(ContextKind::SuggestedSubcommand) else {
        return;
    };
    let command = Cli::command();
    let is_hidden = |name: &&String| {
        let found = command.find_subcommand(name);
        found.is_some_and(Command::is_hide_set)
    };
    let shown: Vec<String> = suggested
        .iter()
        .filter(|name| !is_hidden(name))
        .cloned()
        .collect();
    error.remove(ContextKind::SuggestedSubcommand);
    if !shown.is_empty() {
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(shown),
        );
    }
}

/// Suggests what does the same as a flag of another program. Returns `false` if it is none.
fn suggest_for_other_flag(error: &mut Error, line: &[OsString]) -> bool {
    let tip = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => {
            let (command, _) = reached(line);
            other_flags::tip(command.get_bin_name().unwrap_or_default(), flag, line)
        }
        _ => None,
    };
    let Some(tip) = tip else {
        return false;
    };
    error.remove(ContextKind::SuggestedArg);
    insert(error, tip);
    true
}

/// Suggests options that are nearly the unknown one. Returns `false` if there is none.
fn suggest_option(error: &mut Error, line: &[OsString]) -> bool {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(unknown)) => unknown.strip_prefix("--"),
        _ => None,
    };
    let Some(unknown) = unknown else {
        return false;
    };
    let unknown = unknown.split('=').next().unwrap_or(unknown);
    let (command, _) = reached(line);
    let options = command.get_arguments().filter_map(|option| {
        let is_shown = !option.is_hide_set();
        is_shown.then(|| option.get_long()).flatten()
    });
    let found = nearest(unknown, options);
    if let [first, ..] = &found[..] {
        let first = ContextValue::String(format!("--{first}"));
        error.insert(ContextKind::SuggestedArg, first);
        error.remove(ContextKind::Suggested);
    }
    !found.is_empty()
}

/// Suggests the line with an option that does what this line seems to mean. Returns `false` if there is none.
fn suggest_other_line(error: &mut Error, line: &[OsString]) -> bool {
    let (command, rest) = reached(line);
    let word = rest.first().and_then(|word| word.to_str());
    let tip = match (command.get_bin_name().unwrap_or("blitz"), word) {
        ("blitz", Some("version")) => "blitz --version prints it".to_owned(),
        ("blitz bench", Some(word)) if similar(&command, word).is_empty() => format!(
            "for the scenarios with this in their names: blitz bench --filter {}",
            shell::line([word])
        ),
        _ => return false,
    };
    insert(error, tip);
    true
}

/// Suggests commands that are nearly the first word after a command. Returns `false` if there is none.
fn suggest_command(error: &mut Error, line: &[OsString]) -> bool {
    let (command, rest) = reached(line);
    let word = rest.first().and_then(|word| word.to_str());
    let found = word.map_or_else(Vec::new, |word| similar(&command, word));
    let is_any = !found.is_empty();
    if is_any {
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(found),
        );
        error.remove(ContextKind::Suggested);
    }
    is_any
}

/// Returns the commands of this one that the word nearly names, or that do what it says.
pub fn similar(command: &Command, word: &str) -> Vec<String> {
    let names = || shown_of(command).map(Command::get_name);
    let mut found = nearest(word, names());
    let other = OTHER_WORDS.iter().find(|(other, _)| word == *other);
    let meant = other.map(|&(_, meant)| meant);
    found.extend(names().find(|name| Some(*name) == meant).map(str::to_owned));
    // `blitz replay` is nearly `blitz sim replay`.
    for name in names() {
        let inner = command.find_subcommand(name);
        let mut inner = inner.into_iter().flat_map(Command::get_subcommands);
        let inner = inner.find(|one| [Some(word), meant].contains(&Some(one.get_name())));
        found.extend(inner.map(|inner| format!("{name} {}", inner.get_name())));
    }
    found
}

/// Lists the commands of a group. Those of `blitz` are in its help.
fn list_commands(error: &mut Error, line: &[OsString]) {
    let (group, _) = reached(line);
    let names: Vec<&str> = shown_of(&group).map(Command::get_name).collect();
    let Some(name) = group.get_bin_name().filter(|name| name.contains(' ')) else {
        insert(error, "`blitz help` lists the commands".to_owned());
        return;
    };
    let tip = match &names[..] {
        [] => return,
        [one] => format!("the only command of `{name}` is {one}"),
        names => format!("the commands of `{name}` are {}", names.join(", ")),
    };
    insert(error, tip);
}

/// Suggests a line that is valid because these words stand before a program. Returns `false` if there is none.
fn suggest_dashes(error: &mut Error, line: &[OsString], missing: &[&str]) -> bool {
    if line.iter().any(|word| word == "--") {
        return false;
    }
    let is_program = |at: &usize| !line[*at].as_encoded_bytes().starts_with(b"-");
    let with = |at: usize| {
        let missing = missing.iter().map(OsStr::new);
        let before = line[..at].iter().map(OsString::as_os_str);
        let after = line[at..].iter().map(OsString::as_os_str);
        before.chain(missing).chain(after).collect::<Vec<&OsStr>>()
    };
    let lines = (1..line.len()).filter(is_program).map(with);
    let valid = lines
        .into_iter()
        .find(|line| Cli::try_parse_from(line).is_ok());
    if let Some(valid) = valid {
        let tip = format!(
            "put `{}` before the program: blitz {}",
            missing.join(" "),
            shell::line(&valid[1..])
        );
        insert(error, tip);
        return true;
    }
    false
}

/// Adds a tip to the error.
fn insert(error: &mut Error, tip: String) {
    let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
    error.insert(ContextKind::Suggested, tip);
}

/// Returns the command that the line names, and the words after its name and the options that follow: the first one, if any, is
/// no command.
fn reached(line: &[OsString]) -> (Command, &[OsString]) {
    let mut command = commands::all();
    let mut rest = line.get(1..).unwrap_or_default();
    while let Some(word) = rest.first().and_then(|word| word.to_str()) {
        if word.starts_with('-') && word != "--" {
            let taken = 1 + usize::from(takes_next(&command, word));
            rest = rest.get(taken..).unwrap_or_default();
        } else if let Some(found) = command.find_subcommand(word).cloned() {
            (command, rest) = (found, &rest[1..]);
        } else {
            break;
        }
    }
    (command, rest)
}

/// Returns `true` if the value of this option is the next word.
fn takes_next(command: &Command, option: &str) -> bool {
    let is_it = |known: &&Arg| {
        let long = option.strip_prefix("--");
        long.is_some() && known.get_long() == long
            || known
                .get_short()
                .is_some_and(|short| option == format!("-{short}"))
    };
    let found = command.get_arguments().find(is_it);
    found.is_some_and(|known| known.get_action().takes_values() && !known.is_require_equals_set())
}

/// Returns those of the names that differ least from the word, if they differ by few letters.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut least = usize::MAX;
    let mut found = vec![];
    for name in names {
        let length = word.chars().count().max(name.chars().count());
        let distance = distance(word, name);
        // One letter in three may differ, and of two letters one.
        if distance > (length / 3).max(1) || distance >= length || distance > least {
            continue;
        }
        if distance < least {
            (least, found) = (distance, vec![]);
        }
        found.push(name.to_owned());
    }
    found
}

/// Returns the number of letters that are missing, added or changed, and of pairs that are swapped (the distance of
/// optimal string alignment).
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before = vec![0; other.len() + 1];
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let differs = usize::from(one[i - 1] != other[j - 1]);
            let mut least = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + differs);
            let is_swapped =
                i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
            if is_swapped {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters_and_swapped_pairs() {
        for (one, other, expected) in [
            ("why", "why", 0),
            ("wy", "why", 1),
            ("sl", "ls", 1),
            ("dto", "dot", 1),
            ("", "ps", 2),
            ("kitten", "sitting", 3),
            ("é", "e", 1),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }

    /// Returns the message about a wrong line.
    fn message(line: &str) -> String {
        let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let Err(mut error) = Cli::try_parse_from(&line) else {
            panic!("{line:?} is valid");
        };
        add(&mut error, &line);
        error.to_string()
    }

    #[test]
    fn words_that_are_nearly_right_are_found() {
        for (line, tip) in [
            ("blitz wy", "'why'"),
            ("blitz tarce", "'trace'"),
            ("blitz sim rn -- ls", "'run'"),
            ("blitz sim rn ls", "'run'"),
            ("blitz ipc sl", "'ls'"),
            ("blitz ipc --directory /x sl", "'ls'"),
            ("blitz pipe gzp", "'gzip'"),
            ("blitz pipe compress x", "'gzip'"),
            ("blitz pipe unzip x", "'gunzip'"),
            ("blitz pipe lz4 x", "are gzip, bgzip, gunzip, sha256"),
            ("blitz ipc list", "'ls'"),
            ("blitz compress x", "'pipe gzip'"),
            ("blitz test", "'sim run'"),
            ("blitz hang", "'why'"),
            ("blitz unlike", "`blitz help` lists the commands"),
            ("blitz trace reprot x.blitz", "'report'"),
            ("blitz replay x", "'sim replay'"),
            ("blitz report x", "'trace report', 'bench report'"),
            ("blitz version", "blitz --version prints it"),
            ("blitz bench mutex", "blitz bench --filter mutex"),
            ("blitz bench reprot", "'report'"),
            ("blitz why --jsn", "'--json'"),
            ("blitz why --dto", "'--dot'"),
            ("blitz lint --jsn -- ls", "'--json'"),
            ("blitz lint --sarfi=x -- ls", "'--sarif'"),
        ] {
            let message = message(line);
            assert!(message.contains(tip), "{line}: {message}");
            assert!(!message.contains("as a value"), "{line}: {message}");
        }
        // A command that is hidden.
        assert!(!message("blitz hogs").contains("'hog'"));
        for line in [
            "blitz unlike",
            "blitz",
            "blitz why --unlike",
            "blitz trace x y z",
        ] {
            let message = message(line);
            assert!(!message.contains("similar"), "{line}: {message}");
            assert!(!message.contains("as a value"), "{line}: {message}");
        }
    }

    #[test]
    fn flags_of_other_programs_have_tips() {
        for (line, tip) in [
            (
                "blitz pipe gzip -d x.gz",
                "`blitz pipe gunzip` decompresses",
            ),
            ("blitz pipe gzip -k x", "leave it out"),
            ("blitz pipe gzip -9kf x", "leave it out"),
            ("blitz pipe gzip --stdout x", "without --output"),
            ("blitz pipe gunzip --keep x.gz", "input files stay"),
            ("blitz pipe gzip -r x", "tar c"),
            ("blitz pipe gzip -T0 x", "--threads NUMBER; without it"),
            ("blitz pipe bgzip -@ 4 x", "--threads 4;"),
            ("blitz pipe gzip --processes=4 x", "--threads 4;"),
            ("blitz pipe sha256 -c SUMS", "`sha256sum -c` checks"),
            ("blitz ps aux", "it lists all processes"),
            ("blitz ps -ef", "it lists all processes"),
            ("blitz top -p 4711", ": blitz top 4711"),
            ("blitz top -d 2", "--every 2s"),
            ("blitz top -b -n 1", "--once"),
            ("blitz why --pid=4711", ": blitz why 4711"),
            ("blitz why -p", ": blitz why PID"),
            ("blitz trace -p4711", ": blitz trace 4711"),
            ("blitz ipcs", "'ipc ls'"),
            ("blitz ipcrm x", "'ipc clean'"),
            ("blitz ipc ls -m", "all kinds"),
            ("blitz ipc clean -m 5", "without a live participant"),
            ("blitz ipc tail prices -f", "leave it out"),
            ("blitz sim run -n 10 -- ./x", "--seeds 10"),
            ("blitz migrate --manifest-path x", "blitz migrate x"),
        ] {
            let message = message(line);
            assert!(message.contains(tip), "{line}: {message}");
            assert_eq!(message.matches("tip:").count(), 1, "{line}: {message}");
        }
    }

    /// A flag that a command has got needs no tip, and the commands of the list exist.
    #[test]
    fn the_flags_of_other_programs_are_none_of_ours() {
        for (command, flag) in other_flags::all() {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let found = commands::named(&words).unwrap();
            let mut options = found.get_arguments();
            let is_ours = options.any(|option| {
                option
                    .get_long()
                    .is_some_and(|long| flag == format!("--{long}"))
                    || option
                        .get_short()
                        .is_some_and(|short| flag == format!("-{short}"))
            });
            assert!(!is_ours, "{command} {flag}");
        }
    }

    #[test]
    fn dashes_that_are_missing_before_a_program_are_shown() {
        for (line, tip) in [
            (
                "blitz lint cargo test",
                "put `--` before the program: blitz lint -- cargo test",
            ),
            (
                "blitz lint --json cargo test --features x",
                "blitz lint --json -- cargo test --features x",
            ),
            (
                "blitz lint --sarif x.json cargo test",
                "blitz lint --sarif x.json -- cargo test",
            ),
            ("blitz sim run cargo test", "blitz sim run -- cargo test"),
            (
                "blitz sim run --seeds 9 ./x",
                "blitz sim run --seeds 9 -- ./x",
            ),
            ("blitz sim check ./a$b", "blitz sim check -- './a$b'"),
            (
                "blitz sim ./x --selftest",
                "put `run --` before the program: blitz sim run -- ./x --selftest",
            ),
            (
                "blitz trace ./x --selftest",
                "blitz trace -- ./x --selftest",
            ),
            ("blitz trace cargo test", "blitz trace -- cargo test"),
            ("blitz fastq reads.fq", " blitz-io-fastq"),
        ] {
            let message = message(line);
            assert!(message.contains(&format!("{tip}\n")), "{line}: {message}");
        }
        for line in [
            "blitz why ./x y",
            "blitz sim run --seeds x ./x",
            "blitz sim",
            "blitz ps x",
        ] {
            let message = message(line);
            assert!(!message.contains("before the program"), "{line}: {message}");
        }
    }
}
