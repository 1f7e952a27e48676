//! `Builder`: the settings of a simulation.

use std::future::Future;
use std::io::{self, Write};
use std::num::NonZero;
use std::str::FromStr;
use std::time::Duration;

use blitz_io_observe::counted;

use super::environment;
use super::events;
use super::explore;
use super::failure::Failure;
use super::joiners::Joiners;
use super::outcome::Outcome;
use super::period::Period;
use super::report::Report;
use super::schedule::{MOST_DEPTH, Schedule};
use super::settings::Leaks;
use super::settings::Settings;
use super::threads_of_runs::{Here, OnNewThreads, on_new_thread};
use super::trace::{ParseError, Trace};

/// The forms of the environment's variables, for messages.
const SEED: &str = "a number, such as 7";
const SEEDS: &str = "a number of runs, at least 1";
const TIME: &str =
    "a time: a number of seconds, or a number with `ms`, `s`, `m` or `h`, such as 10m";
const SCHEDULE: &str = "`portfolio`, `random`, `round-robin`, `pct:3` (up to 10000), `pos`, `surw`, `guided`, `exhaustive` or \
                        `exhaustive:2`";
const EVENTS: &str = "a number of events, `all` or `merged`";
const TRACE: &str =
    "a trace, such as 1:4.1,1.2, or @ and a file that has one: the report of a failure has it";

/// The settings of a simulation, which runs a test many times in different orders.
///
/// # Examples
///
/// ```
/// use blitz_io::sim::{Builder, Schedule};
/// use blitz_io::sync::mpsc;
///
/// let report = Builder::new().seeds(200).schedule(Schedule::Random).run(|| async {
///     let (sender, mut receiver) = mpsc::channel(1);
///     for number in 0..3 {
///         let sender = sender.clone();
///         blitz_io::spawn(async move { sender.send(number).await.unwrap() });
///     }
///     drop(sender);
///     let mut sum = 0;
///     while let Some(number) = receiver.recv().await {
///         sum += number;
///     }
///     assert_eq!(sum, 3);
/// });
/// assert_eq!(report.runs(), 200);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `run` or `check` is called"]
pub struct Builder {
    pub(super) settings: Settings,
}

impl Builder {
    /// Creates settings for 1,000 runs from seed 0, with [`Schedule::Portfolio`].
    pub fn new() -> Self {
        Self {
            settings: Settings::new(),
        }
    }

    /// Takes settings from the environment, over those that are set:
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `BLITZ_SIM_SEED=7` | one run with this seed, which is reported as it is: with `BLITZ_SIM_SEEDS=1` too, a failure is shortened. PCT and SURW also run the test with seed 0, whose operations they count. Runs of the guided and the exhaustive search depend on those before, so only a trace repeats them, and the test prints that |
    /// | `BLITZ_SIM_SEEDS=100000` | this number of runs, at least 1 |
    /// | `BLITZ_SIM_TIME=10m` | runs for this time, but always one: `ms`, `s`, `m`, `h`, or seconds; guided in place of the portfolio |
    /// | `BLITZ_SIM_SCHEDULE=pct:3` | the [`Schedule`] |
    /// | `BLITZ_SIM_EVENTS=all` | the number of events of each task in the text of a failure; by default the last 20, and as many before faults. `all` has all of all tasks, and `merged` too, in one list by step |
    /// | `BLITZ_SIM_TRACE=1:4.1` | exactly one run, with the decisions of a [`Trace`], which are not shortened; `@` and a path: of a file that has the trace. If it passes without having had them all, it fails with [`Cause::OtherCode`](super::Cause::OtherCode) |
    ///
    /// The attribute [`sim`](../attr.sim.html) does this.
    ///
    /// # Panics
    ///
    /// If the value of such a variable is not of this form. Of a variable `BLITZ_SIM_…` that is none of these, the test prints that.
    #[track_caller]
    pub fn from_env(mut self) -> Self {
        environment::warn_of_unknown();
        let seed = variable("BLITZ_SIM_SEED", SEED);
        let seeds = variable::<NonZero<u64>>("BLITZ_SIM_SEEDS", SEEDS);
        let time = variable("BLITZ_SIM_TIME", TIME);
        if let Some(seed) = seed {
            self = self.seed(seed).seeds(1);
            self.settings.is_seed_of_env = true;
            if seeds.is_none() && time.is_none() {
                // The run is known: what it prints comes once, and the report is about it.
                self.settings.repeats = true;
                self.settings.shrinks = false;
            }
        }
        if let Some(seeds) = seeds {
            self = self.seeds(seeds.get());
        }
        if let Some(Period(limit)) = time {
            self = self.seeds(u64::MAX).time_limit(limit);
            if self.settings.schedule == Schedule::Portfolio {
                self = self.schedule(Schedule::Guided);
                self.settings.is_schedule_of_env = true;
            }
        }
        if let Some(schedule) = variable("BLITZ_SIM_SCHEDULE", SCHEDULE) {
            self = self.schedule(schedule);
            self.settings.is_schedule_of_env = true;
        }
        if let Some(shown) = variable(events::VARIABLE, EVENTS) {
            self.settings.limits.shown = shown;
        }
        if let Some(TraceOrFile(trace)) = variable("BLITZ_SIM_TRACE", TRACE) {
            self = self.trace(trace);
            self.settings.checks_trace = true;
        }
        self
    }

