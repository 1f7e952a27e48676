//! Numbers of things in words, for reports.

use std::fmt::Display;

/// Returns a number with the noun, which gets its plural.
#[must_use]
pub fn counted(count: impl Display, what: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_has_no_plural() {
        let texts = [0_u64, 1, 2, 11].map(|count| counted(count, "byte"));
        assert_eq!(texts, ["0 bytes", "1 byte", "2 bytes", "11 bytes"]);
    }
}
