//! What if: the latencies of the same requests if something were faster, or there were more of it.
//!
//! Coz (Curtsinger and Berger, 2015) slows everything else down in a running program to answer this. Here the recording
//! says who waited for whom, so the answer is a replay.
//!
//! 1. `program.rs` makes a program of what each thread and task did.
//! 2. `replay.rs` runs all programs twice: as they were, and with the change.
//! 3. The recorded figures are multiplied by the ratio of the two replays, so that an error that both have goes away.
//! 4. `bootstrap.rs` gives the intervals.
//! 5. `arrivals.rs` counts the requests whose arrival the replay cannot change.

mod arrivals;
mod bootstrap;
mod change;
mod level;
mod misfit;
mod program;
mod ready_after;
mod replay;
mod steps;
mod text;

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

pub use change::{Scenario, ScenarioError};
pub use misfit::{Misfit, misfit};
pub use ready_after::ReadyAfter;
pub use text::predictions;

use super::cause::{Category, Cause};
use super::contended::quantile;
use super::lives::Lives;
use super::recording::Recording;
use super::recording::sum;
use super::report::judge;
use change::{Change, Words};
use replay::{Outcome, Setting, replay};
use steps::{ALONE, Object, Programs};

/// A prediction of the latencies of requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The assumed changes, as the user has written them.
    pub what_if: String,
    /// Number of requests.
    pub requests: usize,
    /// The figures of the recording.
    pub recorded: Figures,
    /// The figures of a replay without a change. If they differ from the recorded ones, so may the prediction: see [`misfit`].
    pub replayed: Figures,
    /// Half of the requests take no longer, in nanoseconds.
    pub p50: Estimate,
    /// 99 % of them take no longer, in nanoseconds.
    pub p99: Estimate,
    /// Number of requests in a second.
    pub per_second: Estimate,
    /// Number of waits that the replay had to end because no step of it did.
    pub forced: u64,
    /// Number of requests that arrive when they did in the recording, though their clients may have waited for an answer
    /// before. Each has a task of its own that began when a socket became ready: a connection, or a stream of HTTP/2.
    pub arrivals: usize,
    /// The tasks were ready for longer after the waits that the change makes shorter than these lasted. `None` if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_after: Option<ReadyAfter>,
    /// The requests of each name, those with the most requests first.
    pub by_name: Vec<NamedPrediction>,
}

/// A prediction of the latencies of the requests with one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedPrediction {
    /// The name.
    pub name: String,
    /// Number of requests.
    pub requests: usize,
    /// The figures of the recording.
    pub recorded: Figures,
    /// The figures of a replay without a change.
    pub replayed: Figures,
    /// Half of the requests take no longer, in nanoseconds.
    pub p50: Estimate,
    /// 99 % of them take no longer, in nanoseconds.
    pub p99: Estimate,
    /// Number of requests in a second.
    pub per_second: Estimate,
}

/// The figures of all requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Half of the requests took no longer, in nanoseconds.
    pub p50: u64,
    /// 99 % of them took no longer, in nanoseconds.
    pub p99: u64,
    /// Number of requests in a second.
    pub per_second: f64,
}

/// A value with its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Predicts the latencies of the requests of a recording, if the program were changed.
///
/// # Errors
///
/// Fails if the recording has no request that has ended, or nothing that a scenario names.
///
/// # Examples
///
/// ```
/// use blitz_io_inspect::trace::{Recording, predict};
///
/// // A request of task 1 that runs for one millisecond, and then sleeps for three.
/// let text = r#"{"format":1,"kinds":["Sleep"],"names":["GET /x"],"locations":["src/main.rs:7"],"events":[
///     [1,0,0,0,3,2,0], [13,0,0,1,3,1,0],
///     [4,1000000,0,0,3,0,1], [2,1000000,0,0,3,2,0], [9,4000000,1,0,3,2,0],
///     [1,4000000,0,0,3,2,0], [8,4000000,0,0,3,0,1], [14,4000000,0,0,3,1,0]]}"#;
/// let recording = Recording::parse(text.as_bytes())?;
/// let predictions = predict(&recording, &["timer main.rs:7 / 3".parse()?])?;
/// assert_eq!(predictions[0].p50.value, 2e6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn predict(
    recording: &Recording,
    scenarios: &[Scenario],
) -> Result<Vec<Prediction>, ScenarioError> {
    let lives = Lives::new(recording);
    let programs = program::programs(recording, &lives);
    let all = All {
        recording,
        lives: &lives,
        programs: &programs,
    };
    let base = all.replay(&all.setting(None)?);
    // Of several, the user has to know which one.
    let of = |scenario: &Scenario, error: ScenarioError| match scenarios {
        [_] => error,
        _ => ScenarioError(format!("\"{scenario}\": {error}")),
    };
    let mut predictions = vec![];
    for scenario in scenarios {
        let changed = all.replay(
            &all.setting(Some(scenario))
                .map_err(|error| of(scenario, error))?,
        );
        let prediction = all.compare(scenario, &base, &changed);
        predictions.push(prediction.ok_or_else(|| {
            ScenarioError("the recording has no request that has ended".to_owned())
        })?);
    }
    Ok(predictions)
}

