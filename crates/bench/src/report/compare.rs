//! Compares this run with an older one.
//!
//! The two were not measured together, so their samples are drawn separately,
//! and the machine may have been in another state. The peers show this: their code
//! did not change between the runs, so a row in which they moved as much as blitz-io
//! says more about the machine than about blitz-io.

use super::document::{Document, Figures, Row};
use super::grid::{self, Column, Style};
use super::{or_empty, range, times, wrapped};
use crate::scenario::Compares;
use crate::settings::Load;
use crate::stats::{Verdict, unpaired_ratio};

/// One row of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The scenario.
    pub id: String,
    /// The meaning of the figures.
    pub compares: Compares,
    /// Our figure in the older run.
    pub then: f64,
    /// Our figure in this run.
    pub now: f64,
    /// `now / then`: below 1, blitz-io became faster.
    pub change: f64,
    /// The 95 % interval of `change`, where the older run kept its samples.
    pub interval: Option<[f64; 2]>,
    /// The geometric mean of this ratio over the peers that are in both runs.
    pub peers: Option<f64>,
}

/// The change of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The interval is below 1.
    Faster,
    /// The interval is above 1.
    Slower,
    /// The interval contains 1.
    Same,
    /// There is no interval.
    Unknown,
}

impl Judgement {
    fn word(self) -> &'static str {
        match self {
            Judgement::Faster => "faster",
            Judgement::Slower => "slower",
            Judgement::Same => "no difference",
            Judgement::Unknown => "no samples to judge by",
        }
    }
}

impl Change {
    fn new(id: &str, then: &Row, now: &Row) -> Change {
        let compares = now.compares;
        let ratio = |a: &Figures, b: &Figures| a.compared(compares) / b.compared(compares);
        let peers = now.peers.iter();
        let peers: Vec<f64> = peers
            .filter_map(|(name, figures)| Some(ratio(figures, then.peers.get(name)?).ln()))
            .collect();
        let mean = peers.iter().sum::<f64>() / peers.len() as f64;
        Change {
            id: id.to_owned(),
            compares,
            then: then.ours.compared(compares),
            now: now.ours.compared(compares),
            change: ratio(&now.ours, &then.ours),
            interval: interval(then, now),
            peers: (!peers.is_empty()).then(|| mean.exp()),
        }
    }

    /// Judges the change by its interval.
    pub fn judgement(&self) -> Judgement {
        let Some([low, high]) = self.interval else {
            return Judgement::Unknown;
        };
        match (crate::stats::Interval { low, high }).verdict() {
            Verdict::Below => Judgement::Faster,
            Verdict::Above => Judgement::Slower,
            Verdict::Tie => Judgement::Same,
        }
    }
}

fn interval(then: &Row, now: &Row) -> Option<[f64; 2]> {
    let (then_samples, now_samples) = (&then.ours.samples, &now.ours.samples);
    if then_samples.is_empty() || now_samples.is_empty() || then.compares != now.compares {
        return None;
    }
    let interval = unpaired_ratio(now_samples, then_samples);
    Some([interval.low, interval.high])
}

/// Two runs, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Rows in both runs.
    pub changes: Vec<Change>,
    /// Rows only in this run.
    pub only_now: Vec<String>,
    /// Rows only in the older run.
    pub only_then: Vec<String>,
    /// Reasons why the two can hardly be compared.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// Compares `now` with `then`.
    pub fn new(then: &Document, now: &Document) -> Comparison {
        let (old, new) = (&then.benchmarks, &now.benchmarks);
        let changed = |(id, row): (&String, _)| Some(Change::new(id, old.get(id)?, row));
        let only_now = new.keys().filter(|id| !old.contains_key(*id));
        let only_then = old.keys().filter(|id| !new.contains_key(*id));
        Comparison {
            changes: new.iter().filter_map(changed).collect(),
            only_now: only_now.cloned().collect(),
            only_then: only_then.cloned().collect(),
            warnings: warnings(then, now),
        }
    }

    /// Renders the comparison as a table with notes below it.
    pub fn render(&self, style: Style) -> String {
        type Of = Column<Change>;
        let columns = vec![
            Of::text("scenario", |change| change.id.clone()),
            Of::number("then", |change| change.compares.text(change.then)).expendable(2),
            Of::number("now", |change| change.compares.text(change.now)),
            Of::number("change", |change| times(change.change)),
            Of::text("95 %", |change| or_empty(change.interval, range)).expendable(3),
            Of::text("judgement", |change| change.judgement().word().to_owned()),
            Of::number("peers", |change| or_empty(change.peers, times)).expendable(1),
        ];
        let table = grid::table(&self.changes, columns, style);
        let mut text = String::from("Now against then (below 1: we got faster)\n");
        if !self.changes.is_empty() {
            text.push_str(&format!("{table}\n"));
        }
        for (what, ids) in [
            ("Only in this run", &self.only_now),
            ("Only in the older run", &self.only_then),
        ] {
            if !ids.is_empty() {
                let line = format!("{what}: {}.\n", ids.join(", "));
                text.push_str(&wrapped(&line, style.width));
            }
        }
        for warning in &self.warnings {
            text.push_str(&wrapped(&format!("Careful: {warning}.\n"), style.width));
        }
        text
    }
}

fn warnings(then: &Document, now: &Document) -> Vec<String> {
    let (old, new) = (&then.metadata, &now.metadata);
    let mut warnings = Vec::new();
    if old.machine.cpu != new.machine.cpu || old.machine.cores != new.machine.cores {
        warnings.push(format!(
            "the older run was made on another machine ({} cores of {})",
            old.machine.cores, old.machine.cpu
        ));
    }
    if old.sync_ops != new.sync_ops {
        warnings.push(format!(
            "the older run's iterations had other sizes ({} operations where this has {})",
            old.sync_ops, new.sync_ops
        ));
    }
    if old.load != new.load {
        let words = |load: &Load| load.words().unwrap_or_else(|| "without a load".to_owned());
        warnings.push(format!(
            "the older run was made {}, this one {}",
            words(&old.load),
            words(&new.load)
        ));
    }
    if then.interrupted {
        warnings.push("the older run was interrupted".to_owned());
    }
    warnings
}
