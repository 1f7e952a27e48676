//! The output of runs: a JSON document, tables, pages, a comparison, a chart.

pub mod chart;
pub mod compare;
pub mod document;
pub mod flat;
mod grid;
pub mod heap;
pub mod html;
pub mod markdown;
pub mod runs;
mod scale;
pub mod table;
mod template;

pub use grid::Style;

/// Formats a figure with about three significant digits and thousands separators.
///
/// ```
/// use blitz_io_bench::report::figure;
/// assert_eq!(figure(2.604), "2.60");
/// assert_eq!(figure(84.61), "84.6");
/// assert_eq!(figure(1_336_700.0), "1,336,700");
/// ```
pub fn figure(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => separated(v.round() as u64),
    }
}

fn separated(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with the noun that it counts, in the singular or the plural.
pub(crate) fn counted(count: usize, [one, several]: [&str; 2]) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// Formats a time with a suitable unit.
pub(crate) fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", figure(value))
}

/// Formats a ratio, such as `1.87×`.
pub(crate) fn times(ratio: f64) -> String {
    format!("{}×", ratio_figure(ratio))
}

/// Formats a figure that may be missing.
pub(crate) fn or_empty<T>(figure: Option<T>, format: fn(T) -> String) -> String {
    figure.map_or_else(String::new, format)
}

/// Formats an interval, such as `1.71 – 2.02`.
pub(crate) fn range([low, high]: [f64; 2]) -> String {
    format!("{} – {}", ratio_figure(low), ratio_figure(high))
}

/// Formats a ratio as [`figure`] does. One that would be zero is less than the least figure.
fn ratio_figure(ratio: f64) -> String {
    if ratio < 0.005 {
        "<0.01".to_owned()
    } else {
        figure(ratio)
    }
}

/// Breaks the lines of `text` so that none is longer than `width`, if there is one,
/// unless a single word is. The continuation of an indented line is indented further: to the
/// second column, if the line has one in its first half.
///
/// ```
/// use blitz_io_bench::report::wrapped;
/// assert_eq!(wrapped("one two three", Some(8)), "one two\nthree");
/// assert_eq!(wrapped("one two three", None), "one two three");
/// ```
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        wrap_line(line, width, &mut out);
    }
    out
}

fn wrap_line(line: &str, width: usize, out: &mut String) {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let further = match second_column(line, indent) {
        Some(column) if column <= width / 2 => column,
        _ if indent > 0 => indent + 2,
        _ => 0,
    };
    let (mut start, mut column) = (indent, 0);
    for piece in line.split_inclusive(' ') {
        let word = piece.trim_end().chars().count();
        if word > 0 && column > start && column + word > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', further));
            (start, column) = (further, further);
        }
        out.push_str(piece);
        column += piece.chars().count();
    }
}

/// Returns where the text after the first gap of several spaces starts, in characters.
fn second_column(line: &str, indent: usize) -> Option<usize> {
    let gap = indent + line[indent..].find("  ")?;
    let rest = line[gap..].trim_start_matches(' ');
    (!rest.trim_end().is_empty()).then(|| line[..line.len() - rest.len()].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_the_places_of_other_figures() {
        assert_eq!(times(1.866), "1.87×");
        assert_eq!(times(0.9979), "1.00×");
        assert_eq!(times(1.2e-5), "<0.01×");
        assert_eq!(range([0.92, 12.34]), "0.92 – 12.3");
        assert_eq!(range([0.005, 1596.0]), "0.01 – 1,596");
    }

    #[test]
    fn a_line_of_two_columns_goes_on_in_the_second() {
        let line = "  membarrier       yes: it registers and runs\n";
        let expected = "  membarrier       yes: it registers\n                   and runs\n";
        assert_eq!(wrapped(line, Some(38)), expected);
        // A gap further right in a narrow line is no column.
        assert_eq!(
            wrapped("  membarrier       yes: it", Some(22)),
            "  membarrier\n    yes: it"
        );
    }
}
