//! The settings of a simulation.

use std::time::Duration;

use super::events::Shown;
use super::run::Limits;
use super::schedule::Schedule;
use super::trace::Trace;

/// Default number of runs.
const RUNS: u64 = 1_000;
/// Number of steps after which a run counts as endless.
const STEPS: u64 = 1_000_000;
/// Simulated time after which a run counts as endless.
const TIME: Duration = Duration::from_secs(365 * 86_400);

/// The effect of tasks, timers, sockets and threads that are left at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leaks {
    Allow,
    Fail,
}

/// The settings, as set on a builder.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The seed of the first run.
    pub(super) seed: u64,
    /// The environment has set the seed, and with it a single run.
    pub(super) is_seed_of_env: bool,
    /// The seed of the environment repeats one run, which is reported as it is.
    pub(super) repeats: bool,
    /// A failure is printed when it is found, before it is shortened.
    pub(super) announces: bool,
    /// Number of runs, at least 1.
    pub(super) seeds: u64,
    /// Time after which no run begins.
    pub(super) time_limit: Option<Duration>,
    pub(super) schedule: Schedule,
    /// The environment has set the schedule, so a command that repeats a run has to do so too.
    pub(super) is_schedule_of_env: bool,
    /// The decisions to replay.
    pub(super) trace: Option<Trace>,
    /// A run that passes fails if the trace does not fit it.
    pub(super) checks_trace: bool,
    pub(super) shrinks: bool,
    pub(super) checks_determinism: bool,
    /// A test in which a name of `sometimes` has never happened does not pass.
    pub(super) checks_sometimes: bool,
    pub(super) leaks: Leaks,
    pub(super) limits: Limits,
    /// Options of `cargo test`, with a space at the end.
    pub(super) cargo_options: &'static str,
}

impl Settings {
    pub(super) fn new() -> Self {
        Self {
            seed: 0,
            is_seed_of_env: false,
            repeats: false,
            announces: false,
            seeds: RUNS,
            time_limit: None,
            schedule: Schedule::Portfolio,
            is_schedule_of_env: false,
            trace: None,
            checks_trace: false,
            shrinks: true,
            checks_determinism: false,
            checks_sometimes: false,
            leaks: Leaks::Fail,
            limits: Limits {
                steps: STEPS,
                time: TIME,
                early_timers: false,
                panics_are_allowed: false,
                explains: false,
                shown: Shown::LAST,
                compares: false,
            },
            cargo_options: "",
        }
    }
}
