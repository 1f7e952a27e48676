//! `blitz bench` of a command that was built without the benchmark.

use std::ffi::OsString;

use clap::Args;

use crate::exit::Exit;

const ABSENT: &str = "\
this `blitz` is built without the benchmark and its peers

Install it with them, which takes some minutes:
  cargo install --git https://github.com/blitz-io/blitz-io blitz-io-cli";

const HELP: &str = "\
Examples:
  blitz bench    how to install it

Exit statuses:
  1    the benchmark is not there
  64   the arguments are wrong";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// Those of the benchmark.
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<OsString>,
}

/// Says how to get the benchmark.
pub fn run(_: &Arguments) -> Result<Exit, Exit> {
    Err(Exit::Failed(ABSENT.into()))
}
