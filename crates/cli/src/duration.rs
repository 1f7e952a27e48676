//! Times of the command line, such as `10s`.

use std::time::Duration;

/// Reads a number with a unit.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        _ => return Err("it is a number with ms, s or m, such as 10s".into()),
    };
    let number: f64 = digits
        .parse()
        .map_err(|_| format!("{digits:?} is no number"))?;
    let time = Duration::try_from_secs_f64(number * unit).map_err(|_| "it is no time")?;
    if time.is_zero() {
        return Err("it is no time at all".into());
    }
    if time > Duration::from_secs(24 * 3600) {
        return Err("it is more than a day".into());
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        assert_eq!(parse("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("2m"), Ok(Duration::from_secs(120)));
        for wrong in [
            "", "s", "10", "10h", "-1s", "NaNs", "infs", "1e9m", "0s", "é",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
