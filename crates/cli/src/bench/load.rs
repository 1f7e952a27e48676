//! `--hog`: busy processes beside the run.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blitz_io_bench::hog::{self, Hogs};
use clap::Args;

use crate::exit::Exit;

/// The command that a busy process runs.
pub const COMMAND: &str = "hog";

#[derive(Args)]
pub struct Arguments {
    /// Ends after this many seconds without input on standard input.
    #[arg(long)]
    silence: u64,
}

/// Keeps a processor busy until standard input ends.
pub fn run(arguments: &Arguments) -> ! {
    hog::run(Duration::from_secs(arguments.silence))
}

/// The busy processes of a run, and whether they are still running.
pub struct Load {
    hogs: Hogs,
    lost: Option<String>,
}

impl Load {
    /// Starts `count` busy processes, which end after a `silence` of this process.
    pub fn start(count: usize, silence: Duration) -> Result<Load, Exit> {
        let failed = |error| Exit::Failed(format!("--hog: a busy process cannot start: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let command = || {
            let mut command = Command::new(&program);
            command.args([COMMAND, "--silence", &silence.as_secs().to_string()]);
            command
        };
        Ok(Load {
            hogs: Hogs::start(count, command).map_err(failed)?,
            lost: None,
        })
    }

    /// Tells the processes that the run continues. If one of them has ended, asks the run
    /// to stop.
    pub fn keep(&mut self, stop: &AtomicBool) {
        if let Err(error) = self.hogs.keep() {
            self.lost = Some(error.to_string());
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// Fails if the load was not present for the whole run.
    pub fn verify(&self) -> Result<(), Exit> {
        match &self.lost {
            None => Ok(()),
            Some(error) => Err(Exit::Failed(format!(
                "--hog: a busy process is gone ({error}), so the run has lost its load"
            ))),
        }
    }
}
