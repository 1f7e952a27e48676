//! The JSON document that a run writes, and that other reports read.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::heap::HeapBytes;
use crate::latency::Latency;
use crate::machine::Machine;
use crate::runner::{Failed, Measurement, Outcome, Samples};
use crate::scenario::{Compares, OURS, Sample};
use crate::settings::{ASYNC_OPS, CHANNEL_OPS, Load, SYNC_OPS, Settings};
use crate::stats::{Verdict, median, min, paired_ratio};
use crate::tier::tier;

/// One run. Serialises to the document that `blitz bench --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Counts and machine.
    pub metadata: Metadata,
    /// The run was stopped before its end; the figures present were measured completely.
    #[serde(default)]
    pub interrupted: bool,
    /// The verification that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failed>,
    /// Our memory against Tokio's, if rows with both were run.
    #[serde(default)]
    pub heap_bytes_per_op: Option<HeapBytes>,
    /// One row for each scenario, by its id, in the order in which they ran.
    pub benchmarks: IndexMap<String, Row>,
}

/// The program that ran, and its machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Always `blitz-io`.
    pub runtime: String,
    /// The version of this library.
    pub version: String,
    /// Operations of one iteration of a synchronisation fast path.
    pub sync_ops: u64,
    /// Operations of one iteration of a channel fast path.
    pub channel_ops: u64,
    /// Operations of one iteration of an async scenario.
    pub async_ops: u64,
    /// Measured iterations.
    pub iterations: usize,
    /// Iterations before those.
    pub warmup: usize,
    /// Worker threads of scenarios that need a runtime.
    pub workers: usize,
    /// The machine.
    #[serde(flatten)]
    pub machine: Machine,
    /// The load under which the run took place.
    #[serde(flatten)]
    pub load: Load,
    /// The number of processors that others kept busy when the run began, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_at_start: Option<f64>,
    /// The time at which the run ended, in UTC.
    #[serde(default)]
    pub measured_at: String,
}

/// One scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The scenario's tier.
    pub tier: u8,
    /// The title that a reader sees.
    pub title: String,
    /// The number of threads that worked at the same time.
    #[serde(default = "one")]
    pub threads: usize,
    /// The figure that `ratio` compares.
    #[serde(default)]
    pub compares: Compares,
    /// Our figures.
    #[serde(flatten)]
    pub ours: Figures,
    /// The peers' figures, by name.
    pub peers: IndexMap<String, Figures>,
    /// The peer that blitz-io is compared with.
    pub best_peer: Option<String>,
    /// That peer's figure divided by ours: above 1, blitz-io wins.
    pub ratio: Option<f64>,
    /// The 95 % interval of `ratio`.
    pub ratio_ci95: Option<[f64; 2]>,
    /// `blitz-io`, the best peer, or `tie` if the interval contains 1.
    pub winner: Option<String>,
}

/// One contender's figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The time of the median iteration, per operation.
    pub ns_per_op: f64,
    /// The operations per second of the median iteration.
    pub ops_per_sec: f64,
    /// The time of the median iteration.
    pub median_ns: u64,
    /// The time of the fastest iteration.
    pub min_ns: u64,
    /// Operations of one iteration.
    pub ops_per_iter: u64,
    /// Bytes allocated per operation.
    pub bytes_per_op: f64,
    /// Allocations per operation.
    pub allocs_per_op: f64,
    /// Every iteration's work was checked and complete.
    pub verified: bool,
    /// Bytes that stay allocated per operation: the median over the iterations,
    /// if the scenario measures that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_bytes_per_op: Option<f64>,
    /// The processor time per operation: the median over the iterations, if the
    /// scenario measures it. Of the server alone, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_op: Option<f64>,
    /// Waits of single operations: medians over the iterations, and the
    /// longest wait of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// The compared figure of each iteration, in order.
    #[serde(default)]
    pub samples: Vec<f64>,
}

/// The number of processors, kept busy by others, from which on figures are not to be trusted.
pub const BUSY: f64 = 0.25;

