//! `blitz completions`, and the answers to the scripts it prints.
//!
//! A script knows nothing about the command. On each completion it calls the command with
//! an environment variable set, so the command can complete what exists only at that time:
//! names of segments.
use std::io;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};

use crate::exit::{self, Exit};
use crate::{Cli, output};

/// The variable in which a script passes the name of its shell.
const VARIABLE: &str = "BLITZ_COMPLETE";

const HELP: &str = "\
Examples:
  blitz completions bash > ~/.local/share/bash-completion/completions/blitz
  blitz completions zsh > ~/.zfunc/_blitz      a folder of $fpath
  blitz completions fish > ~/.config/fish/completions/blitz.fish

Exit statuses:
  0    the script is printed
  1    it cannot be printed
  64   there is no such shell";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The shell to complete for.
    shell: Shell,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let script = script(arguments.shell).map_err(|error| Exit::Failed(error.to_string()))?;
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

fn script(shell: Shell) -> io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&shell.to_string());
    let shell = shell.ok_or(io::ErrorKind::Unsupported)?;
    shell.write_registration(VARIABLE, "blitz", "blitz", "blitz", &mut script)?;
    Ok(script)
}

/// Answers a script, if a script made the call, and returns the code with which the process ends then.
pub fn answer() -> Option<ExitCode> {
    let command = CompleteEnv::with_factory(Cli::command).var(VARIABLE);
    let folder = std::env::current_dir().ok();
    match command.try_complete(std::env::args_os(), folder.as_deref()) {
        Ok(was_answered) => was_answered.then_some(ExitCode::SUCCESS),
        Err(error) => {
            output::tell(error);
            Some(exit::USAGE.into())
        }
    }
}
