//! The table on the terminal.

use comfy_table::{Attribute, Cell, Color};

use super::document::{BUSY, Document, Figures, Row, TIE};
use super::grid::{self, Column, Style};
use super::{counted, duration, or_empty, range, times, wrapped};
use crate::latency::{Latency, Turns};
use crate::scenario::{Compares, OURS};
use crate::tier::{Tier, numbered};

/// The numbers of rows that were won, tied and lost, and that have no peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Rows we won.
    pub won: usize,
    /// Tied rows.
    pub tied: usize,
    /// Rows a peer won.
    pub lost: usize,
    /// Rows without a peer.
    pub alone: usize,
}

impl Score {
    /// Counts the rows of `document`.
    pub fn of(document: &Document) -> Score {
        let mut score = Score::default();
        for row in document.benchmarks.values() {
            match row.winner.as_deref() {
                None => score.alone += 1,
                Some(TIE) => score.tied += 1,
                Some(OURS) => score.won += 1,
                Some(_) => score.lost += 1,
            }
        }
        score
    }

    /// Returns the score as text, such as `12 won, 3 tied, 1 lost`.
    pub fn sentence(&self) -> String {
        let mut text = format!("{} won, {} tied, {} lost", self.won, self.tied, self.lost);
        if self.alone > 0 {
            text.push_str(&format!(", {} without a peer", self.alone));
        }
        text
    }
}

/// Renders the whole report: a table for each tier, the waits, and the score.
pub fn render(document: &Document, style: Style) -> String {
    let mut text = String::new();
    for (tier, Tier { title, .. }) in numbered() {
        let rows: Vec<_> = rows_of(document, tier).collect();
        if !rows.is_empty() {
            text.push_str(&format!("Tier {tier}: {title}\n"));
            text.push_str(&format!("{}\n\n", tier_table(&rows, style)));
        }
    }
    if let Some(waits) = wait_table(document, style) {
        text.push_str(&format!("Wait of a single operation\n{waits}\n\n"));
    }
    text.push_str(&wrapped(&summary(document), style.width));
    text
}

fn rows_of(document: &Document, tier: u8) -> impl Iterator<Item = (&str, &Row)> {
    let rows = document.benchmarks.iter();
    rows.map(|(id, row)| (id.as_str(), row))
        .filter(move |(_, row)| row.tier == tier)
}

/// A scenario's id and its row.
type Entry<'a> = (&'a str, &'a Row);

fn tier_table(rows: &[Entry<'_>], style: Style) -> String {
    type Of<'a> = Column<Entry<'a>>;
    let columns = vec![
        Of::text("scenario", |(id, _)| (*id).to_owned()),
        Of::number("threads", |(_, row)| row.threads.to_string()).expendable(2),
        Of::number(OURS, |(_, row)| compared(&row.ours, row.compares)),
        Of::text("best peer", |(_, row)| best_peer(row)),
        Of::number("ratio", |(_, row)| or_empty(row.ratio, times)),
        Of::text("95 %", |(_, row)| or_empty(row.ratio_ci95, range)).expendable(3),
        Of::text("winner", |(_, row)| {
            row.winner.clone().unwrap_or_else(|| "–".to_owned())
        })
        .painted(painted_winner)
        .expendable(1),
    ];
    grid::table(rows, columns, style)
}

fn best_peer(row: &Row) -> String {
    row.best().map_or_else(String::new, |(name, figures)| {
        format!("{} {name}", compared(figures, row.compares))
    })
}

fn compared(figures: &Figures, compares: Compares) -> String {
    compares.text(figures.compared(compares))
}

fn painted_winner(cell: Cell, name: &str) -> Cell {
    match name {
        OURS => cell.fg(Color::Green).add_attribute(Attribute::Bold),
        TIE | "–" => cell,
        _ => cell.fg(Color::Red),
    }
}

/// The waits of one contender: the scenario, if it is its first row, the name, and its figures.
type Waits<'a> = (&'a str, &'a str, &'a Figures, Latency);

fn wait_table(document: &Document, style: Style) -> Option<String> {
    let mut rows = Vec::new();
    for (id, row) in &document.benchmarks {
        let mut scenario = id.as_str();
        for (name, figures) in row.everybody() {
            if let Some(latency) = figures.latency {
                rows.push((std::mem::take(&mut scenario), name, figures, latency));
            }
        }
    }
    type Of<'a> = Column<Waits<'a>>;
    let columns = vec![
        Of::text("scenario", |(scenario, ..)| (*scenario).to_owned()),
        Of::text("contender", |(_, name, ..)| (*name).to_owned()),
        Of::number("time/op", |(_, _, figures, _)| duration(figures.ns_per_op)).expendable(3),
        Of::number("p50", |(.., waits)| duration(waits.p50_ns)).expendable(2),
        Of::number("p90", |(.., waits)| duration(waits.p90_ns)).expendable(2),
        Of::number("p99", |(.., waits)| duration(waits.p99_ns)),
        Of::number("p99.9", |(.., waits)| duration(waits.p99_9_ns)).expendable(1),
        Of::number("longest", |(.., waits)| duration(waits.max_ns)),
        Of::number("turns", |(.., waits)| or_empty(waits.turns, Turns::text)).expendable(2),
    ];
    (!rows.is_empty()).then(|| grid::table(&rows, columns, style))
}

fn summary(document: &Document) -> String {
    let meta = &document.metadata;
    let machine = &meta.machine;
    let score = Score::of(document).sentence();
    let mut lines = vec![format!(
        "{OURS} against the best peer of each row: {score}."
    )];
    lines.extend(document.heap_bytes_per_op.map(|heap| heap.sentence()));
    let cores = counted(machine.cores, ["core", "cores"]);
    let up_to = if document.interrupted { "up to " } else { "" };
    lines.push(format!(
        "{cores} of {}, {} {}; median of {up_to}{} iterations.",
        machine.cpu, machine.os, machine.kernel, meta.iterations
    ));
    lines.extend(meta.load.words().map(|load| format!("Measured {load}.")));
    if let Some(busy) = meta.busy_at_start.filter(|&busy| busy >= BUSY) {
        lines.push(format!(
            "Careful: other processes kept {busy:.1} processors busy when the run began, so the figures and the winners may be wrong."
        ));
    }
    if meta.iterations < 5 {
        lines.push("With fewer than 5 iterations the interval is only the range that was seen; do not trust the winners.".to_owned());
    }
    if document.interrupted {
        lines.push("Interrupted: only what was measured until then is shown.".to_owned());
    }
    lines.join("\n") + "\n"
}