/// The value of `winner` for a tie.
pub const TIE: &str = "tie";

fn one() -> usize {
    1
}

impl Document {
    /// Creates the document of a run that ended with `outcome`.
    pub fn new(outcome: &Outcome<'_>, settings: &Settings) -> Document {
        let benchmarks: IndexMap<String, Row> = outcome
            .measurements
            .iter()
            .map(|m| (m.scenario.id.clone(), Row::new(m, settings)))
            .collect();
        let heap: Vec<_> = benchmarks.values().filter_map(Row::heap_bytes).collect();
        Document {
            metadata: Metadata::new(settings),
            interrupted: outcome.interrupted,
            failure: outcome.failed.clone(),
            heap_bytes_per_op: HeapBytes::of(&heap),
            benchmarks,
        }
    }

    /// Parses a document.
    ///
    /// # Errors
    ///
    /// Fails if `text` is not JSON, or not JSON of this shape.
    pub fn parse(text: &str) -> Result<Document, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the document as JSON, over several lines.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("every key is a string")
    }
}

impl Metadata {
    /// Returns whether as much was measured as in a run without `--quick`.
    pub fn is_full(&self) -> bool {
        self.sync_ops == SYNC_OPS && self.iterations >= Settings::FULL.iterations
    }

    fn new(settings: &Settings) -> Metadata {
        let now = std::time::SystemTime::now();
        Metadata {
            runtime: OURS.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sync_ops: settings.scaled(SYNC_OPS),
            channel_ops: settings.scaled(CHANNEL_OPS),
            async_ops: settings.scaled(ASYNC_OPS),
            iterations: settings.iterations,
            warmup: settings.warmup,
            workers: settings.workers,
            machine: Machine::describe(),
            load: settings.load.clone(),
            busy_at_start: None,
            measured_at: humantime::format_rfc3339_seconds(now).to_string(),
        }
    }
}

impl Row {
    /// # Panics
    ///
    /// Panics if our own contender is missing: a registry without it is a mistake.
    fn new(measurement: &Measurement<'_>, settings: &Settings) -> Row {
        let scenario = measurement.scenario;
        let compares = scenario.compares;
        let mut peers: IndexMap<String, Figures> = measurement
            .contenders
            .iter()
            .map(|samples| (samples.name.to_owned(), Figures::new(samples, compares)))
            .collect();
        let ours = peers
            .shift_remove(OURS)
            .expect("every scenario has our own contender");
        let mut row = Row {
            tier: scenario.tier,
            title: scenario.title.clone(),
            threads: scenario.threads_under(settings),
            compares,
            ours,
            peers,
            ..Row::default()
        };
        row.judge();
        row
    }

    /// Finds the best peer and compares it with blitz-io.
    ///
    /// The best peer is the one with the best throughput, even if the comparison
    /// itself is about the wait. If it is about memory, it is the peer that takes
    /// least.
    fn judge(&mut self) {
        let peers = self.peers.iter();
        let Some((name, best)) = peers.min_by(|a, b| a.1.cost().total_cmp(&b.1.cost())) else {
            return;
        };
        let interval = paired_ratio(&best.samples, &self.ours.samples);
        let winner = match interval.verdict() {
            Verdict::Above => OURS,
            Verdict::Below => name,
            Verdict::Tie => TIE,
        };
        self.winner = Some(winner.to_owned());
        self.ratio = Some(median(&best.samples) / median(&self.ours.samples));
        self.ratio_ci95 = Some([interval.low, interval.high]);
        self.best_peer = Some(name.clone());
    }

    /// Returns the best peer's name and figures.
    pub fn best(&self) -> Option<(&str, &Figures)> {
        let name = self.best_peer.as_deref()?;
        Some((name, self.peers.get(name)?))
    }

    /// Returns all contenders' figures, ours first.
    pub fn everybody(&self) -> impl Iterator<Item = (&str, &Figures)> {
        let peers = self.peers.iter().map(|(name, f)| (name.as_str(), f));
        std::iter::once((OURS, &self.ours)).chain(peers)
    }

