//! `blitz sim run`.

use std::collections::VecDeque;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use blitz_io_sim::{Plan, Schedule, Simulator, Trace, Verdict};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::choices::counted;
use super::junit;
use super::picture;
use super::report::{self, End, Row};
use super::search::{Searched, search};
use super::targets::{Target, Test};
use super::{Chosen, Preempt, RunArguments, exit_of, failed};
use crate::destination;
use crate::exit::Exit;
use crate::interrupt;
use crate::line::Line;
use crate::output;

/// What a search with seeds may not have tried, for a program that has passed, and the next search.
const NEXT: &str = "\
Next, for lost wake-ups of condvars and races of plain memory: --schedule surw --preempt
";

/// What also finds mistakes in a program that has passed.
const OTHERS: &str = "\
For atomic operations, and for wake-ups that are lost as a flag is changed without the lock: --atomics (once: rustup
component add rust-src). For tasks, locks and channels of blitz-io or its package tokio: a test with #[blitz_io::sim]
or #[tokio::sim].
";

/// Said if each program that has passed has one thread, and random numbers or faults differ.
const ONE_THREAD: &str = "\
The program has one thread, so there is one order. The seeds have decided its random numbers and faults.
";

/// Said if nothing in the programs that have passed differs from seed to seed.
const ONE_ORDER: &str = "\
The program has one thread: there is one order, and nothing in it is left to a seed.
";

impl RunArguments {
    /// Returns what a reader has to know of the programs that have passed.
    fn hint(&self, rows: &[Row]) -> String {
        let passed = || {
            let passed = |row: &&Row| row.verdict == End::Ran(Verdict::Passed) && !row.stopped;
            rows.iter().filter(passed)
        };
        if passed().next().is_none() {
            String::new()
        } else if passed().all(|row| row.only_one) {
            ONE_ORDER.to_owned()
        } else if passed().all(|row| row.threads == 1) {
            ONE_THREAD.to_owned()
        } else {
            self.not_tried()
        }
    }

    /// Returns what the searches may not have tried.
    fn not_tried(&self) -> String {
        if self.atomics {
            return String::new();
        }
        let is_best =
            self.schedule == Chosen::Seeds(Schedule::Surw) && self.preempt == Preempt::All;
        let next = if is_best { "" } else { NEXT };
        format!("{}{next}{OTHERS}", self.changes())
    }

    /// Says where threads have changed.
    fn changes(&self) -> &'static str {
        // With some of the seeds, 16 in a row have one that does.
        let mut seeds = (0..self.seeds.min(16)).map(|at| self.seed.wrapping_add(at));
        let is_search = matches!(self.schedule, Chosen::Seeds(_));
        if !is_search || !seeds.any(|seed| self.preempts(seed)) {
            "Threads changed at calls only, and a lock of std or parking_lot that is free makes none.\n"
        } else if self.preempt == Preempt::All {
            "Threads changed at calls, and with each seed between two.\n"
        } else {
            "Threads changed at calls, and with some seeds between two.\n"
        }
    }

    /// Returns the orders that a complete search has tried.
    fn orders(&self) -> String {
        let all = if self.atomics {
            "all orders"
        } else {
            "all orders of calls"
        };
        match self.schedule {
            Chosen::Seeds(_) | Chosen::Exhaustive(None) | Chosen::Contended(None) => all.to_owned(),
            Chosen::Exhaustive(Some(0)) | Chosen::Contended(Some(0)) => {
                format!("{all} without a preemption")
            }
            Chosen::Exhaustive(Some(bound)) | Chosen::Contended(Some(bound)) => {
                format!("{all} with at most {}", counted(bound, "preemption"))
            }
        }
    }
}

/// Runs every target, and prints the table.
pub fn run(arguments: &RunArguments) -> Result<Exit, Exit> {
    let targets = arguments.targets()?;
    if targets.is_empty() {
        return Err(Exit::Failed("there is no test to run".to_owned()));
    }
    fs::create_dir_all(&arguments.traces)
        .map_err(|error| Exit::unwritable(&arguments.traces, error))?;
    // A run may be long.
    destination::check(arguments.junit.as_deref())?;
    interrupt::watch(|| std::process::exit(130));
    interrupt::watch_termination();
    let bar = bar(targets.len() as u64 * arguments.seeds);
    let all = run_all(targets, arguments, &bar);
    bar.finish_and_clear();
    let rows = all?;
    if let Some(path) = &arguments.junit {
        fs::write(path, junit::document(&rows)).map_err(|error| Exit::unwritable(path, error))?;
    }
    if arguments.json {
        output::print_json(&rows)?;
    } else {
        output::print(&report::table(
            &rows,
            &arguments.orders(),
            interrupt::is_pressed(),
        ))?;
    }
    output::tell(arguments.hint(&rows));
    let first = |wanted: fn(End) -> bool| rows.iter().find(|row| wanted(row.verdict));
    let row = first(End::is_failure).or_else(|| first(End::is_incomplete));
    Ok(match row {
        Some(row) => match row.verdict {
            End::Ran(verdict) => exit_of(verdict, &row.test),
            end => Exit::Failed(format!("{}: {end}", row.test)),
        },
        None if interrupt::is_pressed() => Exit::Interrupted,
        None => Exit::Done,
    })
}

