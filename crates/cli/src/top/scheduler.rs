//! `blitz top --scheduler`: what each scheduler does, as plain data and as lines.

use blitz_io_inspect::{Answer, Monitor, Runtime, Scheduler, Worker};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use serde::Serialize;

use super::units::{count, fit};

/// The view of the schedulers of a process.
#[derive(Debug, Serialize)]
pub struct Schedulers {
    pub pid: u32,
    pub program: String,
    /// `None` if the version of the process does not say.
    pub runtimes: Option<Vec<RuntimeView>>,
}

/// The rates are those since the last look, in operations per second.
#[derive(Debug, Serialize)]
pub struct RuntimeView {
    pub id: u64,
    /// `None` for a runtime of one thread.
    pub idle: Option<Scheduler>,
    /// The number of tasks in the queue of all workers.
    pub inject_queue: usize,
    pub injected: Option<f64>,
    pub forced_yields: Option<f64>,
    pub spawned: Option<f64>,
    pub workers: Vec<WorkerView>,
}

/// The rates are those since the last look, in operations per second.
#[derive(Debug, Serialize)]
pub struct WorkerView {
    pub state: State,
    /// The number of tasks in its own queue.
    pub queued: usize,
    pub polls: Option<f64>,
    pub stolen: Option<f64>,
    pub steals: Option<f64>,
    pub parks: Option<f64>,
    pub noops: Option<f64>,
    pub overflows: Option<f64>,
    /// The part of its time that it was busy. It counts its time when it goes to sleep.
    pub busy_share: Option<f64>,
}

/// State of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It polls tasks, or looks for some.
    Awake,
    /// It sleeps on a word of its own.
    Parked,
    /// It waits in a driver.
    Waits,
    /// It sleeps; where is not known.
    Asleep,
}

impl State {
    fn of(worker: &Worker, number: usize, idle: Option<&Scheduler>) -> Self {
        match idle {
            _ if worker.is_busy => Self::Awake,
            None => Self::Asleep,
            Some(idle) if idle.parked.contains(&number) => Self::Parked,
            Some(idle) if idle.drivers.iter().any(|driver| driver.waiting > 0) => Self::Waits,
            // It was called, and has not got up.
            Some(_) => Self::Asleep,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Awake => "awake",
            Self::Parked => "parked",
            Self::Waits => "waits",
            Self::Asleep => "asleep",
        }
    }
}

impl Schedulers {
    /// `earlier` gives the rates.
    pub fn new(earlier: Option<&Answer>, answer: &Answer, program: &str) -> Self {
        let snapshot = &answer.snapshot;
        let view = |runtime: &Runtime| {
            let before = earlier.and_then(|earlier| {
                let passed = snapshot.at_ms.saturating_sub(earlier.snapshot.at_ms);
                let mut all = earlier.snapshot.runtimes.iter().flatten();
                let before = all.find(|before| before.id == runtime.id)?;
                (passed > 0).then_some((before, passed as f64 / 1e3))
            });
            runtime_view(runtime, before)
        };
        let runtimes = snapshot.runtimes.as_ref();
        Self {
            pid: snapshot.pid,
            program: program.to_owned(),
            runtimes: runtimes.map(|all| all.iter().map(view).collect()),
        }
    }

    /// Returns the lines, none of which is wider than this.
    pub fn lines(&self, columns: usize) -> Vec<Line<'static>> {
        let line = |text: String| Line::from(fit(&text, columns));
        let title = |text: String| {
            let bold = Style::new().add_modifier(Modifier::BOLD);
            Line::from(Span::styled(fit(&text, columns), bold))
        };
        let mut lines = vec![title(format!("{} ({})", self.program, self.pid))];
        let Some(runtimes) = &self.runtimes else {
            lines.push(line(super::page::UNKNOWN.to_owned()));
            return lines;
        };
        for runtime in runtimes {
            lines.push(title(runtime.headline()));
            lines.extend(runtime.sleepers().map(&line));
            lines.push(line(runtime.queue()));
            lines.push(title(HEADING.to_owned()));
            let rows = runtime.workers.iter().enumerate();
            lines.extend(rows.map(|(number, worker)| line(worker.row(number))));
        }
        lines
    }
}

