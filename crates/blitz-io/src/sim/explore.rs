//! Runs a test in many orders, and makes a failure of the first run that fails.

use std::io::{self, Write};
use std::time::Instant;

use blitz_io_observe::counted;

use super::execute::{Executed, Execution, Memory, Plan};
use super::failure::{Cause, Failure};
use super::properties::Properties;
use super::report::Report;
use super::schedule::{COUNTED_SEED, Chooser, Counted, Schedule};
use super::settings::Settings;
use super::shrink::{Candidate, Shrunk, Tried, shrink};
use super::system;
use super::threads_of_runs::Runs;
use super::trace::{Decision, Trace};
use crate::runtime::LocalRuntime;

/// The largest number of steps of a run whose decisions are shortened: that takes up to 1,000 such runs.
const SHRINKABLE: u64 = 100_000;
/// A shorter failure may have this many times the steps of the first one.
const LONGER: u64 = 10;

/// Number of runs after which a search of all orders reports its progress, each time.
const NOTED: u64 = 100_000;

/// What one run leaves to the next ones.
#[derive(Default)]
struct Earlier {
    /// What PCT and SURW select by, if the random walk that counts it has been made.
    counted: Option<Counted>,
    /// The schedule that keeps its state between runs, or its memory.
    kept: Option<Chooser>,
    memory: Memory,
}

impl Earlier {
    fn chooser(&mut self, schedule: Schedule, seed: u64) -> Chooser {
        let none = Counted::default();
        let counted = self.counted.as_ref().unwrap_or(&none);
        match (schedule, self.kept.take()) {
            (Schedule::Guided, Some(Chooser::Guided(mut guided))) => {
                guided.begin(seed);
                Chooser::Guided(guided)
            }
            (Schedule::Pct { depth }, Some(Chooser::Pct(mut pct))) => {
                pct.restart(seed, depth, counted.length);
                Chooser::Pct(pct)
            }
            (Schedule::Exhaustive { .. }, Some(exhaustive)) => exhaustive,
            (_, kept) => {
                self.kept = kept;
                Chooser::new(schedule, seed, counted)
            }
        }
    }

    /// Learns from a run. Returns `false` if there is no other one.
    fn learn(&mut self, executed: Executed, runtime: Option<LocalRuntime>) -> bool {
        let Executed {
            chooser, mut lists, ..
        } = executed;
        let is_more = self.keep(chooser, &lists.decisions);
        lists.clear();
        self.memory = Memory { lists, runtime };
        is_more
    }

    fn keep(&mut self, chooser: Chooser, decisions: &[Decision]) -> bool {
        match chooser {
            Chooser::First => return false,
            Chooser::Counting(walk) => self.counted = Some(walk.end(decisions.len())),
            Chooser::Pct(pct) => self.kept = Some(Chooser::Pct(pct)),
            Chooser::Exhaustive(mut exhaustive) => {
                let is_more = exhaustive.advance();
                self.kept = Some(Chooser::Exhaustive(exhaustive));
                return is_more;
            }
            Chooser::Guided(mut guided) => {
                guided.end(decisions);
                self.kept = Some(Chooser::Guided(guided));
            }
            _ => {}
        }
        true
    }
}

/// Checks that this thread may run a simulation.
///
/// # Panics
///
/// If it runs one.
#[track_caller]
pub(super) fn check_thread() {
    assert!(
        !Properties::is_entered(),
        "a simulation cannot run in another one"
    );
}

/// Returns a function that returns `false` when the time limit has passed, from now on.
fn time_left(settings: &Settings) -> impl Fn() -> bool + use<> {
    let (began, limit) = (Instant::now(), settings.time_limit);
    move || limit.is_none_or(|limit| began.elapsed() < limit)
}

/// Returns how a run with these settings is executed. Only one that is explained prints its panics, those that are allowed
/// too.
fn execution_of(settings: &Settings, explains: bool) -> Execution {
    let mut limits = settings.limits;
    limits.explains = explains;
    Execution {
        limits,
        leaks: settings.leaks,
        is_quiet: !explains,
    }
}

