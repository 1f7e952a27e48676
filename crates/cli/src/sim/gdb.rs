//! `blitz sim replay --gdb`: a debugger on a run that has stopped.

use std::env;
use std::io::ErrorKind;
use std::process::{Child, Command};

use blitz_io_sim::{Simulator, Trace};

use super::choices::counted;
use super::{failed, stacks};
use crate::exit::Exit;
use crate::output;

/// Repeats a run up to a step, or to its last one, and starts gdb on it there.
pub fn debug(simulator: &mut Simulator, trace: &Trace, until: Option<u64>) -> Result<Exit, Exit> {
    let step = match until {
        Some(step) => step,
        None => simulator.run(&trace.plan).map_err(failed)?.points,
    };
    let mut ended = None;
    let outcome = simulator
        .debug(&trace.plan, step, |process, report| {
            output::tell(stacks::readable(&trace.program, report));
            ended = Some(start(process));
        })
        .map_err(failed)?;
    match ended {
        Some(result) => result.map(|()| Exit::Done),
        None => Err(Exit::Failed(format!(
            "the run ended before step {step}: {} after {}",
            outcome.verdict,
            counted(outcome.points, "call")
        ))),
    }
}

/// Starts gdb, and waits for its end.
fn start(process: u32) -> Result<(), Exit> {
    let gdb = env::var_os("GDB").unwrap_or_else(|| "gdb".into());
    let mut command = Command::new(&gdb);
    // The simulator gets calls that go round libc as the first signal, and has stopped with the second one.
    for signal in [
        "handle SIGSYS nostop noprint pass",
        "handle SIGSTOP nostop noprint nopass",
    ] {
        command.args(["-ex", signal]);
    }
    command.args(["-q", "-p"]);
    let mut child =
        command
            .arg(process.to_string())
            .spawn()
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => Exit::Failed(format!(
                    "{} is not installed. Install gdb, or name another one in the variable GDB.",
                    gdb.display()
                )),
                _ => Exit::Failed(format!("{} cannot be started: {error}", gdb.display())),
            })?;
    wait(&mut child).map_err(failed)
}

/// Waits for a program that handles Ctrl-C itself.
#[cfg(unix)]
fn wait(child: &mut Child) -> std::io::Result<()> {
    // SAFETY: to ignore a signal has no handler that could do wrong. No other thread of this command changes
    // the signal's disposition.
    let before = unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let ended = child.wait();
    // SAFETY: the value is what this signal had before.
    unsafe { libc::signal(libc::SIGINT, before) };
    ended.map(drop)
}

#[cfg(not(unix))]
fn wait(child: &mut Child) -> std::io::Result<()> {
    child.wait().map(drop)
}