    /// Returns these settings for a test, whose failures are for a person.
    fn of_test(&self) -> Self {
        let mut builder = self.clone();
        builder.settings.announces = true;
        builder
    }

    /// Sets the seed of the first run. Each further one has the next number. By default 0.
    ///
    /// A seed means the same run in each search with the same settings, unless the schedule is [`Schedule::Guided`] or
    /// [`Schedule::Exhaustive`]. [`Schedule::Pct`] and [`Schedule::Surw`], which are also in the portfolio, select by the
    /// operations of a random walk with seed 0. If the search has no such run, it calls the test one more time.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Sets the number of runs. By default 1,000. A schedule that has tried everything ends before.
    ///
    /// # Panics
    ///
    /// If it is 0: a test that never runs would pass.
    #[track_caller]
    pub fn seeds(mut self, seeds: u64) -> Self {
        assert!(
            seeds > 0,
            "a simulation needs at least one run: `seeds` is 0"
        );
        self.settings.seeds = seeds;
        self
    }

    /// Begins no run after this time, by the system's clock, but always one. A failure is shortened for at most the same time. By
    /// default there is no limit.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// Sets how decisions are selected. By default [`Schedule::Portfolio`].
    ///
    /// # Panics
    ///
    /// If the depth of [`Schedule::Pct`] is above 10,000.
    #[track_caller]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        if let Schedule::Pct { depth } = schedule {
            assert!(
                depth <= MOST_DEPTH,
                "the largest depth of PCT is {MOST_DEPTH}"
            );
        }
        self.settings.schedule = schedule;
        self
    }

    /// Replays the decisions of a trace, in exactly one run, which needs no seed and no schedule. Its decisions are not
    /// shortened, unless a call of [`shrink(true)`](Self::shrink) follows.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.settings.trace = Some(trace);
        self.settings.shrinks = false;
        self
    }

    /// Sets whether the decisions of a failing run are shortened, by up to 1,000 further runs: faults as a whole first. By
    /// default they are, unless the run has more than 100,000 steps, or is a [replay](Self::trace).
    pub fn shrink(mut self, shrinks: bool) -> Self {
        self.settings.shrinks = shrinks;
        self
    }

    /// Runs each seed twice, and fails with [`Cause::NotDeterministic`](super::Cause::NotDeterministic) if the second run
    /// differs. By default each seed runs once.
    pub fn check_determinism(mut self, checks: bool) -> Self {
        self.settings.checks_determinism = checks;
        self
    }

    /// Sets whether tasks, timers and sockets, or on real threads (`run_threads`) threads, may be left when the test has ended. By default
    /// a run that leaves some fails.
    ///
    /// When the test has ended, the other tasks run until none is ready, and the clock does not move. A task that still
    /// waits is left. Then no task has a socket any more. One that is not closed is kept by a static, by a cycle of `Rc` or by
    /// [`mem::forget`](std::mem::forget), and is left. The tasks of hosts end with the test, so they are not left, but their
    /// sockets may be. A host that was killed or has crashed has left none: its system has closed them.
    /// A socket that another thread drops counts as left, because that thread has no network.
    pub fn allow_leaks(mut self, are_allowed: bool) -> Self {
        self.settings.leaks = if are_allowed {
            Leaks::Allow
        } else {
            Leaks::Fail
        };
        self
    }

    /// Sets whether a task may panic, other than the test's own one. By default a run in which one does fails, also if its
    /// `JoinHandle` is awaited. Only the run that is reported prints its panics.
    pub fn allow_panics(mut self, are_allowed: bool) -> Self {
        self.settings.limits.panics_are_allowed = are_allowed;
        self
    }

    /// Sets whether timers may fire although tasks are ready, as if these were slow. By default the clock moves only when
    /// no task is ready. Then a timeout never fires before an operation that needs no time.
    pub fn early_timers(mut self, may_fire: bool) -> Self {
        self.settings.limits.early_timers = may_fire;
        self
    }

    /// Sets whether [`run`](Self::run) panics if a name of [`sometimes`](super::sometimes) has never happened. By default it
    /// only prints the name. A single run, such as a replay, is not checked.
    pub fn check_sometimes(mut self, checks: bool) -> Self {
        self.settings.checks_sometimes = checks;
        self
    }

    /// Sets the number of steps after which a run fails, because it does not seem to end. By default a million. Tasks that
    /// only yield to each other need no time, so no [`max_time`](Self::max_time) ends them.
    pub fn max_steps(mut self, steps: u64) -> Self {
        self.settings.limits.steps = steps;
        self
    }

    /// Sets the simulated time after which a run fails, because it does not seem to end. By default a year.
    pub fn max_time(mut self, time: Duration) -> Self {
        self.settings.limits.time = time;
        self
    }

    /// Sets the options of `cargo test` in the command that repeats a failure, with a space at the end. The attribute
    /// [`sim`](macro@crate::sim) does this.
    #[doc(hidden)]
    pub fn cargo_options(mut self, options: &'static str) -> Self {
        self.settings.cargo_options = options;
        self
    }

    /// Runs the test with all seeds, or until it fails. Each run calls `test` once, and runs its future as a task.
    ///
    /// # Errors
    ///
    /// The first failure, with the shortest decisions that were found.
    ///
    /// # Panics
    ///
    /// In a simulation, and in a thread that drives tasks.
    ///
    /// ```
    /// use blitz_io::sim::{Builder, Cause};
    ///
    /// let checked = Builder::new().check(|| async { Err::<(), _>("on purpose") });
    /// assert_eq!(checked.unwrap_err().cause(), &Cause::Error("on purpose".to_owned()));
    /// ```
    pub fn check<F>(&self, test: impl Fn() -> F) -> Result<Report, Box<Failure>>
    where
        F: Future<Output: Outcome> + 'static,
    {
        explore::check_thread();
        let _entered = Joiners::current().enter();
        explore::explore(&self.settings, &Here(&test))
    }

    /// Does the same as [`check`](Self::check), with threads of its own for the runs: no thread-local variable keeps random numbers
    /// from one run to the next. So a `HashMap` has the same order each time a run is repeated, and the generators of other
    /// packages give the same numbers, where [the system is simulated](super#the-system).
    ///
    /// A run that draws no random number of the system leaves its thread to the next one. The attribute
    /// [`sim`](macro@crate::sim) uses this.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    ///
    /// # Panics
    ///
    /// In a simulation, and if the system refuses a thread.
    ///
    /// ```
    /// use std::collections::HashSet;
    ///
    /// use blitz_io::sim::Builder;
    /// use blitz_io::task;
    ///
    /// // The order of the set decides how often the task yields.
    /// let test = || async {
    ///     let numbers: HashSet<u32> = (0..100).collect();
    ///     let task = task::spawn(async move {
    ///         for _ in numbers.iter().take_while(|number| **number != 7) {
    ///             task::yield_now().await;
    ///         }
    ///     });
    ///     task.await.unwrap();
    /// };
    /// # if cfg!(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")) {
    /// let builder = Builder::new().seeds(20).check_determinism(true);
    /// assert!(builder.check_on_new_threads(test).is_ok());
    /// # }
    /// ```
    pub fn check_on_new_threads<F>(
        &self,
        test: impl Fn() -> F + Sync,
    ) -> Result<Report, Box<Failure>>
    where
        F: Future<Output: Outcome> + 'static,
    {
        explore::check_thread();
        on_new_thread(|| explore::explore(&self.settings, &OnNewThreads(&test)))
    }

    /// Does the same as [`check`](Self::check) for a test: a failure is a panic.
    ///
    /// A failure is printed on the standard error in one line when it is found, before it is [shortened](Self::shrink).
    ///
    /// Prints each name of [`sometimes`](super::sometimes) that no run has reached, and how many orders
    /// [`Schedule::Exhaustive`] has tried. Of a test that passes, Cargo shows this with `cargo test -- --show-output`.
    ///
    /// # Panics
    ///
    /// With the text of the [`Failure`], if a run fails, and as [`check_sometimes`](Self::check_sometimes) says. Also see
    /// [`check`](Self::check).
    #[track_caller]
    pub fn run<F>(&self, test: impl Fn() -> F) -> Report
    where
        F: Future<Output: Outcome> + 'static,
    {
        passed(&self.settings, self.of_test().check(test))
    }

    /// Does the same as [`check_on_new_threads`](Self::check_on_new_threads) for a test: a failure is a panic. Also see
    /// [`run`](Self::run).
    ///
    /// # Panics
    ///
    /// With the text of the [`Failure`], if a run fails. Also see [`check_on_new_threads`](Self::check_on_new_threads).
    #[track_caller]
    pub fn run_on_new_threads<F>(&self, test: impl Fn() -> F + Sync) -> Report
    where
        F: Future<Output: Outcome> + 'static,
    {
        passed(&self.settings, self.of_test().check_on_new_threads(test))
    }
}

