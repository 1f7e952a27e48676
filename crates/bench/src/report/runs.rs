//! Joins several runs into one: the median of each figure.

use indexmap::IndexMap;

use super::document::{Document, Metadata, Row};
use super::heap::HeapBytes;
use super::table::Score;
use crate::latency::Latency;
use crate::scenario::Compares;
use crate::settings::Load;
use crate::stats::{Interval, Verdict, median};

/// Runs of the same scenarios under the same load.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The number of runs.
    pub count: usize,
    /// The metadata of the last run.
    pub metadata: Metadata,
    /// Our heap bytes against Tokio's, which do not differ from run to run.
    pub heap: Option<HeapBytes>,
    /// The rows that all runs have, by id.
    pub rows: IndexMap<String, Joined>,
}

/// One row of several runs.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The scenario's tier.
    pub tier: u8,
    /// The title, with the number of threads.
    pub title: String,
    /// The meaning of the figures.
    pub compares: Compares,
    /// Our figure.
    pub ours: f64,
    /// The best peer, if there is one.
    pub best: Option<Against>,
    /// Tokio, if it takes part.
    pub tokio: Option<Against>,
    /// The waits of all contenders, if they were recorded.
    pub waits: Vec<(String, Latency)>,
}

/// The results of one peer in several runs.
#[derive(Clone, Debug)]
pub struct Against {
    /// The peer.
    pub name: String,
    /// The median of its figures.
    pub figure: f64,
    /// The median of the runs' ratios, its figure divided by ours: above 1, blitz-io wins.
    pub ratio: f64,
    /// The lowest and the highest of these ratios.
    pub range: Interval,
}

/// Why documents cannot be joined into one report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// There is no run.
    #[error("there is no run")]
    None,
    /// A run ended early.
    #[error("the run of {0} was interrupted or failed")]
    Incomplete(String),
    /// Two runs are from different machines.
    #[error("the runs are of two machines, {0} and {1}")]
    Machines(String, String),
    /// Two runs under the same load differ in length.
    #[error("some runs measured {0} iterations of other sizes than others, which measured {1}")]
    Lengths(usize, usize),
}

impl Runs {
    /// Returns one entry for each load, the runs without load first.
    ///
    /// # Errors
    ///
    /// Fails if a run is incomplete, or two cannot be compared.
    pub fn by_load(documents: &[Document]) -> Result<Vec<Runs>, Unfit> {
        let first = documents.first().ok_or(Unfit::None)?;
        let none = Load::NONE;
        let mut groups: Vec<(&Load, Vec<&Document>)> = vec![(&none, Vec::new())];
        for document in documents {
            comparable(first, document)?;
            let load = &document.metadata.load;
            match groups.iter_mut().find(|(known, _)| *known == load) {
                Some((_, group)) => group.push(document),
                None => groups.push((load, vec![document])),
            }
        }
        let groups = groups.into_iter().map(|(_, group)| group);
        groups
            .filter(|group| !group.is_empty())
            .map(Runs::join)
            .collect()
    }

    fn join(documents: Vec<&Document>) -> Result<Runs, Unfit> {
        let last = documents[documents.len() - 1];
        for document in &documents {
            let (one, other) = (&document.metadata, &last.metadata);
            if (one.iterations, one.sync_ops) != (other.iterations, other.sync_ops) {
                return Err(Unfit::Lengths(one.iterations, other.iterations));
            }
        }
        let rows = last.benchmarks.keys().filter_map(|id| {
            let rows: Option<Vec<&Row>> = documents.iter().map(|d| d.benchmarks.get(id)).collect();
            Some((id.clone(), Joined::of(&rows?)))
        });
        Ok(Runs {
            count: documents.len(),
            metadata: last.metadata.clone(),
            heap: last.heap_bytes_per_op,
            rows: rows.collect(),
        })
    }

    /// Counts the rows that were won, tied and lost in all runs.
    pub fn score(&self) -> Score {
        let mut score = Score::default();
        for row in self.rows.values() {
            match row.best.as_ref().map(|best| best.range.verdict()) {
                None => score.alone += 1,
                Some(Verdict::Tie) => score.tied += 1,
                Some(Verdict::Above) => score.won += 1,
                Some(Verdict::Below) => score.lost += 1,
            }
        }
        score
    }
}

fn comparable(first: &Document, document: &Document) -> Result<(), Unfit> {
    if document.interrupted || document.failure.is_some() {
        return Err(Unfit::Incomplete(document.metadata.measured_at.clone()));
    }
    let machine = |document: &Document| {
        let machine = &document.metadata.machine;
        format!("{}, {} {}", machine.cpu, machine.os, machine.kernel)
    };
    let (one, other) = (machine(first), machine(document));
    if one == other {
        Ok(())
    } else {
        Err(Unfit::Machines(one, other))
    }
}

impl Joined {
    /// Joins `rows`, the same row of each run, at least one.
    fn of(rows: &[&Row]) -> Joined {
        let row = rows[rows.len() - 1];
        let compares = row.compares;
        let peers = row.peers.keys().filter_map(|name| Against::of(name, rows));
        let peers: Vec<Against> = peers.collect();
        Joined {
            tier: row.tier,
            title: row.full_title(),
            compares,
            ours: of_runs(rows, |row| Some(row.ours.compared(compares))).unwrap_or(0.0),
            best: best(rows, &peers).cloned(),
            tokio: peers.iter().find(|peer| peer.name == "tokio").cloned(),
            waits: waits(rows),
        }
    }
}

/// Returns the peer with the best figures of the runs. As within one run, throughput
/// decides even if the waits are compared.
fn best<'a>(rows: &[&Row], peers: &'a [Against]) -> Option<&'a Against> {
    let cost = |peer: &Against| {
        of_runs(rows, |row| Some(row.peers.get(&peer.name)?.cost())).unwrap_or(f64::INFINITY)
    };
    peers.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// Returns the median over the runs, if all of them have the figure.
fn of_runs(rows: &[&Row], figure: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
    let figures: Option<Vec<f64>> = rows.iter().map(|row| figure(row)).collect();
    figures.map(|figures| median(&figures))
}

impl Against {
    fn of(name: &str, rows: &[&Row]) -> Option<Against> {
        let ratios = rows.iter().map(|row| {
            let compares = row.compares;
            let theirs = row.peers.get(name)?.compared(compares);
            Some((theirs, theirs / row.ours.compared(compares)))
        });
        let (figures, ratios): (Vec<f64>, Vec<f64>) =
            ratios.collect::<Option<Vec<_>>>()?.into_iter().unzip();
        Some(Against {
            name: name.to_owned(),
            figure: median(&figures),
            ratio: median(&ratios),
            range: Interval {
                low: ratios.iter().copied().fold(f64::INFINITY, f64::min),
                high: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            },
        })
    }
}

/// Returns the medians of the percentiles, and the median of the longest waits, of each contender
/// whose waits all runs have.
fn waits(rows: &[&Row]) -> Vec<(String, Latency)> {
    let names = rows[rows.len() - 1].everybody().map(|(name, _)| name);
    let of_all = |name| -> Option<_> {
        let waits = rows.iter().map(|row| row.figures_of(name)?.latency);
        let waits = waits.collect::<Option<Vec<_>>>()?;
        Some((name.to_owned(), Latency::median_of(&waits)))
    };
    names.filter_map(of_all).collect()
}
