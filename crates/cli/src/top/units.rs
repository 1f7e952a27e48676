//! Times, counts and small histograms as text.

/// Formats nanoseconds in at most seven columns.
pub fn time(nanos: u64) -> String {
    let value = nanos as f64;
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => with_unit(value / 1e3, "µs"),
        1_000_000..1_000_000_000 => with_unit(value / 1e6, "ms"),
        1_000_000_000..120_000_000_000 => with_unit(value / 1e9, "s"),
        120_000_000_000..7_200_000_000_000 => with_unit(value / 60e9, "min"),
        _ => with_unit(value / 3_600e9, "h"),
    }
}

/// Formats milliseconds in the same way.
pub fn millis(millis: u64) -> String {
    match millis {
        0 => "< 1 ms".into(),
        _ => time(millis.saturating_mul(1_000_000)),
    }
}

/// One digit after the point below ten.
fn with_unit(value: f64, unit: &str) -> String {
    if value < 9.95 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// Formats a number in at most six columns.
pub fn count(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{} k", number / 1_000),
        10_000_000..10_000_000_000 => format!("{} M", number / 1_000_000),
        _ => format!("{} G", number / 1_000_000_000),
    }
}

/// Shortens a text to some columns.
pub fn fit(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(columns.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Does the same as [`fit`], but keeps the end of the text: that of a path tells more than its beginning.
pub fn fit_end(text: &str, columns: usize) -> String {
    let length = text.chars().count();
    if length <= columns {
        return text.to_owned();
    }
    let skipped = length - columns.saturating_sub(1);
    format!("…{}", text.chars().skip(skipped).collect::<String>())
}

/// Draws a histogram in some columns, each for the same number of ranges. A range that is not empty is
/// never drawn as an empty one.
pub fn histogram(counts: &[u64], columns: usize) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if counts.is_empty() || columns == 0 {
        return String::new();
    }
    let sums: Vec<u64> = counts
        .chunks(counts.len().div_ceil(columns))
        .map(|counts| counts.iter().sum())
        .collect();
    let most = sums.iter().copied().max().unwrap_or(0);
    let step = |sum: u64| match sum {
        0 => ' ',
        _ => STEPS[(sum as f64 / most as f64 * 7.0).round() as usize],
    };
    sums.into_iter().map(step).collect()
}
