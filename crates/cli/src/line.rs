//! The terminal line that shows the progress bar.

use std::io::{self, IsTerminal, Write, stderr};
use std::sync::{Mutex, PoisonError};

use indicatif::TermLike;

use crate::output;

/// Room for the `^C` with which a terminal echoes Ctrl-C. The bar leaves the cursor at
/// its end; without this room the echo would begin a new line, and clearing that line
/// would leave the bar.
const ECHO: usize = 3;

/// Standard error. A drawing is written in one piece.
#[derive(Debug)]
pub struct Line(Mutex<String>);

impl Line {
    /// Returns the line, if standard error is a terminal.
    pub fn of_terminal() -> Option<Line> {
        stderr().is_terminal().then(|| Line(Mutex::default()))
    }

    fn push(&self, text: &str) -> io::Result<()> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.push_str(text);
        Ok(())
    }

    fn go(&self, columns: usize, direction: char) -> io::Result<()> {
        match columns {
            0 => Ok(()),
            n => self.push(&format!("\x1b[{n}{direction}")),
        }
    }
}

impl TermLike for Line {
    fn width(&self) -> u16 {
        let width = output::error_width().unwrap_or(80).saturating_sub(ECHO);
        u16::try_from(width).unwrap_or(u16::MAX)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.go(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.go(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.go(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.go(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.push(text)?;
        self.push("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.push(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.push("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut err = stderr().lock();
        let written = err.write_all(pending.as_bytes()).and_then(|()| err.flush());
        pending.clear();
        written
    }
}
