//! `blitz completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::{Cli, output};

#[derive(Args)]
pub struct Arguments {
    /// The shell to complete for.
    shell: Shell,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "blitz", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
