//! Runs the command and checks how it ended.

use std::process::{Command, Output, Stdio};

/// Returns the command, not yet started, without a terminal.
pub fn blitz(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blitz"));
    command.args(arguments).stdin(Stdio::null());
    blitz_io_testing::limited(&mut command);
    command
}

/// Runs the command to its end and expects `code`.
pub fn expect(code: i32, arguments: &[&str]) -> Ran {
    let output = blitz(arguments).output().expect("the command starts");
    let ran = Ran::from(output);
    assert_eq!(ran.code, Some(code), "{arguments:?}\n{ran:?}");
    ran
}

/// Returns the completions of the last of `words`, requested as the script for bash does.
pub fn complete(words: &[&str]) -> Vec<String> {
    let output = blitz(&["--"])
        .args(words)
        .env("BLITZ_COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .output()
        .expect("the command starts");
    let ran = Ran::from(output);
    assert_eq!(ran.code, Some(0), "{words:?}\n{ran:?}");
    ran.out.lines().map(str::to_owned).collect()
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).expect("the command writes UTF-8");
        Ran {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

impl Ran {
    /// Parses standard output, which must be one JSON value and nothing else.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}
