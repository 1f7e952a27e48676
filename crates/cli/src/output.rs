//! Standard output, and standard error.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use terminal_size::{Width, terminal_size_of};

use crate::exit::Exit;

/// Prints `text`. It is not an error if the reader has closed its end (`blitz bench | head`).
///
/// # Errors
///
/// Fails if standard output cannot be written for any other reason, such as a full
/// disk.
pub fn print(text: &str) -> Result<(), Exit> {
    match write(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritable(&error)),
        _ => Ok(()),
    }
}

/// Prints the next of many texts. If the reader has closed its end, the command is done: nobody sees the others.
///
/// # Errors
///
/// As [`print()`], and [`Exit::Done`] if there is no reader any more.
pub fn print_next(text: &str) -> Result<(), Exit> {
    match write(text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Exit::Done),
        Err(error) => Err(unwritable(&error)),
        Ok(()) => Ok(()),
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Returns how the command ends if standard output cannot be written.
pub fn unwritable(error: &io::Error) -> Exit {
    Exit::Failed(format!("standard output cannot be written: {error}"))
}

impl Exit {
    /// Prints what went wrong, if anything, and returns the value.
    pub fn report(self) -> Exit {
        if let Exit::Failed(message) | Exit::Usage(message) = &self {
            tell(format_args!("error: {message}\n"));
        }
        self
    }
}

/// Returns the columns of standard output, if it is a terminal.
pub fn width() -> Option<usize> {
    let out = io::stdout();
    let size = out.is_terminal().then(|| terminal_size_of(&out)).flatten();
    size.map(|(Width(columns), _)| usize::from(columns))
}

/// Returns the columns of standard error, if it is a terminal.
pub fn error_width() -> Option<usize> {
    let err = io::stderr();
    let size = err.is_terminal().then(|| terminal_size_of(&err)).flatten();
    size.map(|(Width(columns), _)| usize::from(columns))
}

/// Returns `true` if the user wants colours. An empty `NO_COLOR` does not count.
pub fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints a message on standard error. Ignores errors: unlike `eprint!`, this never panics.
pub fn tell(text: impl Display) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "{text}").and_then(|()| err.flush());
}

/// Prints a value as JSON over several lines.
///
/// # Errors
///
/// The errors are those of [`print()`].
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Exit> {
    let text = serde_json::to_string_pretty(value).expect("every key is a string");
    print(&format!("{text}\n"))
}
