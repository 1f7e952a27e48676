//! What is made of a run: a JSON document, a table, a page, a comparison.

pub mod compare;
pub mod document;
pub mod html;
pub mod table;

/// A figure with about three significant digits and thousands separators.
///
/// ```
/// use blitz_bench::report::figure;
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

/// A ratio, such as `1.87×`.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 99.5 {
        format!("{ratio:.2}×")
    } else {
        format!("{}×", separated(ratio.round() as u64))
    }
}

/// An interval, such as `1.71 – 2.02`.
pub(crate) fn range([low, high]: [f64; 2]) -> String {
    let end = |value: f64| {
        let text = times(value);
        text.trim_end_matches('×').to_owned()
    };
    format!("{} – {}", end(low), end(high))
}