/// The settings of a replay, as [`Setting`] borrows them.
struct Owned {
    threads: [u64; 2],
    capacities: HashMap<usize, u64>,
    factors: Vec<f64>,
}

struct All<'a> {
    recording: &'a Recording,
    lives: &'a Lives,
    programs: &'a Programs,
}

impl All<'_> {
    fn replay(&self, setting: &Owned) -> Outcome {
        let requests = self.lives.requests.len();
        let setting = Setting {
            threads: setting.threads,
            capacities: &setting.capacities,
            factors: &setting.factors,
        };
        replay(self.programs, requests, &setting)
    }

    /// Returns the setting as it was, or with the changes of a scenario.
    fn setting(&self, scenario: Option<&Scenario>) -> Result<Owned, ScenarioError> {
        let programs = self.programs;
        let capacity = |object: &Object| {
            if object.is_semaphore {
                object.level.most()
            } else {
                ALONE
            }
        };
        let objects = programs.objects.iter();
        let mut setting = Owned {
            threads: [programs.workers, programs.blocking],
            capacities: objects.map(|(&id, of)| (id, capacity(of))).collect(),
            factors: vec![1.0; programs.contexts.len()],
        };
        for change in scenario.iter().flat_map(|scenario| &scenario.changes) {
            match change {
                Change::Workers(count) => setting.threads[0] = *count,
                Change::BlockingThreads(count) => setting.threads[1] = *count,
                Change::Permits(words, count) => {
                    let objects = self.objects(words, Category::Permit);
                    if objects.is_empty() {
                        return Err(self.nothing());
                    }
                    setting
                        .capacities
                        .extend(objects.into_iter().map(|object| (object, *count)));
                }
                Change::Scale(words, factor) => self.scale(words, *factor, &mut setting.factors)?,
            }
        }
        Ok(setting)
    }

    /// Returns the locks or semaphores that the words describe.
    fn objects(&self, words: &Words, category: Category) -> BTreeSet<usize> {
        let is_it =
            |cause: &Cause| cause.category == category && words.describe(self.recording, cause);
        let objects = self.programs.objects.iter();
        objects
            .filter(|(_, object)| object.causes.iter().any(is_it))
            .map(|(&id, _)| id)
            .collect()
    }

    /// Changes the factors of the times that the words describe: those in which a lock or permit is held, and waits.
    fn scale(&self, words: &Words, factor: f64, factors: &mut [f64]) -> Result<(), ScenarioError> {
        let mut objects = self.objects(words, Category::Lock);
        objects.extend(self.objects(words, Category::Permit));
        let mut is_any = false;
        for (context, of) in self.programs.contexts.iter().zip(factors) {
            let is_step = !matches!(context.cause.category, Category::Other | Category::Runnable);
            let is_it = is_step && words.describe(self.recording, &context.cause);
            if is_it || context.held.iter().any(|object| objects.contains(object)) {
                *of *= factor;
                is_any = true;
            }
        }
        if is_any { Ok(()) } else { Err(self.nothing()) }
    }

    /// Returns the error of words that describe nothing: it names the causes of the recording.
    fn nothing(&self) -> ScenarioError {
        let report = judge(self.recording, 0);
        let mut text =
            "nothing in the recording is called so; the words are those of such lines:".to_owned();
        for share in report.all.causes.iter().take(8) {
            let (category, what, at) = (share.category.name(), &share.what, &share.at);
            text += &format!("\n  {category} {what} {at}");
        }
        ScenarioError(text)
    }

    fn compare(
        &self,
        scenario: &Scenario,
        base: &Outcome,
        changed: &Outcome,
    ) -> Option<Prediction> {
        let requests = self.lives.requests.iter().enumerate();
        let latency = |outcome: &Outcome, place: usize| {
            let (begin, end) = (outcome.begins[place]?, outcome.ends[place]?);
            Some((end.saturating_sub(begin), end))
        };
        let mut rows: Vec<Row> = requests
            .filter_map(|(place, request)| {
                let (base, base_end) = latency(base, place)?;
                let (new, new_end) = latency(changed, place)?;
                Some(Row {
                    from: request.from,
                    latencies: [request.to - request.from, base, new],
                    ends: [request.to, base_end, new_end],
                    name: request.name,
                })
            })
            .collect();
        // Blocks of the bootstrap are requests that follow each other.
        rows.sort_unstable();
        let first = |outcome: &Outcome| outcome.begins.iter().flatten().min().copied().unwrap_or(0);
        let begins = [rows.first()?.from, first(base), first(changed)];
        let mut names: HashMap<usize, Vec<Row>> = HashMap::new();
        for row in &rows {
            names.entry(row.name).or_default().push(row.clone());
        }
        let all = predict_rows(String::new(), &rows, begins, 1);
        let shares = names.len();
        let named = names.into_iter().map(|(name, rows)| {
            let name = self.recording.name(name).to_owned();
            match shares {
                1 => NamedPrediction {
                    name,
                    ..all.clone()
                },
                _ => predict_rows(name, &rows, begins, shares),
            }
        });
        let mut by_name: Vec<NamedPrediction> = named.collect();
        by_name.sort_by(|a, b| (b.requests, &a.name).cmp(&(a.requests, &b.name)));
        Some(Prediction {
            what_if: scenario.to_string(),
            requests: all.requests,
            recorded: all.recorded,
            replayed: all.replayed,
            p50: all.p50,
            p99: all.p99,
            per_second: all.per_second,
            forced: changed.forced,
            arrivals: arrivals::count(self.recording, self.lives),
            ready_after: ready_after::ready_after(self.recording, self.lives, scenario),
            by_name,
        })
    }
}

