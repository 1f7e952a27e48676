//! The table on the terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, CellAlignment, Color, Table, TableComponent};

use super::document::{Document, Figures, Row, TIE};
use super::{figure, range, times};
use crate::scenario::{Compares, OURS, TIERS};

/// How a table is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Colour the winners.
    pub colour: bool,
}

/// How many rows were won, tied and lost, and how many had nobody to meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Rows we won.
    pub won: usize,
    /// Rows nobody won.
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

    /// Such as `12 won, 3 tied, 1 lost`.
    pub fn sentence(&self) -> String {
        let mut text = format!("{} won, {} tied, {} lost", self.won, self.tied, self.lost);
        if self.alone > 0 {
            text.push_str(&format!(", {} without a peer", self.alone));
        }
        text
    }
}

/// The whole report: a table for each tier, the waits, and the score.
pub fn render(document: &Document, style: Style) -> String {
    let mut text = String::new();
    for (tier, title) in (1u8..).zip(TIERS) {
        let rows: Vec<_> = rows_of(document, tier).collect();
        if !rows.is_empty() {
            text.push_str(&format!("Tier {tier}: {title}\n"));
            text.push_str(&format!("{}\n\n", tier_table(&rows, style)));
        }
    }
    if let Some(waits) = wait_table(document, style) {
        text.push_str(&format!("Wait of a single operation, ns\n{waits}\n\n"));
    }
    text.push_str(&summary(document));
    text
}

fn rows_of(document: &Document, tier: u8) -> impl Iterator<Item = (&str, &Row)> {
    let rows = document.benchmarks.iter();
    rows.map(|(id, row)| (id.as_str(), row))
        .filter(move |(_, row)| row.tier == tier)
}

fn tier_table(rows: &[(&str, &Row)], style: Style) -> Table {
    let mut table = empty(style);
    table.set_header(header(
        &[
            "scenario",
            "threads",
            OURS,
            "best peer",
            "ratio",
            "95 %",
            "winner",
        ],
        &[1, 2, 4],
    ));
    for (id, row) in rows {
        let peer = row.best().map_or_else(String::new, |(name, figures)| {
            format!("{} {name}", compared(figures, row.compares))
        });
        table.add_row(vec![
            Cell::new(id),
            right(row.threads.to_string()),
            right(compared(&row.ours, row.compares)),
            Cell::new(peer),
            right(row.ratio.map_or_else(String::new, times)),
            Cell::new(row.ratio_ci95.map_or_else(String::new, range)),
            winner(row, style),
        ]);
    }
    table
}

fn compared(figures: &Figures, compares: Compares) -> String {
    compares.text(figures.compared(compares))
}

fn winner(row: &Row, style: Style) -> Cell {
    let name = row.winner.as_deref().unwrap_or("–");
    let cell = Cell::new(name);
    if !style.colour {
        return cell;
    }
    match name {
        OURS => cell.fg(Color::Green).add_attribute(Attribute::Bold),
        TIE | "–" => cell,
        _ => cell.fg(Color::Red),
    }
}

fn wait_table(document: &Document, style: Style) -> Option<Table> {
    let mut table = empty(style);
    table.set_header(header(
        &["scenario", "who", "ns/op", "p50", "p99", "p99.9", "longest"],
        &[2, 3, 4, 5, 6],
    ));
    let mut any = false;
    for (id, row) in &document.benchmarks {
        let mut label = id.as_str();
        for (name, figures) in row.everybody() {
            let Some(latency) = figures.latency else {
                continue;
            };
            any = true;
            table.add_row(vec![
                Cell::new(std::mem::take(&mut label)),
                Cell::new(name),
                right(figure(figures.ns_per_op)),
                right(figure(latency.p50_ns)),
                right(figure(latency.p99_ns)),
                right(figure(latency.p99_9_ns)),
                right(figure(latency.max_ns)),
            ]);
        }
    }
    any.then_some(table)
}

fn summary(document: &Document) -> String {
    let mut text = format!(
        "{OURS} against the best peer of each row: {}.\n",
        Score::of(document).sentence()
    );
    if let Some(heap) = &document.heap_bytes_per_op {
        text.push_str(&heap.sentence());
        text.push('\n');
    }
    let meta = &document.metadata;
    let machine = &meta.machine;
    let up_to = if document.interrupted { "up to " } else { "" };
    let cores = match machine.cores {
        1 => "1 core".to_owned(),
        n => format!("{n} cores"),
    };
    text.push_str(&format!(
        "{cores} of {}, {} {}; median of {up_to}{} iterations.\n",
        machine.cpu, machine.os, machine.kernel, meta.iterations
    ));
    if meta.iterations < 5 {
        text.push_str("With fewer than 5 iterations the interval is only the range that was seen; do not trust the winners.\n");
    }
    if document.interrupted {
        text.push_str("Interrupted: only what was measured until then is shown.\n");
    }
    text
}

pub(super) fn empty(style: Style) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    for line in [
        TableComponent::HeaderLines,
        TableComponent::MiddleHeaderIntersections,
    ] {
        table.set_style(line, '─');
    }
    if style.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}

/// Header cells; those above numbers stand to the right like the numbers.
pub(super) fn header(names: &[&str], numbers: &[usize]) -> Vec<Cell> {
    let cells = names.iter().enumerate().map(|(i, name)| {
        if numbers.contains(&i) {
            right(*name)
        } else {
            Cell::new(name)
        }
    });
    cells.collect()
}

pub(super) fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::tests::{run, samples};
    use crate::scenario::Scenario;

    fn document() -> Document {
        let scenario = Scenario::new(4, "lock", "Lock", 1000).threads(8);
        run(
            &scenario,
            vec![
                samples(OURS, &[10, 10, 10, 10, 10], Some(700)),
                samples("peer", &[25, 25, 25, 25, 25], Some(900)),
            ],
        )
    }

    #[test]
    fn a_row_shows_both_sides_the_ratio_and_the_winner() {
        let text = render(&document(), Style::default());
        let row = text.lines().find(|line| line.contains("lock")).unwrap();
        for part in ["8", "10.0 ns", "25.0 ns peer", "2.50×", "2.50 – 2.50", OURS] {
            assert!(row.contains(part), "{part} is missing in {row}");
        }
        assert!(text.contains("1 won, 0 tied, 0 lost"));
        assert!(text.contains("longest"), "the waits are missing");
    }

    #[test]
    fn colour_only_where_it_is_wanted() {
        assert!(!render(&document(), Style::default()).contains('\u{1b}'));
        assert!(render(&document(), Style { colour: true }).contains('\u{1b}'));
    }

    #[test]
    fn an_interrupted_run_says_so() {
        let mut document = document();
        document.interrupted = true;
        let text = render(&document, Style::default());
        assert!(text.contains("Interrupted") && text.contains("up to 10"));
    }
}
