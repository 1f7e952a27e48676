//! Tables that fit their terminal.
//!
//! A table that is too wide loses columns, the most expendable first. Without optional columns
//! left, the first column gets a line of its own above the rest of its row. Cells break only if
//! the rest is still too wide.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, TableComponent};

/// The style of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The winners are coloured.
    pub colour: bool,
    /// The longest line, where that is possible.
    pub width: Option<usize>,
}

/// One column of a table over rows of type `R`.
pub(super) struct Column<R> {
    name: &'static str,
    /// Its cells are aligned to the right, as numbers are.
    number: bool,
    /// Columns with a higher number are left out first; those with 0 stay.
    expendable: u8,
    text: fn(&R) -> String,
    /// Colours a cell with this text.
    paint: fn(Cell, &str) -> Cell,
}

impl<R> Column<R> {
    /// Creates a column of text that always stays.
    pub(super) fn text(name: &'static str, text: fn(&R) -> String) -> Column<R> {
        Column {
            name,
            number: false,
            expendable: 0,
            text,
            paint: |cell, _| cell,
        }
    }

    /// Creates a column of numbers that always stays.
    pub(super) fn number(name: &'static str, text: fn(&R) -> String) -> Column<R> {
        Column {
            number: true,
            ..Column::text(name, text)
        }
    }

    /// Returns the same column, whose cells are coloured where the style has colours.
    pub(super) fn painted(self, paint: fn(Cell, &str) -> Cell) -> Column<R> {
        Column { paint, ..self }
    }

    /// Returns the same column, which may be left out.
    pub(super) fn expendable(self, expendable: u8) -> Column<R> {
        Column { expendable, ..self }
    }
}

/// The indentation of the rest of a row below its first cell.
const INDENT: usize = 2;
/// The lines above the first row: the names of the columns, and a rule.
const HEADER: usize = 2;

/// Lays out `rows` as a table in this style.
pub(super) fn table<R>(rows: &[R], mut columns: Vec<Column<R>>, style: Style) -> String {
    let Some(width) = style.width else {
        return build(rows, &columns, style).to_string();
    };
    while width_of(rows, &columns) > width {
        let most = columns.iter().enumerate().max_by_key(|(_, c)| c.expendable);
        match most {
            Some((i, column)) if column.expendable > 0 => _ = columns.remove(i),
            _ => {
                return stacked(rows, &columns, style, width)
                    .unwrap_or_else(|| broken(rows, &columns, style, width));
            }
        }
    }
    build(rows, &columns, style).to_string()
}

/// Lays out `rows` with the first column on lines of its own, if that makes them fit.
fn stacked<R>(rows: &[R], columns: &[Column<R>], style: Style, width: usize) -> Option<String> {
    let (first, rest) = columns.split_first()?;
    if rest.is_empty() || width_of(rows, rest) + INDENT > width {
        return None;
    }
    let table = build(rows, rest, style).to_string();
    let indent = " ".repeat(INDENT);
    // No cell is broken: below the names and their rule, each row has one line.
    let mut lines = table.lines();
    let mut text: Vec<String> = lines
        .by_ref()
        .take(HEADER)
        .map(|line| format!("{indent}{line}"))
        .collect();
    for (row, line) in rows.iter().zip(lines) {
        let name = (first.text)(row);
        if !name.is_empty() {
            text.push(format!(" {name}"));
        }
        text.push(format!("{indent}{line}"));
    }
    Some(text.join("\n"))
}

/// Lays out `rows` with cells broken so that the table fits.
fn broken<R>(rows: &[R], columns: &[Column<R>], style: Style, width: usize) -> String {
    let mut table = build(rows, columns, style);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.to_string()
}

fn build<R>(rows: &[R], columns: &[Column<R>], style: Style) -> Table {
    let mut table = empty(style);
    let names = columns.iter();
    table.set_header(names.map(|column| aligned(column, Cell::new(column.name))));
    for row in rows {
        let cells = columns.iter().map(|column| {
            let text = (column.text)(row);
            let cell = aligned(column, Cell::new(&text));
            if style.colour {
                (column.paint)(cell, &text)
            } else {
                cell
            }
        });
        table.add_row(cells.collect::<Vec<_>>());
    }
    table
}

fn aligned<R>(column: &Column<R>, cell: Cell) -> Cell {
    if column.number {
        cell.set_alignment(CellAlignment::Right)
    } else {
        cell
    }
}

fn width_of<R>(rows: &[R], columns: &[Column<R>]) -> usize {
    let text = build(rows, columns, Style::default()).to_string();
    let widths = text.lines().map(|line| line.chars().count());
    widths.max().unwrap_or(0)
}

fn empty(style: Style) -> Table {
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
