//! `Failure`: why a run has failed, and how to run it again.

use std::path::PathBuf;
use std::time::Duration;
use std::{env, fmt, fs, io};

use blitz_io_inspect::Finding;
use blitz_io_observe::counted;

use super::schedule::Schedule;
use super::shrink::{self, Shrunk};
use super::trace::Trace;
use super::waits::Explained;

/// The largest number of decisions of a trace that is part of the text.
pub(super) const MOST: usize = 200;
/// The largest number of things that are left and that the text names.
const NAMED: usize = 8;

/// The largest number of lines, and of characters, of a panic's message in the head of a report.
const LINES: usize = 4;
const CHARS: usize = 300;

/// The line of a report about a test that no decisions repeat.
const AGAIN: &str = "  no decisions repeat it: run the test again, and two runs with the same decisions are compared anew\n";

/// The line of a report about a run that has not ended, while its clock has moved.
const SOONER: &str =
    "  `max_time = \"60s\"` ends it earlier, by simulated time, and a shorter run is also shrunk";
/// The time in that line.
const SHORT: Duration = Duration::from_secs(60);

/// The reason why a run has failed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// No task is ready, and there is no timer. The test's own task has not ended.
    Deadlock,
    /// A task has panicked: the message and its location.
    Panic(String),
    /// The test has returned an error.
    Error(String),
    /// The code of a host has returned an error.
    HostError {
        /// The name of the host.
        host: String,
        /// The text of the error, with those of its sources.
        error: String,
    },
    /// A predicate of [`always`](super::always) did not hold.
    Always {
        /// Its name.
        name: String,
        /// The error of the predicate, if it returned one.
        why: Option<String>,
    },
    /// A predicate of [`eventually`](super::eventually) did not hold within its time.
    Eventually {
        /// Its name.
        name: String,
        /// The time; `None` if the run has ended before.
        within: Option<Duration>,
        /// If the run has ended before: the simulated times of its end and of the deadline, from its beginning.
        ended: Option<(Duration, Duration)>,
        /// The last error of the predicate, if it returned one.
        why: Option<String>,
    },
    /// A certain finding of [`inspect`](crate::inspect), while other tasks went on: some of the tasks wait for each other
    /// for ever, or a task waits for a lock that nothing releases.
    Finding {
        /// Such as `deadlock` or `futurelock`.
        kind: String,
        /// One sentence.
        summary: String,
    },
    /// Tasks or timers are left at the end.
    Leak {
        /// Number of tasks.
        tasks: usize,
        /// A timer that belongs to no task is left.
        timer: bool,
    },
    /// TCP or UDP sockets are left at the end, although no task is: a static, a cycle of `Rc` or
    /// [`mem::forget`](std::mem::forget) keeps them. The text of each has its kind, its addresses, and its host with
    /// the line at which the test has added that.
    LeakedSockets(Vec<String>),
    /// The run did not end in this many steps.
    Steps(u64),
    /// The run did not end in this simulated time.
    Time(Duration),
    /// The code has asked the system for a socket this many times, and was refused each time.
    Refused(u64),
    /// Equal decisions led to different alternatives. The test uses a clock, random numbers or threads that are
    /// no part of the simulation. Or it uses a static or thread-local variable that another run has changed, or the order
    /// of addresses or of a hash map.
    NotDeterministic,
    /// The run of `BLITZ_SIM_TRACE` has passed, but has not had all decisions of the trace: that is of other code.
    OtherCode,
}

impl Cause {
    /// Returns `true` if the causes are of one kind, and concern the same property.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Always { name: one, .. }, Self::Always { name: other, .. })
            | (Self::Eventually { name: one, .. }, Self::Eventually { name: other, .. }) => {
                one == other
            }
            (Self::Panic(one), Self::Panic(other)) => place(one) == place(other),
            (Self::HostError { host: one, .. }, Self::HostError { host: other, .. }) => {
                one == other
            }
            (Self::Finding { kind: one, .. }, Self::Finding { kind: other, .. }) => one == other,
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        }
    }
}

