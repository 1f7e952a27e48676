//! The progress bar.
//!
//! It is drawn on standard error, only if that is a terminal, and only between samples:
//! nothing here runs during a measurement.

use std::sync::atomic::AtomicBool;

use blitz_io_bench::Scenario;
use blitz_io_bench::runner::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::load::Load;
use super::watchdog::Watchdog;
use crate::line::Line;

pub struct Progress<'a> {
    bar: ProgressBar,
    watchdog: Watchdog,
    load: &'a mut Load,
    stop: &'a AtomicBool,
}

/// Creates the bar, which is hidden if standard error is not a terminal.
pub fn bar(samples: u64) -> ProgressBar {
    let style = "{bar:20.cyan/dim} {percent:>3} %  {eta:>4}  {wide_msg}";
    let style = ProgressStyle::with_template(style).expect("the template is valid");
    let target = match Line::of_terminal() {
        Some(line) => ProgressDrawTarget::term_like_with_hz(Box::new(line), 20),
        None => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(samples), target);
    bar.set_style(style.progress_chars("━╸─"));
    bar
}

impl<'a> Progress<'a> {
    pub fn new(
        bar: ProgressBar,
        watchdog: Watchdog,
        load: &'a mut Load,
        stop: &'a AtomicBool,
    ) -> Progress<'a> {
        Progress {
            bar,
            watchdog,
            load,
            stop,
        }
    }
}

impl Observer for Progress<'_> {
    fn sample(&mut self, scenario: &Scenario, contender: &str) {
        self.load.keep(self.stop);
        self.bar
            .set_message(format!("{} · {contender}", scenario.id));
        self.bar.inc(1);
        self.watchdog
            .starts(format!("{}: {contender}", scenario.id));
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.watchdog.rests();
        self.bar.finish_and_clear();
    }
}
