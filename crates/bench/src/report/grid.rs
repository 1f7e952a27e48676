//! Tables that fit their terminal.
//!
//! A table that is too wide loses columns, the most expendable first. Only when all
//! columns that may be left out are gone do cells break.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, TableComponent};

use super::table::Style;

/// One column of a table over rows of type `R`.
pub(super) struct Column<R> {
    pub(super) name: &'static str,
    /// Its cells are aligned to the right, as numbers are.
    pub(super) number: bool,
    /// Columns with a higher number are left out first; those with 0 stay.
    pub(super) expendable: u8,
    pub(super) cell: fn(&R, Style) -> Cell,
}

impl<R> Column<R> {
    /// Creates a column of text that always stays.
    pub(super) fn text(name: &'static str, cell: fn(&R, Style) -> Cell) -> Column<R> {
        Column {
            name,
            number: false,
            expendable: 0,
            cell,
        }
    }

    /// Creates a column of numbers that always stays.
    pub(super) fn number(name: &'static str, cell: fn(&R, Style) -> Cell) -> Column<R> {
        Column {
            number: true,
            ..Column::text(name, cell)
        }
    }

    /// Returns the same column, which may be left out.
    pub(super) fn expendable(self, expendable: u8) -> Column<R> {
        Column { expendable, ..self }
    }
}

/// Lays out `rows` as a table in this style.
pub(super) fn table<R>(rows: &[R], mut columns: Vec<Column<R>>, style: Style) -> Table {
    let Some(width) = style.width else {
        return build(rows, &columns, style);
    };
    let uncoloured = Style {
        colour: false,
        ..style
    };
    while width_of(&build(rows, &columns, uncoloured)) > width {
        let most = columns.iter().enumerate().max_by_key(|(_, c)| c.expendable);
        match most {
            Some((i, column)) if column.expendable > 0 => _ = columns.remove(i),
            _ => {
                let mut table = build(rows, &columns, style);
                table
                    .set_content_arrangement(ContentArrangement::Dynamic)
                    .set_width(u16::try_from(width).unwrap_or(u16::MAX));
                return table;
            }
        }
    }
    build(rows, &columns, style)
}

fn build<R>(rows: &[R], columns: &[Column<R>], style: Style) -> Table {
    let mut table = empty(style);
    table.set_header(
        columns
            .iter()
            .map(|column| aligned(column, Cell::new(column.name))),
    );
    for row in rows {
        let cells = columns
            .iter()
            .map(|column| aligned(column, (column.cell)(row, style)));
        table.add_row(cells.collect::<Vec<_>>());
    }
    table
}

fn aligned<R>(column: &Column<R>, cell: Cell) -> Cell {
    match column.number {
        true => cell.set_alignment(CellAlignment::Right),
        false => cell,
    }
}

fn width_of(table: &Table) -> usize {
    let text = table.to_string();
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
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
