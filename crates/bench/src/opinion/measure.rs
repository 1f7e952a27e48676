//! Contenders that run in turns, and the figures of their iterations.

use std::time::Duration;

use crate::scenario::Failure;
use crate::stats::{Interval, median, paired_ratio};
use crate::{Machine, Work};

use crate::opinion::counts::{Counter, Counts};

/// The extent of a measurement.
#[derive(Clone, Copy)]
pub struct Effort {
    pub iterations: usize,
    /// The intended length of an iteration.
    pub length: Duration,
    /// Work that takes a microsecond.
    pub microsecond: Work,
}

impl Effort {
    pub fn new(quick: bool) -> Self {
        Self {
            iterations: if quick { 3 } else { 15 },
            length: Duration::from_millis(if quick { 1 } else { 8 }),
            microsecond: Work::calibrate(Duration::from_micros(1)),
        }
    }
}

/// The verified result of one iteration.
#[derive(Clone, Copy)]
pub struct Done {
    pub elapsed: Duration,
    pub operations: u64,
    /// How many operations had to wait, if that can be observed.
    pub waited: Option<u64>,
}

/// Runs about as many operations as requested, and returns how many.
pub type Body = Box<dyn Fn(u64) -> Result<Done, Failure>>;

/// A contender.
pub struct Contender {
    pub name: String,
    pub body: Body,
    /// Each iteration begins with new threads, whose start does not count.
    starts_threads: bool,
}

impl Contender {
    pub fn new(
        name: impl Into<String>,
        body: impl Fn(u64) -> Result<Done, Failure> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            body: Box::new(body),
            starts_threads: true,
        }
    }

    /// Creates a contender whose threads already exist.
    pub fn of_tasks(
        name: impl Into<String>,
        body: impl Fn(u64) -> Result<Done, Failure> + 'static,
    ) -> Self {
        Self {
            starts_threads: false,
            ..Self::new(name, body)
        }
    }
}

/// One contender's figures, each the median of its iterations, for one operation.
pub struct Figures {
    pub name: String,
    pub nanos: f64,
    pub interval: Interval,
    /// Times a thread fell asleep.
    pub sleeps: Option<f64>,
    /// Times a thread that could run lost its processor: to another thread, or because
    /// it yielded.
    pub preemptions: Option<f64>,
    pub system_calls: Option<f64>,
    /// Nanoseconds of processor time, of all threads.
    pub processor: Option<f64>,
    /// The share of the operations that had to wait.
    pub waited: Option<f64>,
}

struct Iteration {
    done: Done,
    counts: Counts,
}

/// Runs all contenders in turns, each time with another one first.
pub fn run(effort: Effort, contenders: &[Contender]) -> Result<Vec<Figures>, Failure> {
    let counter = Counter::new();
    let plans = contenders
        .iter()
        .map(|contender| Plan::new(effort, &counter, contender))
        .collect::<Result<Vec<_>, _>>()?;
    let mut iterations: Vec<Vec<Iteration>> = contenders.iter().map(|_| Vec::new()).collect();
    for turn in 0..effort.iterations {
        for place in 0..contenders.len() {
            let who = (place + turn) % contenders.len();
            let plan = &plans[who];
            let iteration = once(&counter, &contenders[who], plan.operations)?;
            iterations[who].push(Iteration {
                counts: iteration.counts.without(plan.idle),
                ..iteration
            });
        }
    }
    Ok(contenders
        .iter()
        .zip(&iterations)
        .map(|(contender, iterations)| figures(&contender.name, iterations))
        .collect())
}

/// The parameters of a measurement, found before it begins.
struct Plan {
    /// How many operations fill an iteration.
    operations: u64,
    /// The cost of an iteration without any operation: starting and ending its threads.
    idle: Counts,
}

impl Plan {
    const FEW: u64 = 16;
    const MOST: u64 = 400_000;

    fn new(effort: Effort, counter: &Counter, contender: &Contender) -> Result<Self, Failure> {
        // The first run is the warm-up.
        once(counter, contender, Self::FEW)?;
        let mut operations = Self::FEW;
        loop {
            let done = once(counter, contender, operations)?.done;
            let wanted = effort.length.as_secs_f64() / done.elapsed.as_secs_f64().max(1e-6);
            let next = (done.operations as f64 * wanted) as u64;
            // A few operations may take much longer each than many do.
            if next <= 4 * operations || next >= Self::MOST {
                operations = next.clamp(16, Self::MOST);
                break;
            }
            operations *= 4;
        }
        let idle = if contender.starts_threads {
            once(counter, contender, 0)?.counts
        } else {
            Counts::default()
        };
        Ok(Self { operations, idle })
    }
}

fn once(counter: &Counter, contender: &Contender, operations: u64) -> Result<Iteration, Failure> {
    let before = counter.read();
    let done = (contender.body)(operations)
        .map_err(|failure| Failure(format!("{}: {failure}", contender.name)))?;
    Ok(Iteration {
        done,
        counts: counter.read().without(before),
    })
}

fn figures(name: &str, iterations: &[Iteration]) -> Figures {
    let per_operation = |count: &dyn Fn(&Iteration) -> Option<f64>| {
        let values: Option<Vec<f64>> = iterations
            .iter()
            .map(|iteration| Some(count(iteration)? / iteration.done.operations as f64))
            .collect();
        values.map(|values| median(&values))
    };
    let nanos: Vec<f64> = iterations
        .iter()
        .map(|i| i.done.elapsed.as_nanos() as f64 / i.done.operations as f64)
        .collect();
    Figures {
        name: name.to_owned(),
        nanos: median(&nanos),
        interval: interval_of_median(&nanos),
        sleeps: per_operation(&|i| Some(i.counts.sleeps? as f64)),
        preemptions: per_operation(&|i| Some(i.counts.preemptions? as f64)),
        system_calls: per_operation(&|i| Some(i.counts.system_calls? as f64)),
        processor: per_operation(&|i| Some(i.counts.processor?.as_nanos() as f64)),
        waited: per_operation(&|i| Some(i.done.waited? as f64)),
    }
}

/// Returns the 95 % interval of a median: that of its ratio to one.
pub fn interval_of_median(samples: &[f64]) -> Interval {
    paired_ratio(samples, &vec![1.0; samples.len()])
}

/// Describes where this was measured, and how.
pub fn head(title: &str, effort: Effort) -> String {
    format!(
        "{}Medians of {} iterations with their 95 % intervals; the contenders take turns; the \
         work of each iteration is verified.\n",
        place(title),
        effort.iterations
    )
}

/// Describes where this was measured.
pub fn place(title: &str) -> String {
    let machine = Machine::describe();
    format!(
        "{title}\n{}, {} processors, {} {}. ",
        machine.cpu, machine.cores, machine.os, machine.kernel
    )
}
