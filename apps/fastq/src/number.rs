//! Numbers of the reports, which look like those of fastp.

/// Formats a number like C's `%g`.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        // JSON has neither infinity nor NaN; there is nothing to report then.
        return "0".to_owned();
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("it has an exponent");
    let exponent: i32 = exponent.parse().expect("it is a number");
    // All texts have a point.
    let strip = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", strip(digits), exponent.abs());
    }
    // The digits are the right ones; only the point moves.
    let (sign, digits) = digits.split_at(digits.starts_with('-') as usize);
    let digits = digits.replace('.', "");
    if exponent < 0 {
        let zeros = "0".repeat(-exponent as usize - 1);
        strip(&format!("{sign}0.{zeros}{digits}"))
    } else {
        let (whole, rest) = digits.split_at(exponent as usize + 1);
        strip(&format!("{sign}{whole}.{rest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_like_those_of_c() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.5, "0.5"),
            (1.0 / 3.0, "0.333333"),
            (35.123_456_7, "35.1235"),
            (123_456.7, "123457"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_012_345_67, "1.23457e-05"),
            (0.000_123_456_7, "0.000123457"),
            (0.999_999_9, "1"),
            (-2.5, "-2.5"),
            (-0.025, "-0.025"),
            (100.0, "100"),
            (999_999.4, "999999"),
            (999_999.6, "1e+06"),
            (0.0001, "0.0001"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