/// Says why a property does not hold, if its predicate has.
fn because(f: &mut fmt::Formatter<'_>, why: Option<&str>) -> fmt::Result {
    why.map_or(Ok(()), |why| write!(f, ": {why}"))
}

/// Returns a message as the head of a report has it: of a long one, the begin of its first line. The panic has printed it.
fn shortened(message: &str) -> String {
    if message.lines().count() <= LINES && message.chars().count() <= CHARS {
        return message.to_owned();
    }
    let first = message.lines().next().unwrap_or_default();
    format!("{} …", first.chars().take(CHARS).collect::<String>())
}

/// Says that a task has panicked. `message` ends with the location.
fn panicked(f: &mut fmt::Formatter<'_>, task: &str, message: &str) -> fmt::Result {
    match message.rsplit_once(", at ") {
        Some((message, place)) => {
            let message = shortened(message);
            write!(f, "{task} has panicked at {place}: {message}")
        }
        None => write!(f, "{task} has panicked: {}", shortened(message)),
    }
}

/// Returns the location at the end of a panic's message: the values in it may differ.
fn place(message: &str) -> &str {
    message.rsplit_once(", at ").map_or("", |(_, place)| place)
}

/// Says that things of a kind are left at the end, and names them.
pub(super) struct Left<'a> {
    /// Such as `socket`.
    pub(super) kind: &'static str,
    /// The names. There is at least one.
    pub(super) names: &'a [String],
}

impl fmt::Display for Left<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, names } = self;
        match names.len() {
            1 => write!(f, "1 {kind} is left at the end: ")?,
            count => write!(f, "{count} {kind}s are left at the end: ")?,
        }
        let first = &names[..names.len().min(NAMED)];
        f.write_str(&first.join("; "))?;
        match names.len() - first.len() {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock => f.write_str("deadlock: no task is ready, and there is no timer"),
            Self::Panic(message) => panicked(f, "a task", message),
            Self::Error(error) => write!(f, "the test has returned an error: {error}"),
            Self::HostError { host, error } => {
                write!(f, "host \"{host}\" has ended with an error: {error}")
            }
            Self::Always { name, why } => {
                write!(f, "`{name}` does not always hold")?;
                because(f, why.as_deref())
            }
            Self::Eventually {
                name,
                within,
                ended,
                why,
            } => {
                match (within, ended) {
                    (Some(within), _) => write!(f, "`{name}` does not hold within {within:?}")?,
                    (None, Some((end, deadline))) => write!(
                        f,
                        "`{name}` has not held by the end of the test ({end:?}; its deadline is {deadline:?})"
                    )?,
                    (None, None) => write!(f, "`{name}` has not held by the end of the test")?,
                }
                because(f, why.as_deref())
            }
            Self::Finding { kind, summary } => write!(f, "{kind}: {summary}"),
            Self::Leak { tasks: 0, .. } => f.write_str("a timer is left at the end of the test"),
            Self::Leak { tasks: 1, .. } => f.write_str("1 task is left at the end of the test"),
            Self::Leak { tasks, .. } => write!(f, "{tasks} tasks are left at the end of the test"),
            Self::LeakedSockets(names) => Left { kind: "socket", names }.fmt(f),
            Self::Steps(steps) => write!(f, "it does not end in {}", counted(*steps, "step")),
            Self::Time(time) => write!(f, "it does not end in {time:?} of simulated time"),
            Self::Refused(count) => write!(
                f,
                "the code has asked for a socket of the system {}, and tries again for ever",
                counted(*count, "time")
            ),
            Self::NotDeterministic => f.write_str(
                "the test is not deterministic: it uses a clock, random numbers or threads that are no \
                 part of the simulation, a static or a thread-local variable that another run has changed, or the \
                 order of addresses or of a hash map",
            ),
            Self::OtherCode => f.write_str(
                "the run passes, but it has not had all decisions of BLITZ_SIM_TRACE: these are of other code. So this \
                 does not show that the failure is mended; search again without that variable",
            ),
        }
    }
}