/// Runs the test with these settings.
pub(super) fn explore(settings: &Settings, test: &impl Runs) -> Result<Report, Box<Failure>> {
    let is_time = time_left(settings);
    if let Some(trace) = &settings.trace {
        return replay(settings, trace, test);
    }
    let execution = execution_of(settings, settings.repeats);
    if let Some(note) = seed_alone(settings) {
        // Past the harness, which hides what a test that passes prints.
        _ = writeln!(io::stderr(), "{note}");
    }
    let (mut report, mut earlier) = (Report::default(), Earlier::default());
    while report.runs < settings.seeds && (report.runs == 0 || is_time()) {
        let index = report.runs;
        let seed = settings.seed.wrapping_add(index);
        let schedule = settings.schedule.of_run(seed);
        if schedule.needs_counts() && earlier.counted.is_none() {
            earlier.counted = Some(count(&execution, test));
        }
        let plan = Plan {
            chooser: earlier.chooser(schedule, seed),
            entropy: entropy(schedule, seed),
            seed: Some(seed),
        };
        let memory = std::mem::take(&mut earlier.memory);
        let (mut executed, runtime) = test.execute(&execution, plan, memory, &mut report);
        if executed.cause.is_none() && !is_deterministic(settings, &execution, &executed, test) {
            executed.cause = Some(Cause::NotDeterministic);
        }
        if executed.cause.is_some() {
            return Err(fail(settings, schedule, seed, report.runs, executed, test));
        }
        if !earlier.learn(executed, runtime) {
            report.has_tried_all = true;
            report.is_complete = matches!(
                settings.schedule,
                Schedule::Exhaustive { preemptions: None }
            );
            break;
        }
        if let Some(note) = goes_on(settings, report.runs) {
            _ = writeln!(io::stderr(), "{note}");
        }
    }
    Ok(report)
}

/// Returns the progress of a search of all orders, which may have no limit, if it is time for that.
fn goes_on(settings: &Settings, runs: u64) -> Option<String> {
    let is_exhaustive = matches!(settings.schedule, Schedule::Exhaustive { .. });
    let is_due = runs >= NOTED && runs % NOTED == 0 && runs < settings.seeds;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("the simulation");
    (settings.announces && is_exhaustive && is_due)
        .then(|| format!("{test}: {runs} orders have passed, and there are more"))
}

/// Says that the seed of the environment does not repeat a run of an earlier search, if it does not.
fn seed_alone(settings: &Settings) -> Option<String> {
    let Settings { seed, schedule, .. } = settings;
    let is_alone = settings.is_seed_of_env && settings.seeds == 1;
    (is_alone && schedule.learns()).then(|| {
        format!(
            "BLITZ_SIM_SEED={seed} does not repeat a run of the schedule {schedule}, which follows from the runs before it: \
             use the BLITZ_SIM_TRACE of its report"
        )
    })
}

/// Runs the test once, with the decisions of a trace. A failure has all that its report needs: only a search shortens.
fn replay(settings: &Settings, trace: &Trace, test: &impl Runs) -> Result<Report, Box<Failure>> {
    let execution = execution_of(settings, true);
    let (plan, mut report) = (Plan::replay(trace), Report::default());
    let (mut executed, _) = test.execute(&execution, plan, Memory::default(), &mut report);
    if executed.cause.is_none() && settings.checks_trace && !executed.chooser.fits() {
        executed.cause = Some(Cause::OtherCode);
    }
    if executed.cause.is_none() {
        return Ok(report);
    }
    let (schedule, seed) = (Schedule::default(), settings.seed);
    Err(fail(settings, schedule, seed, report.runs, executed, test))
}

/// Makes the run that counts the operations, which is none of the search: a failure has no effect.
fn count(execution: &Execution, test: &impl Runs) -> Counted {
    let execution = Execution {
        is_quiet: true,
        ..*execution
    };
    let plan = Plan {
        chooser: Chooser::counting(),
        entropy: entropy(Schedule::Random, COUNTED_SEED),
        seed: Some(COUNTED_SEED),
    };
    let Executed { chooser, lists, .. } = once(&execution, plan, test);
    match chooser {
        Chooser::Counting(walk) => walk.end(lists.decisions.len()),
        _ => Counted::default(),
    }
}

/// Returns what the random numbers of the system follow from in the run with this seed.
fn entropy(schedule: Schedule, seed: u64) -> u32 {
    match schedule {
        // These are about orders, each of which they try once.
        Schedule::RoundRobin | Schedule::Exhaustive { .. } => 0,
        _ => system::entropy_of(seed),
    }
}

/// Returns `false` if the run shows, or a second one with the same decisions does, that the test is not
/// deterministic.
fn is_deterministic(
    settings: &Settings,
    execution: &Execution,
    executed: &Executed,
    test: &impl Runs,
) -> bool {
    if let Chooser::Exhaustive(exhaustive) = &executed.chooser {
        if exhaustive.diverged() {
            return false;
        }
    }
    if !settings.checks_determinism {
        return true;
    }
    let (plan, mut report) = (Plan::replay(&executed.trace()), Report::default());
    let (again, _) = test.execute(execution, plan, Memory::default(), &mut report);
    again.cause.is_none()
        && again.lists.decisions == executed.lists.decisions
        && again.steps == executed.steps
}

