//! Numbers of the reports, which look like those of fastp.
//!
//! A report has thousands of them. So the usual ones are made with one multiplication and integers, wherever it is certain
//! that the result is the correctly rounded one: the product is wrong by less than [`DOUBT`], and is not that close to
//! the middle of two results. The standard library makes the others.

use std::fmt::Write;

/// More than the error of a product below a million: the factor is exact, and so the error is less than 2^-33.
const DOUBT: f64 = 1e-6;

/// The powers of ten from 10^0 on.
const POWERS: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Formats a number like C's `%g`.
pub fn number(value: f64) -> String {
    let mut out = String::new();
    push(&mut out, value);
    out
}

/// Appends a number as C's `%g` formats it.
pub fn push(out: &mut String, value: f64) {
    match digits(value) {
        Some((digits, exponent)) => push_digits(out, digits, exponent),
        None => out.push_str(&any(value)),
    }
}

/// Appends a number with this many digits after the point, one or two.
pub fn push_fixed(out: &mut String, value: f64, places: usize) {
    let product = value * POWERS[places];
    let is_usual = (0.0..1e6).contains(&product) && value.is_sign_positive();
    match is_usual.then(|| rounded(product)).flatten() {
        Some(digits) => push_with_point(out, digits, places),
        None => {
            let _ = write!(out, "{value:.places$}");
        }
    }
}

/// Appends digits, the last `places` of them after a point.
fn push_with_point(out: &mut String, mut digits: u32, places: usize) {
    // A million has seven digits, and there is the point.
    let mut text = [b'0'; 8];
    let mut at = text.len();
    let mut left = places;
    loop {
        at -= 1;
        text[at] = b'0' + (digits % 10) as u8;
        digits /= 10;
        if left > 0 {
            left -= 1;
            if left == 0 {
                at -= 1;
                text[at] = b'.';
            }
        } else if digits == 0 {
            break;
        }
    }
    out.extend(text[at..].iter().map(|&byte| char::from(byte)));
}

/// Rounds a product below a million; `None` if it is close to the middle of two integers.
fn rounded(product: f64) -> Option<u32> {
    let below = product as u32;
    let part = product - f64::from(below);
    ((part - 0.5).abs() > DOUBT).then(|| below + u32::from(part > 0.5))
}

/// Returns the six digits of a usual number, and the power of ten of the first one.
fn digits(value: f64) -> Option<(u32, i32)> {
    if !(1e-4..999_999.0).contains(&value) {
        return None;
    }
    let is_below = |power: &&f64| **power <= value;
    let exponent = match POWERS.iter().take_while(is_below).count() as i32 {
        0 => {
            let smaller = [1e-1, 1e-2, 1e-3]
                .iter()
                .take_while(|&&power| value < power);
            -1 - smaller.count() as i32
        }
        powers => powers - 1,
    };
    match rounded(value * POWERS[(5 - exponent) as usize])? {
        // It was rounded up to the next power.
        1_000_000 => Some((100_000, exponent + 1)),
        digits => Some((digits, exponent)),
    }
}

/// Appends six digits, without the zeros at the end behind the point.
fn push_digits(out: &mut String, mut digits: u32, exponent: i32) {
    let mut text = [0; 6];
    for place in text.iter_mut().rev() {
        *place = digits % 10;
        digits /= 10;
    }
    let before_point = (exponent + 1).max(0) as usize;
    let used = text.iter().rposition(|&digit| digit != 0);
    let used = used.map_or(1, |last| last + 1).max(before_point);
    if exponent < 0 {
        out.push_str(&"0.000"[..1 + -exponent as usize]);
    }
    for (at, &digit) in text[..used].iter().enumerate() {
        if at == before_point && exponent >= 0 {
            out.push('.');
        }
        out.push(char::from(b'0' + digit as u8));
    }
}

/// Formats any number.
fn any(value: f64) -> String {
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
            assert_eq!(any(value), text);
        }
    }

    #[test]
    fn usual_numbers_are_those_of_the_standard_library() {
        let mut values = vec![
            0.25,
            0.35,
            1.25,
            0.45,
            12.35,
            2.5e-4,
            1e-4,
            0.001,
            0.01,
            0.1,
            9.999_995,
            99.999_95,
            0.099_999_95,
            99_999.5,
            999_998.5,
            999_999.5,
            1.000_005,
            123.456_5,
            0.000_999_999_5,
            33.05,
        ];
        let mut state = 1u64;
        for at in 0..200_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let part = (state >> 11) as f64 / (1u64 << 53) as f64;
            values.push(part * 10f64.powi(at % 13 - 6));
            // Quotients of small numbers, and halves, are often in the middle of two results.
            values.push((state >> 50) as f64 / f64::from(at % 1000 + 1));
            values.push((state >> 40) as f64 / 2e6);
        }
        let mut usual = 0;
        for value in values {
            assert_eq!(number(value), any(value), "{value:e}");
            for places in 1..=2 {
                let mut fixed = String::new();
                push_fixed(&mut fixed, value, places);
                assert_eq!(fixed, format!("{value:.places$}"), "{value:e}");
            }
            usual += u32::from(digits(value).is_some());
        }
        assert!(usual > 400_000, "{usual}");
    }
}