/// A run that has failed. Its text says why, who waits for whom, and how to run it again.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use blitz_io::inspect::Named;
/// use blitz_io::sim::{self, Cause};
/// use blitz_io::sync::Mutex;
///
/// let failure = sim::Builder::new()
///     .check(|| async {
///         let locks = Arc::new([Mutex::new(()).named("one"), Mutex::new(()).named("other")]);
///         let same = locks.clone();
///         let task = blitz_io::spawn(async move {
///             let _other = same[1].lock().await;
///             let _one = same[0].lock().await;
///         });
///         let _one = locks[0].lock().await;
///         let _other = locks[1].lock().await;
///         drop((_one, _other));
///         task.await.unwrap();
///     })
///     .unwrap_err();
/// assert_eq!(failure.cause(), &Cause::Deadlock);
/// let text = failure.to_string();
/// assert!(text.contains("BLITZ_SIM_TRACE=1:") && text.contains("Mutex \"one\""), "{text}");
/// ```
#[derive(Clone, Debug)]
pub struct Failure {
    pub(super) cause: Cause,
    pub(super) seed: u64,
    /// Number of runs until this one, with it.
    pub(super) runs: u64,
    pub(super) schedule: Schedule,
    /// The schedule of all runs, if the environment has set it.
    pub(super) schedule_of_env: Option<Schedule>,
    /// It is a replay of a trace, which has no seed and no schedule.
    pub(super) is_replay: bool,
    pub(super) steps: u64,
    /// The simulated time.
    pub(super) time: Duration,
    /// Number of decisions of the run.
    pub(super) decisions: usize,
    pub(super) trace: Trace,
    /// The file that has the trace, if that is too long for a line.
    pub(super) file: Option<PathBuf>,
    pub(super) shrunk: Shrunk,
    pub(super) explained: Explained,
    /// The name of the test, for the command.
    pub(super) test: Option<String>,
    /// The options of `cargo test`, for that command, with a space at the end.
    pub(super) cargo_options: &'static str,
}

impl Failure {
    /// Returns the reason.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// Returns the seed of the run; without a meaning for the replay of a [`Trace`]. With [`Builder::seed`](super::Builder::seed) it is the first one.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns how many runs it took to find this.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Returns the shortest decisions that were found with which the run fails for the same reason; those of the replay of a
    /// trace, which is not shortened.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns the findings of [`inspect`](crate::inspect) when the run has failed, certain and probable ones.
    ///
    /// ```
    /// use blitz_io::inspect::Certainty;
    /// use blitz_io::sim::Builder;
    /// use blitz_io::sync::Mutex;
    ///
    /// let failure = Builder::new()
    ///     .check(|| async {
    ///         let lock = Mutex::new(());
    ///         let _guard = lock.lock().await;
    ///         let _again = lock.lock().await;
    ///     })
    ///     .unwrap_err();
    /// let [finding] = failure.findings() else { panic!("{failure}") };
    /// assert_eq!((&*finding.kind, finding.certainty), ("self-wait", Certainty::Certain));
    /// ```
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.explained.findings
    }

    /// Returns the faults of the run in words: how many there were, which kinds `inject` has switched
    /// on, and which ones lasted when the run failed. Empty if the test has no hosts.
    #[must_use]
    pub fn faults(&self) -> &str {
        &self.explained.faults
    }

    /// Returns these findings and the waits of all tasks in words.
    #[must_use]
    pub fn waits(&self) -> &str {
        &self.explained.waits
    }

    /// Returns the last events in words. First comes what makes the run different from the plain one, if that is not much: tasks that run instead of others, random numbers and injected faults. Then come the events of the hosts and the network: crashes and the losses of files in them,
    /// cuts and other faults, and packets that were held or lost. If several tasks have notes ([`note`](super::note)), those of all follow. Then the last twenty of each task that is involved, in the order of their numbers, and a few
    /// before each of the last faults of the task's host. Up to eight tasks are involved. First come the task that has panicked, those of the
    /// findings, and other users of its last objects. Then tasks that were alive at a fault and those that ran last take turns; of the ended tasks of a host that one
    /// line has spawned, two come before all others. A task shares its twenty with the children of its scopes, and of ended children that one line has spawned the last two are shown. The text says
    /// how many events it leaves out; with the variable `BLITZ_SIM_EVENTS` ([`Builder::from_env`](super::Builder::from_env)) it
    /// has more, or those of all tasks, each on its own or in one list. Of a run with more than a million records it has the last ones, and says so. Each line has the number of the step, the simulated time since the run has
    /// begun, and the line of the source.
    #[must_use]
    pub fn events(&self) -> &str {
        &self.explained.events
    }
}

