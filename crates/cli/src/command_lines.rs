//! Command lines of random words: each is accepted, or refused with a message.

use clap::{CommandFactory, Parser};

use crate::Cli;

/// Values that some option takes, and values that look like them.
const VALUES: [&str; 24] = [
    "",
    "-",
    "--",
    "-1",
    "0",
    "1",
    "4",
    "1024",
    "18446744073709551616",
    "1e400",
    "NaN",
    "0.5",
    "0,2-3",
    "3-1",
    "0-99999",
    ",",
    "none",
    "tokio",
    "(",
    "^mutex",
    "x.json",
    "bash",
    "é",
    "\u{0}",
];

/// Numbers that only look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn of<'a>(&mut self, words: &'a [String]) -> &'a str {
        &words[self.below(words.len())]
    }
}

/// Adds the names of the command's options and subcommands.
fn add_words(command: &clap::Command, words: &mut Vec<String>) {
    for argument in command.get_arguments() {
        words.extend(argument.get_long().map(|long| format!("--{long}")));
        words.extend(argument.get_short().map(|short| format!("-{short}")));
    }
    for command in command.get_subcommands() {
        words.push(command.get_name().to_owned());
        add_words(command, words);
    }
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn no_command_line_panics() {
    let command = Cli::command();
    let first: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    let mut words = vec![];
    add_words(&command, &mut words);
    let values = VALUES.map(str::to_owned);
    let mut random = Random(1);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..5000 {
        let mut line = vec!["blitz".to_owned(), random.of(&first).to_owned()];
        for _ in 0..random.below(6) {
            let word = match random.below(3) {
                0 => random.of(&values).to_owned(),
                1 => format!("{}={}", random.of(&words), random.of(&values)),
                _ => random.of(&words).to_owned(),
            };
            line.push(word);
        }
        match Cli::try_parse_from(&line) {
            Ok(_) => accepted += 1,
            Err(message) => {
                assert!(!message.to_string().is_empty(), "{line:?}");
                refused += 1;
            }
        }
    }
    assert!(accepted > 0 && refused > 0);
}
