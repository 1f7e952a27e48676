//! Runs scenarios: all contenders in one process, in turns.
//!
//! One iteration of a scenario runs every contender once. The contender that goes first
//! changes with each iteration, and every other iteration runs in reverse order, so that
//! no contender always follows the same one. Iterations are complete or dropped:
//! sample `i` of one contender always has a partner, sample `i` of the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::alloc::Memory;
use crate::scenario::{Context, Failure, Measured, Sample, Scenario};
use crate::settings::Settings;
use crate::work::Work;

/// Notified before each sample, for example to draw a progress bar.
///
/// No method is called while a sample runs.
pub trait Observer {
    /// `contender` is about to run once in `scenario`.
    fn sample(&mut self, scenario: &Scenario, contender: &str);
}

impl Observer for () {
    fn sample(&mut self, _scenario: &Scenario, _contender: &str) {}
}

/// All samples of one scenario. Every contender has the same number of them.
#[derive(Debug)]
pub struct Measurement<'a> {
    /// The measured scenario.
    pub scenario: &'a Scenario,
    /// Each contender's samples, in the scenario's order.
    pub contenders: Vec<Samples>,
}

/// One contender's samples.
#[derive(Debug)]
pub struct Samples {
    /// The contender.
    pub name: &'static str,
    /// The measured iterations, in order.
    pub samples: Vec<Sample>,
    /// Memory of one iteration, and the operations it ran.
    pub memory: Memory,
    /// The operations behind `memory`.
    pub memory_ops: u64,
}

/// A scenario whose work was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("{scenario}: {contender} failed its verification: {reason}")]
pub struct Failed {
    /// The scenario's id.
    pub scenario: String,
    /// The contender that failed.
    pub contender: String,
    /// The fault that the verification found.
    pub reason: String,
}

/// The end of a run, with its measurements until then.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// One entry for each scenario with at least one complete iteration.
    pub measurements: Vec<Measurement<'a>>,
    /// The run was interrupted.
    pub interrupted: bool,
    /// The verification that failed. Nothing was run after it.
    pub failed: Option<Failed>,
}

/// Returns how many samples a run takes when nothing stops it.
pub fn sample_count(scenarios: &[Scenario], settings: &Settings) -> u64 {
    let contenders: usize = scenarios.iter().map(|s| s.contenders.len()).sum();
    (contenders * (settings.warmup + settings.iterations)) as u64
}

/// Runs `scenarios` in order, until the end, the first failed verification, or
/// `stop`. The flag is checked before every sample.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use blitz_io_bench::{Sample, Scenario, Settings, runner, threads};
///
/// let scenario = Scenario::new(1, "nothing", "Nothing at all", 10)
///     .with("blitz-io", |cx| Ok(Sample::new(threads::solo(|| ()).0, cx.ops)));
/// let scenarios = [scenario];
/// let outcome = runner::run(&scenarios, &Settings::QUICK, &AtomicBool::new(false), &mut ());
/// assert_eq!(outcome.measurements[0].contenders[0].samples.len(), 8);
/// ```
pub fn run<'a>(
    scenarios: &'a [Scenario],
    settings: &Settings,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Outcome<'a> {
    let mut runner = Runner {
        settings,
        microsecond: Work::calibrate(Duration::from_micros(1)),
        stop,
        observer,
    };
    let mut outcome = Outcome {
        measurements: Vec::new(),
        interrupted: false,
        failed: None,
    };
    for scenario in scenarios {
        let (measurement, end) = runner.measure(scenario);
        let is_measured = measurement.contenders.iter().any(|c| !c.samples.is_empty());
        if is_measured && !matches!(end, Err(End::Failed(_))) {
            outcome.measurements.push(measurement);
        }
        match end {
            Ok(()) => continue,
            Err(End::Stopped) => outcome.interrupted = true,
            Err(End::Failed(failed)) => outcome.failed = Some(failed),
        }
        break;
    }
    outcome
}

struct Runner<'a> {
    settings: &'a Settings,
    microsecond: Work,
    stop: &'a AtomicBool,
    observer: &'a mut dyn Observer,
}

/// Why a scenario ended early.
enum End {
    Stopped,
    Failed(Failed),
}

impl Runner<'_> {
    fn measure<'s>(&mut self, scenario: &'s Scenario) -> (Measurement<'s>, Result<(), End>) {
        let contenders = scenario.contenders.iter().map(|contender| Samples {
            name: contender.name,
            samples: Vec::new(),
            memory: Memory::default(),
            memory_ops: 1,
        });
        let mut contenders: Vec<Samples> = contenders.collect();
        let mut iterations = 0..self.settings.warmup + self.settings.iterations;
        let end =
            iterations.try_for_each(|iteration| self.iterate(scenario, iteration, &mut contenders));
        let measurement = Measurement {
            scenario,
            contenders,
        };
        (measurement, end)
    }

    /// Runs one iteration: every contender once. Drops it if it is not complete.
    fn iterate(
        &mut self,
        scenario: &Scenario,
        iteration: usize,
        contenders: &mut [Samples],
    ) -> Result<(), End> {
        let order = turns(contenders.len(), iteration);
        let counting = iteration + 1 == self.settings.warmup;
        let mut samples = Vec::with_capacity(order.len());
        for &turn in &order {
            samples.push(self.sample(scenario, turn, counting)?);
        }
        for (turn, sample) in order.into_iter().zip(samples) {
            let contender = &mut contenders[turn];
            if counting {
                contender.memory = sample.memory();
                contender.memory_ops = sample.ops;
            }
            if iteration >= self.settings.warmup {
                contender.samples.push(sample);
            }
        }
        Ok(())
    }

    fn sample(&mut self, scenario: &Scenario, turn: usize, counting: bool) -> Result<Sample, End> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(End::Stopped);
        }
        let contender = &scenario.contenders[turn];
        self.observer.sample(scenario, contender.name);
        let context = Context {
            ops: scenario.scaled_ops(self.settings),
            workers: self.settings.workers,
            microsecond: self.microsecond,
        };
        Memory::count(counting);
        let measured = guarded(|| (contender.body)(&context));
        Memory::count(false);
        measured.map_err(|Failure(reason)| {
            End::Failed(Failed {
                scenario: scenario.id.clone(),
                contender: contender.name.to_owned(),
                reason,
            })
        })
    }
}

/// Runs `body` and turns a panic into a failure, which names the contender.
fn guarded(body: impl FnOnce() -> Measured) -> Measured {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Failure(format!("panicked: {text}")))
    })
}

/// Returns the order of iteration `iteration`: every contender gets every position in
/// turn, and odd iterations run backwards.
fn turns(contenders: usize, iteration: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..contenders).collect();
    if contenders > 1 {
        order.rotate_left(iteration / 2 % contenders);
        if iteration % 2 == 1 {
            order.reverse();
        }
    }
    order
}
