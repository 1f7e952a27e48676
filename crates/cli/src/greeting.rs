//! The greeting of `blitz` without arguments, on a terminal.

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;

use crate::exit::Exit;
use crate::output;

/// The lines are short enough for a terminal of 60 columns.
const GREETING: &str = "\
blitz-io: everything in a program that waits.

  blitz why PID          why a program hangs
  blitz trace PID        where its requests wait
  blitz sim run -- TEST  tests that fail once in a thousand
  blitz lint -- PROGRAM  what could hang in another run
  blitz top PID          what a program does now
  blitz migrate --check  what blitz-io could replace here
  blitz bench --quick    blitz-io beside the best others
  blitz doctor           what this machine offers
  blitz pipe --help      compress on all processors
  blitz ipc ls           shared memory of processes

blitz COMMAND --help has examples, blitz --help the rest.
";

/// Greets if there are no arguments and standard output is a terminal. A script that forgot the
/// command still gets an error.
pub fn greet() -> Option<ExitCode> {
    if std::env::args_os().len() > 1 || !stdout().is_terminal() {
        return None;
    }
    let printed = output::print(GREETING).map(|()| Exit::Done);
    Some(printed.unwrap_or_else(Exit::report).into())
}