/// Returns the report of runs that have passed.
///
/// # Panics
///
/// If one has failed, or if a name has never happened and the settings check that.
#[track_caller]
fn passed(settings: &Settings, checked: Result<Report, Box<Failure>>) -> Report {
    let report = match checked {
        Ok(report) => report,
        // A closure would be the place of the panic.
        Err(mut failure) => {
            failure.keep_trace();
            panic!("{failure}")
        }
    };
    if settings.checks_trace {
        // Past the harness, which hides what a test that passes prints.
        let text = "one run only, that of the trace in BLITZ_SIM_TRACE: it passes";
        _ = writeln!(io::stderr(), "{text}");
    }
    // A replay reaches one state only, although the test may reach all.
    let is_search = settings.trace.is_none() && settings.seeds > 1;
    if let Some(orders) = orders(settings.schedule, &report).filter(|_| is_search) {
        println!("{orders}");
    }
    let runs = counted(report.runs(), "run");
    let never = report.never().into_iter();
    let never: Vec<_> = never
        .map(|name| format!("in {runs}, `{name}` has never happened"))
        .collect();
    assert!(
        never.is_empty() || !is_search || !settings.checks_sometimes,
        "{}",
        never.join("\n")
    );
    for line in never {
        println!("{line}");
    }
    report
}

