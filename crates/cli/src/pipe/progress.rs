//! The bar that shows how much was read.

use std::io::{self, Read, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::line::Line;
use crate::output;

/// Work that takes less time than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts the bytes that are read, and shows them on the terminal if that takes long.
pub struct Progress {
    bar: ProgressBar,
    begin: Instant,
    read: AtomicU64,
    /// There is a terminal for a bar.
    shown: bool,
}

impl Progress {
    /// Starts, with the number of bytes that will be read, if it is known.
    pub fn new(total: Option<u64>, terminal_is_free: bool) -> Progress {
        let style = match total {
            Some(_) => "{bar:20.cyan/dim} {percent:>3} %  {eta:>4}  {binary_bytes_per_sec}",
            None => "{spinner} {binary_bytes}  {binary_bytes_per_sec}",
        };
        let style = ProgressStyle::with_template(style).expect("the template is valid");
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        bar.set_style(style.progress_chars("━╸─"));
        Progress {
            bar,
            begin: Instant::now(),
            read: AtomicU64::new(0),
            shown: terminal_is_free && Line::of_terminal().is_some(),
        }
    }

    /// Returns a reader that is counted.
    pub fn meter<R>(&self, reader: R) -> Meter<'_, R> {
        Meter {
            reader,
            progress: self,
        }
    }

    /// Adds bytes that were read.
    pub fn add(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
        if !self.shown || self.begin.elapsed() < PATIENCE {
            return;
        }
        if self.bar.is_hidden()
            && let Some(line) = Line::of_terminal()
        {
            let target = ProgressDrawTarget::term_like_with_hz(Box::new(line), 10);
            self.bar.set_draw_target(target);
        }
        self.bar.set_position(self.read.load(Ordering::Relaxed));
    }

    /// Returns the number of bytes that were read.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A reader whose bytes are counted.
pub struct Meter<'p, R> {
    reader: R,
    progress: &'p Progress,
}

impl<R: Read> Read for Meter<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.progress.add(read as u64);
        Ok(read)
    }
}

/// Clears the line of the terminal and shows the cursor.
pub fn clear() {
    if io::IsTerminal::is_terminal(&stderr()) {
        output::tell("\r\x1b[2K\x1b[?25h");
    }
}