impl Failure {
    /// Says how the order of the run differs from the plain one, and how long it is.
    fn order(&self) -> String {
        let steps = counted(self.steps, "step");
        if let Shrunk::Partly { runs } = self.shrunk {
            let limit = match runs {
                shrink::RUNS => format!("at its limit of {runs} runs"),
                _ => format!("at the time limit, after {}", counted(runs, "run")),
            };
            return format!(
                "{} of {} are left, in {steps}; shrinking has stopped {limit}, so fewer may be enough",
                self.trace.len(),
                counted(self.decisions as u64, "decision")
            );
        }
        format!("{}, in {steps}", self.decisive())
    }

    /// Says how many decisions differ from those of the plain order.
    fn decisive(&self) -> String {
        match (self.trace.len(), self.decisions) {
            (_, 0) => "it fails in its only order".to_owned(),
            // Then each decision is the harmless one.
            (0, _) => "it fails in the plain order".to_owned(),
            (left, all) => {
                let all = counted(all as u64, "decision");
                match self.shrunk {
                    Shrunk::No if self.is_replay => format!("it has {left} of {all}"),
                    Shrunk::Fully if left == 1 => format!("1 of {all} matters"),
                    Shrunk::Fully => format!("{left} of {all} matter"),
                    Shrunk::No | Shrunk::Partly { .. } => {
                        format!("{left} of {all} are not those of the plain order: not shrunk")
                    }
                }
            }
        }
    }

    /// Returns `true` if the run was too long to be shortened, and its clock has moved by more than [`SOONER`] needs.
    fn is_long(&self) -> bool {
        self.shrunk == Shrunk::No && !self.is_replay && self.time > SHORT
    }

    /// Returns a line about the run, which is about to be shortened.
    pub(super) fn announce(&mut self) -> String {
        let (runs, seed) = (self.runs, self.seed);
        let variables = if self.schedule.learns() && runs > 1 {
            // Its own seed does not repeat it.
            self.keep_trace();
            self.variables()
        } else {
            self.seed_variables()
        };
        let repeats = variables.map_or(String::new(), |these| format!(" ({these} repeats it)"));
        let test = self.test.as_deref().unwrap_or("the simulation");
        let cause = self.cause.to_string();
        let headline = cause.lines().next().unwrap_or_default();
        format!("{test}: run {runs} (seed {seed}) fails: {headline}; shrinking{repeats}")
    }

    /// Writes the trace into a file beside the test's program, if it is too long for a line. If that fails, the seed is left.
    pub(super) fn keep_trace(&mut self) {
        self.file = None;
        if self.trace.len() > MOST {
            self.file = self.write_trace().ok();
        }
    }

    fn write_trace(&self) -> io::Result<PathBuf> {
        let program = env::current_exe()?;
        let file = match &self.test {
            Some(test) => program.with_file_name(format!("{}.trace", test.replace("::", "."))),
            None => program.with_extension("trace"),
        };
        fs::write(&file, self.trace.to_string())?;
        Ok(file)
    }

    /// Returns the seed of the search's first run.
    fn first_seed(&self) -> u64 {
        self.seed.wrapping_sub(self.runs - 1)
    }

    /// Returns the variables with which the test fails in this way; `None` if the trace is given, and too long.
    fn variables(&self) -> Option<String> {
        if self.trace.len() <= MOST {
            return Some(format!("BLITZ_SIM_TRACE={}", self.trace));
        }
        if let Some(file) = &self.file {
            return Some(format!("BLITZ_SIM_TRACE=@{}", file.display()));
        }
        if self.is_replay {
            return None;
        }
        self.seed_variables()
    }

