//! `blitz help`.
//!
//! It takes the place of clap's own command, which knows neither `blitz help --help` nor how the other commands report that
//! there is no such command.

use std::ffi::OsString;

use clap::{Args, CommandFactory, Error, Parser};

use crate::exit::Exit;
use crate::{Cli, commands, output};

const HELP: &str = "\
Examples:
  blitz help               what there is
  blitz help sim run       the same as blitz sim run --help, and as blitz sim help run
  blitz man sim run        the same as a man page

Exit statuses:
  0    the help is printed
  1    it cannot be printed
  64   there is no such command";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The command, such as `why` or `ipc ls`. Without it: the help of `blitz`.
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

/// Prints the help of a command, as its own option `--help` does.
pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let command = commands::named(&arguments.words)?;
    let name = command.get_bin_name().unwrap_or("blitz").to_owned();
    let line = name.split(' ').chain(["--help"]);
    match Cli::try_parse_from(line) {
        Err(help) if !help.use_stderr() => printed(&help).map(|()| Exit::Done),
        _ => Err(Exit::Failed(format!("`{name}` has no help"))),
    }
}

/// Prints clap's text for standard output. A closed pipe is no failure; clap would report no other failure.
pub fn printed(help: &Error) -> Result<(), Exit> {
    match help.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(output::unwritable(&error))
        }
        _ => Ok(()),
    }
}

/// Returns the line with the word `help` moved behind the program, if it follows a group of commands: `blitz sim help run`
/// becomes `blitz help sim run`.
pub fn with_help_first(line: &[OsString]) -> Vec<OsString> {
    let mut command = Cli::command();
    for (at, word) in line.iter().enumerate().skip(1) {
        let Some(word) = word.to_str() else { break };
        if word == "help" && at > 1 && command.has_subcommands() {
            let mut line = line.to_vec();
            let help = line.remove(at);
            line.insert(1, help);
            return line;
        }
        match command.find_subcommand(word).cloned() {
            Some(found) => command = found,
            None => break,
        }
    }
    line.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_for_a_group_is_help() {
        let moved = |line: &str| {
            let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let words = with_help_first(&line).into_iter();
            let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
            words.join(" ")
        };
        for (line, expected) in [
            ("blitz sim help run", "blitz help sim run"),
            ("blitz sim help --help", "blitz help sim --help"),
            ("blitz help sim", "blitz help sim"),
            // The program of this name, and a process.
            ("blitz sim run -- help", "blitz sim run -- help"),
            ("blitz why help", "blitz why help"),
            ("blitz", "blitz"),
        ] {
            assert_eq!(moved(line), expected);
        }
    }
}
