//! The output of runs: a JSON document, tables, pages, a comparison, a chart.

pub mod chart;
pub mod compare;
pub mod document;
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

/// Formats a number with the word for what it counts, in the singular or the plural.
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

/// Formats a ratio with two decimal places, and more where two would hide what matters:
/// on which side of 1 the ratio lies, or how far below 0.1.
fn ratio_figure(ratio: f64) -> String {
    match ratio {
        r if r >= 99.95 => separated(r.round() as u64),
        r if r < 0.000_095 => format!("{r:.1e}"),
        r if r < 0.009_5 => format!("{r:.5}"),
        r if r < 0.095 => format!("{r:.3}"),
        r if r != 1.0 && (r - 1.0).abs() < 0.005 => format!("{r:.4}"),
        r => format!("{r:.2}"),
    }
}

/// Breaks the lines of `text` so that none is longer than `width`, if there is one,
/// unless a single word is. The continuation of an indented line is indented further.
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
    let further = if indent > 0 { indent + 2 } else { 0 };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_show_on_which_side_of_one_they_are() {
        assert_eq!(times(1.866), "1.87×");
        assert_eq!(times(1.0), "1.00×");
        assert_eq!(range([0.92, 0.998]), "0.92 – 0.9980");
        assert_eq!(range([0.0012, 1596.0]), "0.00120 – 1,596");
    }
}