/// Returns how many orders an exhaustive search has tried, in words.
fn orders(schedule: Schedule, report: &Report) -> Option<String> {
    let Schedule::Exhaustive { preemptions } = schedule else {
        return None;
    };
    let orders = counted(report.runs(), "order");
    let bound = preemptions.map_or(String::new(), |most| {
        format!(" with at most {}", counted(most, "preemption"))
    });
    Some(if report.has_tried_all {
        format!("all passed: {orders}{bound}")
    } else {
        format!("passed: {orders}{bound}, and there are more: set `seeds`")
    })
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs a test in 1,000 orders: the same as [`Builder::new().from_env().run(test)`](Builder::run).
///
/// # Panics
///
/// See [`Builder::run`].
///
/// # Examples
///
/// ```
/// blitz_io::sim::run(|| async {
///     let task = blitz_io::spawn(async { 1 });
///     assert_eq!(task.await.unwrap(), 1);
/// });
/// ```
#[track_caller]
pub fn run<F>(test: impl Fn() -> F) -> Report
where
    F: Future<Output: Outcome> + 'static,
{
    Builder::new().from_env().run(test)
}

/// A trace, or `@` and the path of a file that has one.
struct TraceOrFile(Trace);

impl FromStr for TraceOrFile {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let Some(path) = text.strip_prefix('@') else {
            return text.parse().map(Self);
        };
        match std::fs::read_to_string(path) {
            Ok(text) => text.trim().parse().map(Self),
            Err(error) => Err(ParseError(error.to_string())),
        }
    }
}

/// Returns the value of an environment variable. `wanted`: what it should be.
#[track_caller]
fn variable<T: FromStr>(name: &str, wanted: &str) -> Option<T> {
    let value = std::env::var_os(name)?;
    let text = value.to_string_lossy();
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("the variable {name} is `{text}`, and should be {wanted}"),
    }
}