/// Makes the failure of a run, with the shortest decisions that lead to it, and explains it.
fn fail(
    settings: &Settings,
    schedule: Schedule,
    seed: u64,
    runs: u64,
    executed: Executed,
    test: &impl Runs,
) -> Box<Failure> {
    let trace = executed.trace();
    let cause = executed.cause.unwrap_or(Cause::NotDeterministic);
    let mut failure = Failure {
        trace,
        decisions: executed.lists.decisions.len(),
        steps: executed.steps,
        time: executed.time,
        // A replay may go elsewhere.
        explained: executed.explained,
        test: std::thread::current().name().map(str::to_owned),
        cargo_options: settings.cargo_options,
        schedule_of_env: settings.is_schedule_of_env.then_some(settings.schedule),
        shrunk: Shrunk::No,
        cause,
        seed,
        runs,
        schedule,
        is_replay: settings.trace.is_some(),
        file: None,
    };
    if failure.cause == Cause::NotDeterministic {
        failure.explained.events = first_difference(&failure.trace, settings, test);
    }
    let is_explained = failure.is_replay || settings.repeats;
    let needs_runs = !is_explained || settings.shrinks;
    if needs_runs && !matches!(failure.cause, Cause::NotDeterministic | Cause::OtherCode) {
        shrink_and_explain(&mut failure, settings, test);
    }
    Box::new(failure)
}

/// Makes two runs with the decisions of a trace, and returns the first event that only one of them has.
fn first_difference(trace: &Trace, settings: &Settings, test: &impl Runs) -> String {
    let mut execution = execution_of(settings, true);
    (execution.limits.compares, execution.is_quiet) = (true, true);
    let [one, other] = [(); 2].map(|()| {
        let executed = once(&execution, Plan::replay(trace), test);
        let ends = format!("the run ends after {}", counted(executed.steps, "step"));
        let mut events = executed.explained.compared;
        events.push(ends);
        events
    });
    let mut pairs = one.iter().zip(&other);
    let Some(at) = pairs.position(|(one, other)| one != other) else {
        return "\ntwo more runs with the same decisions have the same events\n".to_owned();
    };
    let mut text =
        String::from("\nthe first difference of two more runs with the same decisions\n");
    if let Some(before) = at.checked_sub(1) {
        text += &format!("  after      {}\n", one[before]);
    }
    text + &format!("  one run    {}\n  the other  {}\n", one[at], other[at])
}

fn once(execution: &Execution, plan: Plan, test: &impl Runs) -> Executed {
    let (memory, mut report) = (Memory::default(), Report::default());
    test.execute(execution, plan, memory, &mut report).0
}

/// Shortens the decisions of the failure.
fn shorten(
    failure: &mut Failure,
    execution: &Execution,
    is_time: impl Fn() -> bool,
    test: &impl Runs,
) {
    let mut execution = *execution;
    // A candidate that takes much longer is not simpler, and may not end at all.
    let steps = failure.steps.saturating_mul(LONGER);
    execution.limits.steps = execution.limits.steps.min(steps);
    let first = Plan {
        chooser: Chooser::replay_by_source(&failure.trace),
        ..Plan::replay(&failure.trace)
    };
    let first = once(&execution, first, test);
    let is_like = |cause: &Cause| cause.is_like(&failure.cause);
    if !first.cause.as_ref().is_some_and(is_like) {
        return;
    }
    let first = candidate(first);
    let mut best = failure.trace.clone();
    let mut faults = first.faults.clone();
    let run = |tried: Tried<'_>| {
        let executed = once(&execution, Plan::of(tried), test);
        let fails = executed.cause.as_ref().is_some_and(is_like);
        // A fault is more than any number of other decisions. Without a decision before it, one may come that has not come so far.
        let is_simpler = fails && executed.faults.is_within(&faults);
        is_simpler.then(|| {
            best = executed.trace();
            faults = executed.faults.clone();
            candidate(executed)
        })
    };
    failure.shrunk = shrink(first, run, is_time);
    failure.trace = best;
}

/// Returns what shrinking needs to know of a run.
fn candidate(executed: Executed) -> Candidate {
    Candidate {
        entropy: executed.entropy,
        faults: executed.faults,
        taken: executed.chooser.into_taken(),
    }
}

fn shrink_and_explain(failure: &mut Failure, settings: &Settings, test: &impl Runs) {
    if settings.shrinks && failure.steps <= SHRINKABLE {
        if settings.announces {
            // Past the harness, which keeps what a test prints until it ends: it may be killed before.
            _ = writeln!(io::stderr(), "{}", failure.announce());
        }
        // It takes at most as long as the search. Without a limit, the clock has no effect.
        let is_time = time_left(settings);
        shorten(failure, &execution_of(settings, false), is_time, test);
    }
    let last = once(
        &execution_of(settings, true),
        Plan::replay(&failure.trace),
        test,
    );
    match last.cause {
        Some(cause) if cause.is_like(&failure.cause) => {
            (failure.cause, failure.explained) = (cause, last.explained);
            (failure.steps, failure.decisions) = (last.steps, last.lists.decisions.len());
        }
        // The same decisions have led elsewhere.
        _ => {
            failure.explained.waits =
                "the test is not deterministic: a replay does not fail for this reason\n".into()
        }
    }
}
