//! `Period`: a time as text, such as `10m`. The attribute `sim` reads the same texts.

use std::str::FromStr;
use std::time::Duration;

use super::trace::ParseError;

const UNKNOWN: &str = "a time is a number of seconds, or a number with `ms`, `s`, `m` or `h`";

/// A time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Period(pub(super) Duration);

impl Period {
    fn read(text: &str) -> Option<Self> {
        let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
        let of_unit = |(end, millis)| Some((text.strip_suffix(end)?, millis));
        let (count, millis) = units.into_iter().find_map(of_unit).unwrap_or((text, 1_000));
        let millis = number(count.as_bytes())?.checked_mul(millis)?;
        Some(Self(Duration::from_millis(millis)))
    }
}

impl FromStr for Period {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::read(text).ok_or_else(|| ParseError(format!("`{text}` is no time: {UNKNOWN}")))
    }
}

/// Returns the rest of a text that begins with `start`.
pub(super) const fn strip<'a>(text: &'a [u8], start: &[u8]) -> Option<&'a [u8]> {
    if text.len() < start.len() {
        return None;
    }
    let (first, rest) = text.split_at(start.len());
    if is_same(first, start) {
        Some(rest)
    } else {
        None
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns the number that these digits mean. A larger one than fits is the largest that does.
pub(super) const fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let (mut number, mut at) = (0_u64, 0);
    while at < digits.len() {
        let digit = digits[at].wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.saturating_mul(10).saturating_add(digit as u64);
        at += 1;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_from_milliseconds_to_hours() {
        let texts = [
            ("7", 7_000),
            ("7s", 7_000),
            ("250ms", 250),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("0s", 0),
        ];
        for (text, millis) in texts {
            let period: Period = text.parse().unwrap();
            assert_eq!(period.0, Duration::from_millis(millis), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "s",
            "m",
            "-1s",
            "1.5s",
            "1 s",
            "1d",
            "10ss",
            "99999999999999999999h",
        ] {
            assert!(text.parse::<Period>().is_err(), "{text:?}");
        }
    }
}
