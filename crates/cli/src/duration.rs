//! Times of the command line, such as `10s`: one form for all commands.

use std::time::Duration;

const FORM: &str =
    "a time is a number of seconds, or a number with ms, s, m or h, such as 500ms, 60s or 10m";
/// The longest time: no clock overflows with it.
const MOST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Reads a time that is not zero.
pub fn parse(text: &str) -> Result<Duration, String> {
    match parse_or_zero(text)? {
        Duration::ZERO => Err("it must be more than nothing".into()),
        time => Ok(time),
    }
}

/// Reads a time.
pub fn parse_or_zero(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(FORM.into()),
    };
    let number: f64 = digits.parse().map_err(|_| FORM)?;
    if number < 0.0 {
        return Err("it is negative".into());
    }
    let time = Duration::try_from_secs_f64(number * unit).ok();
    let time = time.filter(|time| *time <= MOST);
    time.ok_or_else(|| "it is more than a year".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_perhaps_a_unit() {
        for (text, millis) in [
            ("10", 10_000),
            ("0.5", 500),
            ("10s", 10_000),
            ("1.5s", 1_500),
            ("500ms", 500),
            ("2m", 120_000),
            ("2min", 120_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for wrong in [
            "", "s", "10d", "-1s", "-1", "NaNs", "infs", "1e9h", "0", "0s", "é", "10 s", "1m30s",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_or_zero("0"), Ok(Duration::ZERO));
        assert!(parse_or_zero("-1").is_err());
    }
}
