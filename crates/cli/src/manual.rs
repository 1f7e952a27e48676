//! `blitz manual`: writes the man pages, for packages of the program.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, ValueHint};

use crate::Cli;
use crate::exit::Exit;

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
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