fn runtime_view(runtime: &Runtime, before: Option<(&Runtime, f64)>) -> RuntimeView {
    let rate = |of: fn(&Runtime) -> u64| {
        before.map(|(before, seconds)| of(runtime).saturating_sub(of(before)) as f64 / seconds)
    };
    let worker = |(number, worker): (usize, &Worker)| {
        let earlier =
            before.and_then(|(before, seconds)| Some((before.workers.get(number)?, seconds)));
        let state = State::of(worker, number, runtime.scheduler.as_ref());
        worker_view(worker, state, earlier)
    };
    RuntimeView {
        id: runtime.id,
        idle: runtime.scheduler.clone(),
        inject_queue: runtime.global_queue,
        injected: rate(|runtime| runtime.injected),
        forced_yields: rate(|runtime| runtime.forced_yields),
        spawned: rate(|runtime| runtime.spawned_tasks),
        workers: runtime.workers.iter().enumerate().map(worker).collect(),
    }
}

fn worker_view(worker: &Worker, state: State, before: Option<(&Worker, f64)>) -> WorkerView {
    let rate = |of: fn(&Worker) -> u64| {
        before.map(|(before, seconds)| of(worker).saturating_sub(of(before)) as f64 / seconds)
    };
    WorkerView {
        state,
        queued: worker.queued,
        polls: rate(|worker| worker.polls),
        stolen: rate(|worker| worker.stolen),
        steals: rate(|worker| worker.steals),
        parks: rate(|worker| worker.parks),
        noops: rate(|worker| worker.noops),
        overflows: rate(|worker| worker.overflows),
        busy_share: rate(|worker| worker.busy_ns).map(|busy| (busy / 1e9).min(1.0)),
    }
}

const HEADING: &str =
    "  WORKER  STATE   QUEUED  POLLS/S  STEALS/S  STOLEN/S  PARKS/S  NOOPS/S   BUSY";

/// Formats a rate; `-` at the first look.
fn per_second(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| count(rate.round() as u64))
}

impl RuntimeView {
    fn headline(&self) -> String {
        let (id, workers) = (self.id, self.workers.len());
        let Some(idle) = &self.idle else {
            return format!("runtime {id}: one thread");
        };
        let monitor = match idle.monitor {
            None => "no monitor".to_owned(),
            Some(monitor) => {
                let place = match monitor {
                    Monitor::Worker(worker) => format!("worker {worker}"),
                    Monitor::Driver(driver) => format!("driver {driver}"),
                };
                let looks = if idle.is_dozing { " (dozes)" } else { "" };
                format!("monitor: {place}{looks}")
            }
        };
        format!(
            "runtime {id}: {} of {workers} workers awake, {} searching; {monitor}",
            idle.awake, idle.searching
        )
    }

    /// Returns the line that says where workers sleep, if any does.
    fn sleepers(&self) -> Option<String> {
        let idle = self.idle.as_ref()?;
        let mut places: Vec<String> = Vec::new();
        if !idle.parked.is_empty() {
            let numbers: Vec<String> = idle.parked.iter().map(usize::to_string).collect();
            places.push(format!("parked: {}", numbers.join(", ")));
        }
        for (number, driver) in idle.drivers.iter().enumerate() {
            if driver.waiting + driver.called > 0 {
                let (waiting, called) = (driver.waiting, driver.called);
                places.push(format!(
                    "in driver {number}: {waiting}, and {called} called"
                ));
            }
        }
        (!places.is_empty()).then(|| format!("  asleep: {}", places.join("; ")))
    }

    fn queue(&self) -> String {
        format!(
            "  inject queue: {} tasks, {}/s; {}/s spawned, {}/s forced to yield",
            self.inject_queue,
            per_second(self.injected),
            per_second(self.spawned),
            per_second(self.forced_yields)
        )
    }
}

impl WorkerView {
    fn row(&self, number: usize) -> String {
        let busy =
            (self.busy_share).map_or_else(|| "-".to_owned(), |part| format!("{:.0} %", part * 1e2));
        format!(
            "  {number:<6}  {:<6}  {:>6}  {:>7}  {:>8}  {:>8}  {:>7}  {:>7}  {busy:>5}",
            self.state.name(),
            count(self.queued as u64),
            per_second(self.polls),
            per_second(self.steals),
            per_second(self.stolen),
            per_second(self.parks),
            per_second(self.noops),
        )
    }
}
