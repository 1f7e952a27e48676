//! `blitz man` shows a man page, and `blitz manual` writes them all, for packages of the program.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory, ValueHint};
use clap_mangen::Man;

use crate::exit::Exit;
use crate::{Cli, output};

const HELP: &str = "\
Examples:
  blitz man                the page of `blitz`
  blitz man ipc ls         that of a command; also ipc-ls or blitz-ipc-ls, the name of the page
  blitz man why | man -l -   the source of a page goes into a pipe

Exit codes:
  0    the page is shown
  1    it cannot be printed
  64   there is no such command";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct Page {
    /// The command, such as `why` or `ipc ls`. Without it: the page of `blitz`.
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

/// Shows the page with `man`. Prints its source if standard output is no terminal, or there is no `man`.
pub fn show(page: &Page) -> Result<Exit, Exit> {
    let text = source(&page.words)?;
    if std::io::stdout().is_terminal() && shown(&text).unwrap_or(false) {
        return Ok(Exit::Done);
    }
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// Returns all commands, each with its whole name.
fn commands() -> Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}

/// Returns the commands of this one that have a page.
fn shown_of(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| !one.is_hide_set())
}

/// Returns the page of a command. clap_mangen takes the last word of a command for the name of the program.
fn page_of(command: &Command) -> Man {
    let version = command.get_version().unwrap_or_default();
    Man::new(command.clone()).source(format!("blitz {version}"))
}

/// Returns the page of the command with these words.
fn source(words: &[String]) -> Result<Vec<u8>, Exit> {
    let mut command = commands();
    let parts = words.iter().flat_map(|word| word.split([' ', '-']));
    let mut parts = parts.filter(|part| !part.is_empty()).peekable();
    // As in the name of a page.
    parts.next_if_eq(&"blitz");
    for part in parts {
        let Some(found) = shown_of(&command).find(|one| one.get_name() == part) else {
            return Err(no_page(&words.join(" "), &command));
        };
        command = found.clone();
    }
    let mut text = Vec::new();
    let rendered = page_of(&command).render(&mut text);
    rendered.map_err(|error| Exit::Failed(format!("the page cannot be made: {error}")))?;
    Ok(text)
}

/// Returns the error for words that name no command. `command`: the command of the words before the wrong word.
fn no_page(words: &str, command: &Command) -> Exit {
    let names: Vec<&str> = shown_of(command).map(Command::get_name).collect();
    let name = command.get_bin_name().unwrap_or("blitz");
    let advice = if names.is_empty() {
        format!(
            "`blitz man {}` shows that of `{name}`.",
            name.trim_start_matches("blitz ")
        )
    } else {
        format!("The commands of `{name}` are {}.", names.join(", "))
    };
    Exit::usage(format_args!("there is no command {words:?}"), advice)
}

/// Shows the page, and returns `false` if `man` did not.
fn shown(text: &[u8]) -> std::io::Result<bool> {
    let folder = std::env::temp_dir().join(format!("blitz-man-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let page = folder.join("blitz.1");
    let shown = |()| std::process::Command::new("man").arg(&page).status();
    let ended = fs::write(&page, text).and_then(shown);
    let _ = fs::remove_dir_all(&folder);
    Ok(ended?.success())
}

#[derive(Args)]
pub struct Arguments {
    /// The folder to write the pages to. It is created if it does not exist.
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let folder = &arguments.folder;
    write(folder).map_err(|error| Exit::Failed(format!("{}: {error}", folder.display())))?;
    Ok(Exit::Done)
}

/// Writes one page for the program, and one for each command that is not hidden.
fn write(folder: &Path) -> std::io::Result<()> {
    fn write_all(command: &Command, folder: &Path) -> std::io::Result<()> {
        page_of(command).generate_to(folder)?;
        shown_of(command).try_for_each(|one| write_all(one, folder))
    }
    fs::create_dir_all(folder)?;
    write_all(&commands(), folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_chosen_by_the_words_of_its_command() {
        let source = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            source(&words)
        };
        for (words, name) in [
            (&[][..], "blitz"),
            (&["blitz"], "blitz"),
            (&["why"], "blitz-why"),
            (&["ipc", "clean"], "blitz-ipc-clean"),
            (&["sim-run"], "blitz-sim-run"),
            (&["blitz-sim-run"], "blitz-sim-run"),
            (&["sim run"], "blitz-sim-run"),
            (&["man"], "blitz-man"),
        ] {
            let page = String::from_utf8(source(words).unwrap()).unwrap();
            let title = format!(".TH {name} 1  \"blitz {}\"", env!("CARGO_PKG_VERSION"));
            assert!(page.contains(&title), "{words:?}: {page}");
            let name = name.replace('-', "\\-");
            assert!(page.contains(&format!("{name} \\- ")), "{words:?}: {page}");
        }
        for words in [
            &["nothing"][..],
            &["ipc", "nothing"],
            &["hog"],
            &["why", "x"],
        ] {
            assert!(matches!(source(words), Err(Exit::Usage(_))), "{words:?}");
        }
        let Err(Exit::Usage(message)) = source(&["sim", "rum"]) else {
            panic!("there is no such command");
        };
        assert!(message.contains("`blitz sim` are run, replay"), "{message}");
    }

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let page = fs::read_to_string(folder.path().join("blitz.1")).unwrap();
        for command in Cli::command().get_subcommands() {
            let name = format!("blitz-{}", command.get_name());
            let shown = !command.is_hide_set();
            assert_eq!(
                folder.path().join(format!("{name}.1")).exists(),
                shown,
                "{name}"
            );
            assert_eq!(page.contains(&name.replace('-', "\\-")), shown, "{name}");
        }
    }

    /// clap breaks longer lines, which leaves a word alone in a line.
    const COLUMNS: usize = 100;

    fn has_short_lines(command: &clap::Command) {
        let text = command.get_after_help().map(ToString::to_string);
        for line in text.iter().flat_map(|text| text.lines()) {
            let length = line.chars().count();
            assert!(length <= COLUMNS, "{}: {line}", command.get_name());
        }
        command.get_subcommands().for_each(has_short_lines);
    }

    /// Each command that a user calls says how, and how it ends.
    fn has_examples_and_codes(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        let is_group = command.is_subcommand_required_set();
        for part in ["Examples:\n", "Exit codes:\n"] {
            let name = command.get_name();
            assert!(
                is_group || help.contains(part),
                "{name} has no {part}: {help}"
            );
        }
        let mut commands: Vec<_> = command.get_subcommands().collect();
        commands.retain(|command| !command.is_hide_set());
        commands.into_iter().for_each(has_examples_and_codes);
    }

    #[test]
    fn each_help_has_examples_and_exit_codes() {
        has_examples_and_codes(&Cli::command());
    }

    #[test]
    fn no_line_of_a_help_is_broken() {
        has_short_lines(&Cli::command());
    }
}