    /// Returns the variables that repeat the run by its seed, before its decisions are shortened.
    fn seed_variables(&self) -> Option<String> {
        let runs = self.runs;
        let mut variables = match self.schedule {
            // No run has this one but that of a trace.
            Schedule::Portfolio => return None,
            learning if learning.learns() && runs > 1 => {
                format!(
                    "BLITZ_SIM_SEED={} BLITZ_SIM_SEEDS={runs}",
                    self.first_seed()
                )
            }
            _ => format!("BLITZ_SIM_SEED={}", self.seed),
        };
        if let Some(schedule) = self.schedule_of_env {
            variables.push_str(&format!(" BLITZ_SIM_SCHEDULE={schedule}"));
        }
        Some(variables)
    }
}

/// Returns the command that runs a test with these variables. `test`: the name of its thread.
pub(super) fn command(variables: &str, options: &str, test: Option<&str>) -> String {
    match test {
        // Without `--exact`, Cargo also runs each test whose name has this one in it.
        Some(test) if test != "main" => {
            format!("{variables} cargo test {options}{test} -- --exact")
        }
        // A program of its own.
        _ => format!("{variables}, with `Builder::from_env`"),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulation has failed: ")?;
        match (&self.cause, &self.explained.culprit) {
            (Cause::Panic(message), Some(task)) => panicked(f, task, message)?,
            (cause, _) => write!(f, "{cause}")?,
        }
        f.write_str("\n  ")?;
        if self.is_replay {
            f.write_str("replay of the trace")?;
        } else {
            let (runs, seed, schedule) = (self.runs, self.seed, self.schedule);
            if schedule.learns() && runs > 1 {
                // Its own seed does not repeat it.
                write!(
                    f,
                    "run {runs} from seed {}, schedule {schedule}",
                    self.first_seed()
                )?;
            } else {
                write!(f, "run {runs}, seed {seed}, schedule {schedule}")?;
            }
        }
        match self.cause {
            // Such a run does not fail by its order.
            Cause::NotDeterministic | Cause::OtherCode => {
                writeln!(f, "; {}", counted(self.steps, "step"))?;
            }
            _ => writeln!(f, "; {}", self.order())?,
        }
        match self.cause {
            Cause::Leak { .. } | Cause::LeakedSockets(_) => {
                f.write_str("  to allow that: `allow_leaks = true`\n")?;
            }
            Cause::Panic(_) if self.explained.is_panic_of_other_task => {
                f.write_str("  to allow that: `allow_panics = true`\n")?;
            }
            Cause::Always { .. } => {
                if let Some(after) = &self.explained.last_step {
                    writeln!(f, "  after {after}")?;
                }
            }
            Cause::Steps(_) => {
                f.write_str(&self.explained.own_wait)?;
                f.write_str("  to set this limit: `max_steps`\n")?;
                if self.is_long() {
                    writeln!(f, "{SOONER}")?;
                }
            }
            Cause::Time(_) => {
                f.write_str(&self.explained.own_wait)?;
                f.write_str("  to set this limit: `max_time`\n")?;
            }
            _ => {}
        }
        match self.variables() {
            _ if self.cause == Cause::NotDeterministic => f.write_str(AGAIN)?,
            // It would pass again.
            _ if self.cause == Cause::OtherCode => {}
            Some(variables) => {
                let command = command(&variables, self.cargo_options, self.test.as_deref());
                writeln!(f, "  to replay: {command}")?;
            }
            None => writeln!(f, "  to replay: `Failure::trace`")?,
        }
        f.write_str(&self.explained.faults)?;
        f.write_str(&self.explained.system)?;
        f.write_str(&self.explained.history)?;
        let Explained { waits, events, .. } = &self.explained;
        // Of hosts, most tasks that wait are idle: the faults come first.
        let are_last = !self.explained.faults.is_empty() && self.explained.findings.is_empty();
        let (first, second) = if are_last {
            (events, waits)
        } else {
            (waits, events)
        };
        f.write_str(first)?;
        f.write_str(second)
    }
}

impl std::error::Error for Failure {}