fn bar(runs: u64) -> ProgressBar {
    let style = "{bar:20.cyan/dim} {pos} of {len}  {rate}  {wide_msg}";
    let style = ProgressStyle::with_template(style).expect("the template is valid");
    let style = style.with_key("rate", |state: &ProgressState, to: &mut dyn Write| {
        let _ = write!(to, "{:.0} a second", state.per_sec());
    });
    let bar = ProgressBar::with_draw_target(Some(runs), line_of_terminal());
    bar.set_style(style.progress_chars("━╸─"));
    bar
}

/// Returns where progress is shown: on a terminal only.
pub fn line_of_terminal() -> ProgressDrawTarget {
    match Line::of_terminal() {
        Some(line) => ProgressDrawTarget::term_like_with_hz(Box::new(line), 10),
        None => ProgressDrawTarget::hidden(),
    }
}

/// Runs the targets on several threads. Returns the rows in the order of the targets.
fn run_all(
    targets: Vec<Target>,
    arguments: &RunArguments,
    bar: &ProgressBar,
) -> Result<Vec<Row>, Exit> {
    let count = targets.len();
    let queue: Mutex<VecDeque<_>> = Mutex::new(targets.into_iter().enumerate().collect());
    let rows = Mutex::new(vec![]);
    let stop = AtomicBool::new(false);
    let work = || {
        loop {
            let next = queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front();
            let Some((at, target)) = next else { return };
            let add = |row| {
                let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
                rows.push((at, row));
            };
            if target.test == Some(Test::IsIgnored) {
                add(Ok(Row::ignored(target.name)));
                bar.inc(arguments.seeds);
                continue;
            }
            let is_stopped = || stop.load(Ordering::Relaxed) || interrupt::is_pressed();
            if is_stopped() {
                add(Ok(Row::not_run(target.name)));
                continue;
            }
            bar.set_message(target.name.clone());
            let searched = search(&target.program, arguments, || {
                bar.inc(1);
                !is_stopped()
            });
            if searched.is_err() && interrupt::is_pressed_by_now() {
                add(Ok(Row::not_run(target.name)));
                continue;
            }
            let row = searched
                .map_err(failed)
                .and_then(|searched| finish(target, searched, arguments, bar));
            let bad = row.as_ref().map_or(true, |row| row.verdict.is_failure());
            if bad && !arguments.keep_going {
                stop.store(true, Ordering::Relaxed);
            }
            add(row);
        }
    };
    let jobs = arguments.jobs.map_or_else(
        || thread::available_parallelism().map_or(1, usize::from),
        |jobs| usize::try_from(jobs).unwrap_or(usize::MAX),
    );
    thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            scope.spawn(work);
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(at, _)| *at);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Makes the row of a target, and keeps the trace of a failure.
fn finish(
    target: Target,
    searched: Searched,
    arguments: &RunArguments,
    bar: &ProgressBar,
) -> Result<Row, Exit> {
    let mut row = Row {
        schedules: searched.runs,
        seconds: searched.took.as_secs_f64(),
        complete: searched.complete,
        only_one: searched.only_one,
        threads: searched.threads,
        stopped: searched.stopped,
        wanted: matches!(arguments.schedule, Chosen::Seeds(_)).then_some(arguments.seeds),
        points: searched.points,
        ..Row::not_run(target.name)
    };
    let Some((plan, outcome)) = searched.failure else {
        if searched.no_test {
            row.verdict = End::NoTest;
        }
        if !searched.report.is_empty() {
            let told = format_args!("\n{}: ran other programs\n{}", row.test, searched.report);
            bar.suspend(|| output::tell(told));
        }
        return Ok(row);
    };
    row.verdict = End::Ran(outcome.verdict);
    row.seed = matches!(arguments.schedule, Chosen::Seeds(_)).then_some(plan.seed);
    row.seed_repeats = searched.seed_repeats;
    row.details = report::details(&target.program, &outcome, false);
    let mut path = None;
    if outcome.verdict != Verdict::Full {
        let file = keep(
            &target.program,
            &plan,
            &outcome,
            &row.test,
            &arguments.traces,
        )?;
        row.trace = Some(file.display().to_string());
        if arguments.html {
            let trace = Trace::read(&file).map_err(failed)?;
            let mut simulator = Simulator::start(&trace.program).map_err(failed)?;
            picture::write(&mut simulator, &trace, &file.with_extension("html"))?;
        }
        path = Some(file);
    }
    bar.suspend(|| {
        output::tell(report::failure(&row));
        if let (Some(path), true) = (path, outcome.verdict.is_failure()) {
            let path = path.display();
            output::tell(format_args!(
                "next: blitz sim replay {path}   or   blitz sim shrink {path}\n\n"
            ));
        }
    });
    Ok(row)
}

fn keep(
    program: &blitz_io_sim::Program,
    plan: &Plan,
    outcome: &blitz_io_sim::Outcome,
    name: &str,
    folder: &Path,
) -> Result<PathBuf, Exit> {
    let plain = |letter: char| {
        if letter.is_alphanumeric() || "-_.".contains(letter) {
            letter
        } else {
            '_'
        }
    };
    let name: String = name.replace("::", ".").chars().map(plain).collect();
    let path = folder.join(format!("{name}.blitztrace"));
    let trace = Trace::new(program, plan, outcome).map_err(failed)?;
    trace
        .write(&path)
        .map_err(|error| Exit::Failed(format!("{}: {error}", path.display())))?;
    Ok(path)
}
