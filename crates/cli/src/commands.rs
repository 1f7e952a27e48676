//! The command that words name, such as `sim run`.

use clap::{Command, CommandFactory};

use crate::Cli;
use crate::exit::Exit;
use crate::hints;

/// Returns all commands, each with its whole name.
pub fn all() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Returns the commands of this one that are not hidden.
pub fn shown_of(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| !one.is_hide_set())
}

/// Returns the command with these words, without that of the program. A word may be several, with a space or `-` between
/// them, as in the name of a man page.
pub fn named(words: &[String]) -> Result<Command, Exit> {
    let mut command = all();
    let parts = words.iter().flat_map(|word| word.split([' ', '-']));
    let mut parts = parts.filter(|part| !part.is_empty()).peekable();
    // As in the name of a page.
    parts.next_if_eq(&"blitz");
    for part in parts {
        let Some(found) = shown_of(&command).find(|one| one.get_name() == part) else {
            return Err(unknown(&words.join(" "), part, &command));
        };
        command = found.clone();
    }
    Ok(command)
}

/// Returns the error for words that name no command. `wrong`: the first of them that does not, after those of `command`.
fn unknown(words: &str, wrong: &str, command: &Command) -> Exit {
    let name = command.get_bin_name().unwrap_or("blitz");
    let similar = hints::similar(command, wrong);
    let names: Vec<&str> = shown_of(command).map(Command::get_name).collect();
    let advice = if let [first, ..] = &similar[..] {
        format!("Did you mean `{name} {first}`?")
    } else if names.is_empty() {
        format!("`{name}` has no commands of its own.")
    } else {
        format!("The commands of `{name}` are {}.", names.join(", "))
    };
    Exit::usage(format_args!("there is no command `blitz {words}`"), advice)
}
