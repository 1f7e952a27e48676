//! The parts of JSON that the files of the recorders have.

use std::fmt::{self, Display, Formatter, Write as _};
use std::panic::Location;

/// A string.
pub(super) struct Text<'a>(pub(super) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

/// A string, or `null`.
pub(super) struct Name<'a>(pub(super) Option<&'a str>);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => Text(name).fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// A file and a line, or `null`.
pub(super) struct Place(pub(super) Option<&'static Location<'static>>);

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(at) => Text(&format!("{}:{}", at.file(), at.line())).fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// Adds an array under a name to an object that has a member already.
pub(super) fn list<T: Display>(text: &mut String, name: &str, all: impl IntoIterator<Item = T>) {
    _ = write!(text, ",\n\"{name}\":[");
    for (at, one) in all.into_iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        _ = write!(text, "{comma}\n{one}");
    }
    text.push(']');
}

/// Returns the command line of this process.
pub(super) fn command() -> String {
    let words: Vec<_> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    words.join(" ")
}
