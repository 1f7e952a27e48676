//! A program of this package as a process, which is asked from outside.

use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};

/// The process, which ends with this.
pub struct Program(pub Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended, which its test reports.
        _ = self.0.kill();
        self.0.wait().expect("it is our child");
    }
}

impl Program {
    /// Starts the program with this name, which answers questions.
    #[allow(dead_code, reason = "not all tests use it")]
    pub fn start(name: &str) -> Self {
        Self::start_with(name, &[])
    }

    /// The same, with further variables in the environment.
    #[allow(dead_code, reason = "not all tests use it")]
    pub fn start_with(name: &str, variables: &[(&str, &OsStr)]) -> Self {
        Self::start_piped(name, variables, Stdio::inherit())
    }

    /// The same, with its standard output. Standard input is a pipe that stays open.
    pub fn start_piped(name: &str, variables: &[(&str, &OsStr)], stdout: Stdio) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_blitz-io-hangs"));
        command.arg(name).envs(variables.iter().copied());
        Self::run(command, stdout)
    }

    /// The same with another program.
    pub fn run(mut command: Command, stdout: Stdio) -> Self {
        command.env("BLITZ_INSPECT", "1").stdout(stdout);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().expect("it was built"))
    }

    /// Panics if the process has ended.
    #[allow(dead_code, reason = "not all tests use it")]
    pub fn still_runs(&mut self) {
        let ended = self.0.try_wait().expect("it is our child");
        assert_eq!(ended, None, "the program ended");
    }
}

/// The command `blitz`: that of `BLITZ_COMMAND`, or else it is built.
#[allow(dead_code, reason = "not all tests use it")]
pub fn blitz() -> Command {
    if let Some(path) = std::env::var_os("BLITZ_COMMAND") {
        return Command::new(path);
    }
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/cli/Cargo.toml");
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "run",
        "--quiet",
        "--locked",
        "--manifest-path",
        manifest,
        "--",
    ]);
    command
}
