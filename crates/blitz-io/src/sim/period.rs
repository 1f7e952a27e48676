//! `Period`: a time as text, such as `10m`. The attribute `sim` has the compiler read it, so these functions are `const`.

use std::str::FromStr;
use std::time::Duration;

use super::trace::ParseError;

const UNKNOWN: &str = "a time is a number of seconds, or a number with `ms`, `s`, `m` or `h`";

/// A time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Period(pub(super) Duration);

impl Period {
    const fn read(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        let (count, millis) = if let Some(count) = strip_end(text, b"ms") {
            (count, 1)
        } else if let Some(count) = strip_end(text, b"s") {
            (count, 1_000)
        } else if let Some(count) = strip_end(text, b"m") {
            (count, 60_000)
        } else if let Some(count) = strip_end(text, b"h") {
            (count, 3_600_000)
        } else {
            (text, 1_000)
        };
        match number(count) {
            Some(count) => match count.checked_mul(millis) {
                Some(millis) => Some(Self(Duration::from_millis(millis))),
                None => None,
            },
            None => None,
        }
    }
}

impl FromStr for Period {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::read(text).ok_or_else(|| ParseError(format!("`{text}` is no time: {UNKNOWN}")))
    }
}

/// Returns the time of a literal, for the attribute `sim`, which evaluates this in the compiler.
///
/// # Panics
///
/// If the text is no time.
#[doc(hidden)]
#[must_use]
pub const fn period_literal(text: &str) -> Duration {
    match Period::read(text) {
        Some(period) => period.0,
        None => panic!("{}", UNKNOWN),
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

/// Returns the part of a text before `end`, with which it ends.
const fn strip_end<'a>(text: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    if text.len() < end.len() {
        return None;
    }
    let (first, last) = text.split_at(text.len() - end.len());
    if is_same(last, end) {
        Some(first)
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

    #[test]
    fn the_compiler_reads_a_literal() {
        const LIMIT: Duration = period_literal("10m");
        assert_eq!(LIMIT, Duration::from_secs(600));
    }
}
