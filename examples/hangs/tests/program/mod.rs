//! A program of this package as a process, which is asked from outside.

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
    pub fn start(name: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_blitz-io-hangs"));
        Self(
            command
                .arg(name)
                .env("BLITZ_INSPECT", "1")
                .stderr(Stdio::piped())
                .spawn()
                .expect("it was built"),
        )
    }

    /// Panics if the process has ended.
    pub fn still_runs(&mut self) {
        let ended = self.0.try_wait().expect("it is our child");
        assert_eq!(ended, None, "the program ended");
    }
}