    /// Returns the figures of one contender, if it took part.
    pub(super) fn figures_of(&self, contender: &str) -> Option<&Figures> {
        let mut all = self.everybody();
        all.find_map(|(name, figures)| (name == contender).then_some(figures))
    }

    /// Returns the title with the number of workers.
    pub(super) fn full_title(&self) -> String {
        match tier(self.tier) {
            Some(tier) => tier.full_title(&self.title, self.threads),
            // The row is from a run of a later version.
            None => self.title.clone(),
        }
    }

    /// Returns our heap bytes per operation and Tokio's, if both have run. Only the tiers of
    /// single operations count; the tiers above have threads and whole programs.
    fn heap_bytes(&self) -> Option<(f64, f64)> {
        let theirs = self.peers.get("tokio").filter(|_| self.tier <= 3)?;
        Some((self.ours.bytes_per_op, theirs.bytes_per_op))
    }
}

impl Figures {
    fn new(samples: &Samples, compares: Compares) -> Figures {
        let times: Vec<f64> = samples.samples.iter().map(Sample::ns_per_op).collect();
        let ops = samples.samples[0].ops;
        let ns_per_op = median(&times);
        let latencies = latencies(&samples.samples);
        let counts_bytes = compares == Compares::BytesPerOp;
        let compared = if let Some(percentile) = compares.percentile() {
            let waits = latencies.as_ref();
            let waits = waits.expect("a scenario decided by waits records them");
            waits.iter().map(percentile).collect()
        } else if counts_bytes {
            let samples = samples.samples.iter();
            samples.map(Sample::kept_bytes_per_op).collect()
        } else {
            times.clone()
        };
        let memory_ops = samples.memory_ops as f64;
        Figures {
            ns_per_op,
            ops_per_sec: 1e9 / ns_per_op,
            median_ns: (ns_per_op * ops as f64).round() as u64,
            min_ns: (min(&times) * ops as f64).round() as u64,
            ops_per_iter: ops,
            bytes_per_op: samples.memory.bytes as f64 / memory_ops,
            allocs_per_op: samples.memory.allocations as f64 / memory_ops,
            verified: true,
            kept_bytes_per_op: counts_bytes.then(|| median(&compared)),
            cpu_ns_per_op: cpu(&samples.samples),
            latency: latencies.map(|waits| Latency {
                max_ns: waits.iter().map(|wait| wait.max_ns).fold(0.0, f64::max),
                ..Latency::median_of(&waits)
            }),
            samples: compared,
        }
    }

    /// Returns the figure that decides a row of this kind, in nanoseconds or bytes.
    pub fn compared(&self, compares: Compares) -> f64 {
        let figure = match compares.percentile() {
            Some(percentile) => self.latency.as_ref().map(percentile),
            None if compares == Compares::BytesPerOp => self.kept_bytes_per_op,
            None => None,
        };
        figure.unwrap_or(self.ns_per_op)
    }

    /// Returns the figure by which the best peer is chosen: the time of an operation or, where
    /// bytes are compared, the bytes that stay allocated for it.
    pub(super) fn cost(&self) -> f64 {
        self.kept_bytes_per_op.unwrap_or(self.ns_per_op)
    }
}

/// Returns the processor time per operation in the median iteration.
fn cpu(samples: &[Sample]) -> Option<f64> {
    let of = |sample: &Sample| Some(sample.cpu?.as_nanos() as f64 / sample.ops as f64);
    let times: Option<Vec<f64>> = samples.iter().map(of).collect();
    times.map(|times| median(&times))
}

/// Returns the percentiles of each iteration, if waits were recorded.
fn latencies(samples: &[Sample]) -> Option<Vec<Latency>> {
    let of = |sample: &Sample| Some(sample.waits.as_ref()?.latency());
    samples.iter().map(of).collect()
}
