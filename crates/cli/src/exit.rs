//! How the command ends.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

/// The text at the end of `--help`.
pub const CODES: &str = "\
Exit statuses:
  0    it worked
  1    the work failed; in each command also: a file is missing, cannot be read or written, or is
       not what it should be
  2    `why` found a wait that probably never ends
  3    `why` found a wait that certainly never ends; `sim` found a failure,
       `lint` a fault that another run may show; a recording of `trace` has no request,
       or none that it can predict
  4    `sim` found a deadlock
  5    `sim` found a livelock
  64   the arguments are wrong
  130  interrupted (`bench` and `sim run` print what they have until then)
The help of each command has its own statuses, and examples.";

/// The code for wrong arguments.
pub const USAGE: u8 = 64;

/// Why the command ended, and with which code.
#[derive(Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything succeeded.
    Done,
    /// The work failed. Code 1.
    Failed(String),
    /// The work failed, and its errors are printed already. Code 1.
    Silent,
    /// The arguments are wrong. Code 64, `EX_USAGE` of sysexits.h: no result of a command has it.
    Usage(String),
    /// `why` found a wait that probably never ends, and nothing certain. Code 2.
    Likely,
    /// `why` found a wait that certainly never ends, `sim` a failure, `lint` anything, `trace` no request, or none that
    /// it can predict.
    /// Code 3.
    Found,
    /// `sim` found a deadlock. Code 4.
    Deadlock,
    /// `sim` found a livelock. Code 5.
    Livelock,
    /// Ctrl-C. Code 130, as a shell reports SIGINT.
    Interrupted,
}

impl Exit {
    /// Creates the exit for wrong arguments, with advice on what to do.
    pub fn usage(problem: impl Display, advice: impl Display) -> Exit {
        Exit::Usage(problem.to_string()).with_advice(advice)
    }

    /// Creates the exit for a file that is missing, cannot be read, or is not what it should be: one code for all commands.
    pub fn unreadable(file: &Path, problem: impl Display) -> Exit {
        // That of a TOML file ends with an empty line.
        let problem = problem.to_string();
        let (file, problem) = (file.display(), problem.trim_end());
        Exit::Failed(format!("{file} cannot be read: {problem}"))
    }

    /// Creates the exit for a file that cannot be written.
    pub fn unwritable(file: &Path, problem: impl Display) -> Exit {
        Exit::Failed(format!("{} cannot be written: {problem}", file.display()))
    }

    /// Adds advice on what to do, if the exit has a message.
    pub fn with_advice(self, advice: impl Display) -> Exit {
        match self {
            Exit::Failed(problem) => Exit::Failed(format!("{problem}\n\n{advice}")),
            Exit::Usage(problem) => Exit::Usage(format!("{problem}\n\n{advice}")),
            other => other,
        }
    }

    fn code(&self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed(_) | Exit::Silent => 1,
            Exit::Likely => 2,
            Exit::Found => 3,
            Exit::Deadlock => 4,
            Exit::Livelock => 5,
            Exit::Usage(_) => USAGE,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}
