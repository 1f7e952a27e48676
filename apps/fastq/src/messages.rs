//! Messages on standard error.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a line on standard error.
///
/// It replaces the macro of the standard library in this program: that one panics if
/// standard error is closed or full, and a message must never cost the results of a run.
macro_rules! eprintln {
    () => {
        eprintln!("")
    };
    ($($message:tt)*) => {
        $crate::messages::print_line(format_args!($($message)*))
    };
}

/// Prints a line on standard error, if that is possible.
pub fn print_line(message: Arguments<'_>) {
    // One write, so that lines of several threads are not mixed.
    let line = format!("{message}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
