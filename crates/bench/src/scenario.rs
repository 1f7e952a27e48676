//! A scenario: one job, and the contenders that do it.

use std::fmt;
use std::time::Duration;

use crate::alloc::Memory;
use crate::latency::{Latency, Waits};
use crate::report::{duration, figure};
use crate::settings::Settings;
use crate::threads::Span;
use crate::work::Work;

/// The name of our own contender.
pub const OURS: &str = "blitz-io";

/// One job, measured for us and for each peer that can do it.
pub struct Scenario {
    /// The name in filters and in JSON, such as `mutex_contended_4_short`.
    pub id: String,
    /// The number of the tier, from 1 on; see [`TIERS`](crate::tier::TIERS).
    pub tier: u8,
    /// The title that a reader sees.
    pub title: String,
    /// The number of threads that work at the same time; 0 means the runtime's workers.
    /// See [`Scenario::threads_under`].
    pub threads: usize,
    /// Operations in one iteration of a full run.
    pub ops: u64,
    /// The figure that decides which contender wins.
    pub compares: Compares,
    /// All contenders that take part. Ours is called [`OURS`].
    pub contenders: Vec<Contender>,
}

/// The figure that decides a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compares {
    /// Time per operation, against the peer with the shortest time.
    #[default]
    NsPerOp,
    /// The 99th percentile of the wait, against the peer with the best
    /// throughput of the same scenario. (The peer with the best percentile
    /// may have paid for it with throughput.)
    P99Ns,
    /// The percentile of the wait below which all but one of a thousand are, against the peer
    /// with the best throughput.
    P99_9Ns,
    /// The median of the wait, where a few long waits say more about the system
    /// than about the contender. Against the peer with the best mean.
    P50Ns,
    /// Bytes that stay allocated for each operation, against the peer with the
    /// fewest.
    BytesPerOp,
}

impl Compares {
    /// Returns the percentile of the wait that decides, if one does.
    pub(crate) fn percentile(self) -> Option<fn(&Latency) -> f64> {
        match self {
            Compares::NsPerOp | Compares::BytesPerOp => None,
            Compares::P99Ns => Some(|latency| latency.p99_ns),
            Compares::P99_9Ns => Some(|latency| latency.p99_9_ns),
            Compares::P50Ns => Some(|latency| latency.p50_ns),
        }
    }

    /// Formats a figure of this kind with a unit that fits it, and its name where that is not
    /// obvious.
    ///
    /// ```
    /// use blitz_io_bench::scenario::Compares;
    /// assert_eq!(Compares::P99Ns.text(84.61), "p99 84.6 ns");
    /// assert_eq!(Compares::NsPerOp.text(1_336_700.0), "1.34 ms");
    /// assert_eq!(Compares::BytesPerOp.text(128.0), "128 B");
    /// ```
    pub fn text(self, value: f64) -> String {
        match self {
            Compares::NsPerOp => duration(value),
            Compares::P99Ns => format!("p99 {}", duration(value)),
            Compares::P99_9Ns => format!("p99.9 {}", duration(value)),
            Compares::P50Ns => format!("p50 {}", duration(value)),
            Compares::BytesPerOp => format!("{} B", figure(value)),
        }
    }
}

/// The body of a scenario for one contender.
pub type Body = Box<dyn Fn(&Context) -> Measured + Send + Sync>;

/// The body of several scenarios for one contender; the argument says in which they differ.
pub type BodyOf<A> = fn(&Context, A) -> Measured;

/// A participant of a scenario.
pub struct Contender {
    /// [`OURS`], or the peer's crate name.
    pub name: &'static str,
    /// Runs one iteration.
    pub body: Body,
}

/// The parameters of an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// About how many operations to run. The sample says how many it ran.
    pub ops: u64,
    /// Worker threads, for scenarios that need a runtime.
    pub workers: usize,
    /// Work that takes one microsecond.
    pub microsecond: Work,
}

impl Context {
    /// Returns each thread's equal share of the operations, at least one.
    pub fn share(&self, threads: usize) -> u64 {
        (self.ops / threads as u64).max(1)
    }
}

/// One iteration: a sample, or the proof that the work was not done.
pub type Measured = Result<Sample, Failure>;

/// The costs of one iteration.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Time and memory.
    pub span: Span,
    /// Operations that were run.
    pub ops: u64,
    /// Each operation's wait, where the scenario records it.
    pub waits: Option<Waits>,
    /// The processor time, where the scenario measures it: of the server alone, if there is
    /// one.
    pub cpu: Option<Duration>,
}

