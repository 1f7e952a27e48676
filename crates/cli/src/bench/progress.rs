//! The progress bar.
//!
//! It is drawn on standard error, only when that is a terminal, and only
//! between samples: nothing here runs while something is measured.

use blitz_bench::Scenario;
use blitz_bench::runner::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::watchdog::Watchdog;

pub struct Progress {
    bar: ProgressBar,
    watchdog: Watchdog,
}

impl Progress {
    pub fn new(samples: u64) -> Progress {
        let style = "{bar:30.cyan/dim} {percent:>3} %  {eta:>4}  {msg}";
        let style = ProgressStyle::with_template(style).expect("the template is valid");
        // The target hides the bar where standard error is no terminal.
        let bar = ProgressBar::with_draw_target(Some(samples), ProgressDrawTarget::stderr());
        bar.set_style(style.progress_chars("━╸─"));
        let watchdog = Watchdog::new();
        Progress { bar, watchdog }
    }
}

impl Observer for Progress {
    fn sample(&mut self, scenario: &Scenario, contender: &str) {
        self.bar
            .set_message(format!("{} · {contender}", scenario.id));
        self.bar.inc(1);
        self.watchdog
            .starts(format!("{}: {contender}", scenario.id));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.watchdog.rests();
        self.bar.finish_and_clear();
    }
}
