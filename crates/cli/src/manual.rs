//! `blitz man` shows a man page, and `blitz manual` writes them all, for packages of the program.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, Command, ValueHint};
use clap_mangen::Man;

use crate::exit::Exit;
use crate::{commands, output};

const HELP: &str = "\
Examples:
  blitz man                the page of `blitz`
  blitz man ipc ls         that of a command; also ipc-ls or blitz-ipc-ls, the name of the page
  blitz man why | man -l -   the source of a page goes into a pipe

Exit statuses:
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

/// Returns the page of a command. clap_mangen takes the last word of a command for the name of the program.
fn page_of(command: &Command) -> Man {
    let version = command.get_version().unwrap_or_default();
    Man::new(command.clone()).source(format!("blitz {version}"))
}

/// Returns the page of the command with these words.
fn source(words: &[String]) -> Result<Vec<u8>, Exit> {
    let command = commands::named(words)?;
    let mut text = Vec::new();
    let rendered = page_of(&command).render(&mut text);
    rendered.map_err(|error| Exit::Failed(format!("the page cannot be made: {error}")))?;
    Ok(text)
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
        commands::shown_of(command).try_for_each(|one| write_all(one, folder))
    }
    fs::create_dir_all(folder)?;
    write_all(&commands::all(), folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

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
        let message = |words: &[&str]| match source(words) {
            Err(Exit::Usage(message)) => message,
            _ => panic!("{words:?} is no command"),
        };
        let nearly = message(&["sim", "rum"]);
        assert!(nearly.contains("Did you mean `blitz sim run`?"), "{nearly}");
        let other = message(&["sim", "nothing"]);
        assert!(other.contains("`blitz sim` are run, replay"), "{other}");
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

    fn help_of(command: &clap::Command) -> String {
        let help = command.get_after_help().map(ToString::to_string);
        help.unwrap_or_default()
    }

    /// Each command that a user calls says how, and how it ends.
    fn has_examples_and_statuses(command: &clap::Command) {
        let (name, help) = (command.get_name(), help_of(command));
        let is_root = name == "blitz";
        for part in ["Examples:\n", "Exit statuses:\n"] {
            let is_needed = !is_root || part.starts_with("Exit");
            assert!(
                !is_needed || help.contains(part),
                "{name} has no {part}: {help}"
            );
        }
        commands::shown_of(command).for_each(has_examples_and_statuses);
    }

    #[test]
    fn each_help_has_examples_and_exit_statuses() {
        has_examples_and_statuses(&Cli::command());
    }

    /// Returns the statuses in the help of a command.
    fn statuses_of(command: &clap::Command) -> BTreeSet<u8> {
        let help = help_of(command);
        let (_, section) = help.split_once("Exit statuses:\n").unwrap_or_default();
        let begin = |line: &str| {
            let (number, _) = line.strip_prefix("  ")?.split_once(' ')?;
            number.parse().ok()
        };
        section.lines().filter_map(begin).collect()
    }

    /// Returns the statuses of the book's page, and the commands that end with each.
    fn statuses_of_the_book() -> Vec<(u8, Vec<String>)> {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../book/src/exit-statuses.md"
        );
        let page = fs::read_to_string(path).unwrap();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let status = cells.get(1)?.parse().ok()?;
            let names = cells.get(cells.len() - 2)?.split([',', ';']);
            // `sim run` is one of the commands of `sim`.
            let first = |name: &str| {
                let name = name.trim().trim_matches('`');
                name.split(' ').next().unwrap_or(name).to_owned()
            };
            Some((status, names.map(first).collect()))
        };
        page.lines().filter_map(row).collect()
    }

    #[test]
    fn the_statuses_of_the_helps_are_those_of_the_book() {
        let book = statuses_of_the_book();
        assert!(book.len() > 5, "{book:?}");
        let all = Cli::command();
        let in_book = |name: &str| -> BTreeSet<u8> {
            let ends = |(_, names): &&(u8, Vec<String>)| {
                let mut names = names.iter();
                names.any(|one| one == "all" || one == name || name == "blitz")
            };
            book.iter()
                .filter(ends)
                .map(|&(status, _)| status)
                .collect()
        };
        assert_eq!(statuses_of(&all), in_book("blitz"));
        for command in commands::shown_of(&all) {
            let name = command.get_name();
            // Without the benchmark it only says so.
            if name != "bench" || cfg!(feature = "bench") {
                assert_eq!(statuses_of(command), in_book(name), "{name}");
            }
            for inner in commands::shown_of(command) {
                let own = statuses_of(inner);
                let name = inner.get_name();
                assert!(own.is_subset(&statuses_of(command)), "{name}: {own:?}");
            }
        }
    }

    #[test]
    fn no_line_of_a_help_is_broken() {
        has_short_lines(&Cli::command());
    }
}