impl Sample {
    /// Creates a sample without a histogram.
    pub fn new(span: Span, ops: u64) -> Sample {
        Sample {
            span,
            ops,
            waits: None,
            cpu: None,
        }
    }

    /// Returns the same sample with the waits of its operations.
    pub fn with_waits(self, waits: Waits) -> Sample {
        Sample {
            waits: Some(waits),
            ..self
        }
    }

    /// Returns the same sample with the processor time.
    pub fn with_cpu(self, cpu: Option<Duration>) -> Sample {
        Sample { cpu, ..self }
    }

    /// Returns the nanoseconds per operation.
    pub fn ns_per_op(&self) -> f64 {
        self.span.elapsed.as_nanos() as f64 / self.ops as f64
    }

    /// Returns the bytes that were allocated while the clock ran and not freed, for each
    /// operation.
    pub fn kept_bytes_per_op(&self) -> f64 {
        self.span.memory.kept() as f64 / self.ops as f64
    }

    /// Returns the allocations while the clock ran.
    pub fn memory(&self) -> Memory {
        self.span.memory
    }
}

/// Why an iteration's result cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

/// Fails unless `found` is `expected`.
///
/// ```
/// use blitz_io_bench::scenario::verify;
/// assert!(verify("messages", 10, 10).is_ok());
/// assert_eq!(verify("messages", 10, 9).unwrap_err().to_string(), "messages: expected 10, found 9");
/// ```
pub fn verify<T: PartialEq + fmt::Display>(
    what: &str,
    expected: T,
    found: T,
) -> Result<(), Failure> {
    if expected == found {
        Ok(())
    } else {
        Err(Failure(format!(
            "{what}: expected {expected}, found {found}"
        )))
    }
}

impl Scenario {
    /// Creates a scenario without contenders, on one thread, decided by time.
    pub fn new(tier: u8, id: impl Into<String>, title: impl Into<String>, ops: u64) -> Scenario {
        Scenario {
            id: id.into(),
            tier,
            title: title.into(),
            threads: 1,
            ops,
            compares: Compares::NsPerOp,
            contenders: Vec::new(),
        }
    }

    /// Sets how many threads work at the same time.
    pub fn threads(self, threads: usize) -> Scenario {
        Scenario { threads, ..self }
    }

    /// Runs the scenario on a runtime, with as many workers as the settings say.
    pub fn on_runtime(self) -> Scenario {
        self.threads(0)
    }

    /// Returns the same scenario, decided by this figure instead of the time of an operation.
    pub fn decided_by(self, compares: Compares) -> Scenario {
        Scenario { compares, ..self }
    }

    /// Adds a contender.
    pub fn with(
        mut self,
        name: &'static str,
        body: impl Fn(&Context) -> Measured + Send + Sync + 'static,
    ) -> Scenario {
        let body = Box::new(body);
        self.contenders.push(Contender { name, body });
        self
    }

    /// Adds the contenders of a table.
    pub fn with_all<B>(self, table: impl IntoIterator<Item = (&'static str, B)>) -> Scenario
    where
        B: Fn(&Context) -> Measured + Send + Sync + 'static,
    {
        (table.into_iter()).fold(self, |scenario, (name, body)| scenario.with(name, body))
    }

    /// Adds the contenders of a table, whose bodies take one more argument.
    pub fn with_each<A: Copy + Send + Sync + 'static>(
        self,
        argument: A,
        table: impl IntoIterator<Item = (&'static str, BodyOf<A>)>,
    ) -> Scenario {
        let of = |(name, body): (_, BodyOf<A>)| (name, move |cx: &Context| body(cx, argument));
        self.with_all(table.into_iter().map(of))
    }

    /// Returns the names of all contenders but ours.
    pub fn peers(&self) -> impl Iterator<Item = &'static str> {
        let names = self.contenders.iter().map(|contender| contender.name);
        names.filter(|name| *name != OURS)
    }

    /// Returns how many threads work at the same time under `settings`.
    pub fn threads_under(&self, settings: &Settings) -> usize {
        match self.threads {
            0 => settings.workers,
            threads => threads,
        }
    }

    /// Returns the operations of one iteration under `settings`.
    pub fn scaled_ops(&self, settings: &Settings) -> u64 {
        settings.scaled(self.ops)
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario")
            .field("id", &self.id)
            .field("tier", &self.tier)
            .field("threads", &self.threads)
            .field("peers", &self.peers().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