/// A request: its figures in the recording, in the replay as it was, and in that with the change.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    from: u64,
    latencies: [u64; 3],
    ends: [u64; 3],
    name: usize,
}

/// Returns the prediction for these requests, which are in the order of their beginnings. `begins`: the moments at which
/// the first of all requests began. `shares`: the number of predictions that share the time for the bootstrap.
fn predict_rows(name: String, rows: &[Row], begins: [u64; 3], shares: usize) -> NamedPrediction {
    let latencies: Vec<[u64; 3]> = rows.iter().map(|row| row.latencies).collect();
    let gaps = gaps(&rows.iter().map(|row| row.ends).collect::<Vec<_>>(), begins);
    let all: Vec<usize> = (0..rows.len()).collect();
    let figures = |of: usize| Figures {
        p50: percentile(&latencies, &all, of, 50),
        p99: percentile(&latencies, &all, of, 99),
        per_second: rate(&gaps, &all, of),
    };
    let predicted = |places: &[usize], percent| predicted(&latencies, places, percent);
    NamedPrediction {
        name,
        requests: rows.len(),
        recorded: figures(0),
        replayed: figures(1),
        p50: estimate(rows.len(), shares, |places| predicted(places, 50)),
        p99: estimate(rows.len(), shares, |places| predicted(places, 99)),
        per_second: estimate(rows.len(), shares, |places| {
            let of = |of: usize| rate(&gaps, places, of);
            of(0) * ratio(of(2), of(1))
        }),
    }
}

fn ratio(new: f64, base: f64) -> f64 {
    if base > 0.0 { new / base } else { 1.0 }
}

fn estimate(count: usize, shares: usize, mut figure: impl FnMut(&[usize]) -> f64) -> Estimate {
    let all: Vec<usize> = (0..count).collect();
    let value = figure(&all);
    let (low, high) = bootstrap::interval(count, shares, figure);
    // The limits are those of samples, and the value is that of all.
    Estimate {
        value,
        low: low.min(value),
        high: high.max(value),
    }
}

/// Returns a percentile of the recorded, the replayed or the predicted latencies at these places.
fn percentile(latencies: &[[u64; 3]], places: &[usize], of: usize, percent: usize) -> u64 {
    let mut values: Vec<u64> = places.iter().map(|&place| latencies[place][of]).collect();
    values.sort_unstable();
    quantile(&values, percent)
}

/// Returns the recorded percentile, times the ratio of the two replays.
fn predicted(latencies: &[[u64; 3]], places: &[usize], percent: usize) -> f64 {
    let [recorded, base, new] =
        [0, 1, 2].map(|of| percentile(latencies, places, of, percent) as f64);
    if base > 0.0 {
        recorded * new / base
    } else {
        new
    }
}

/// Returns the times between the ends of requests, in the order of the ends.
fn gaps(ends: &[[u64; 3]], begins: [u64; 3]) -> Vec<[u64; 3]> {
    let mut all = vec![[0; 3]; ends.len()];
    for (of, begin) in begins.into_iter().enumerate() {
        let mut sorted: Vec<u64> = ends.iter().map(|ends| ends[of]).collect();
        sorted.sort_unstable();
        let mut before = begin;
        for (gaps, end) in all.iter_mut().zip(sorted) {
            gaps[of] = end.saturating_sub(before);
            before = end.max(before);
        }
    }
    all
}

/// Returns the number of requests in a second.
fn rate(gaps: &[[u64; 3]], places: &[usize], of: usize) -> f64 {
    let nanos = sum(places.iter().map(|&place| gaps[place][of]));
    places.len() as f64 * 1e9 / nanos.max(1) as f64
}
