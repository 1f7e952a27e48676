//! `Scenario`: the changes that a prediction assumes, as the user writes them.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::trace::cause::Cause;
use crate::trace::recording::Recording;

/// One or more changes of a program that are assumed together.
///
/// | text | what it assumes |
/// |---|---|
/// | `Mutex sessions / 2` | what happens while the lock is held takes half the time |
/// | `timer main.rs:25 / 2` | these waits take half the time; so do `socket`, `file` and `running` |
/// | `Sleep * 1.5` | these waits take longer |
/// | `workers 8` | the runtime has eight workers |
/// | `permits 4` | the semaphore for which requests waited has four permits; `permits NAME 4` names one |
/// | `blocking threads 4` | there are four threads for blocking work |
///
/// The words before the number are those of a line of the report, in any order: the category, the kind, the name or
/// the location. A comma separates several changes.
///
/// ```
/// use blitz_io_inspect::trace::Scenario;
///
/// let both: Scenario = "workers 8, Mutex sessions / 2".parse()?;
/// assert_eq!(both.to_string(), "workers 8, Mutex sessions / 2");
/// assert!("faster, please".parse::<Scenario>().is_err());
/// # Ok::<(), blitz_io_inspect::trace::ScenarioError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    text: String,
    pub(super) changes: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Workers(u64),
    BlockingThreads(u64),
    Permits(Words, u64),
    /// Times are multiplied by this.
    Scale(Words, f64),
}

/// Why a text is no scenario, or one that the recording cannot answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(pub(super) String);

impl Display for ScenarioError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScenarioError {}

impl Display for Scenario {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let changes: Result<_, _> = text.split(',').map(change).collect();
        Ok(Self {
            text: text.trim().to_owned(),
            changes: changes?,
        })
    }
}

fn change(text: &str) -> Result<Change, ScenarioError> {
    let wrong = || {
        let text = text.trim();
        ScenarioError(format!(
            "{text:?} is no change: it is such as \"Mutex sessions / 2\", \"workers 8\", \"permits 4\" or \
             \"blocking threads 4\""
        ))
    };
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let last = words.pop().ok_or_else(wrong)?;
    // The operator may stand close to its number. A path begins with a slash, too, and is no number.
    let (operator, number) = match last.strip_prefix(['/', '*']) {
        Some(number) => (&last[..1], number),
        None => (words.pop().ok_or_else(wrong)?, last),
    };
    if matches!(operator, "/" | "*") {
        let factor: f64 = number.parse().map_err(|_| wrong())?;
        let factor = if operator == "/" {
            1.0 / factor
        } else {
            factor
        };
        let is_one = factor.is_finite() && factor >= 0.0 && !words.is_empty();
        return is_one
            .then(|| Change::Scale(Words::new(&words), factor))
            .ok_or_else(wrong);
    }
    words.push(operator);
    let count: u64 = number.parse().map_err(|_| wrong())?;
    match *words {
        _ if count == 0 => Err(wrong()),
        ["workers" | "worker"] => Ok(Change::Workers(count)),
        ["blocking"] | ["blocking", "threads"] => Ok(Change::BlockingThreads(count)),
        ["permits" | "permit", ref of @ ..] => Ok(Change::Permits(Words::new(of), count)),
        _ => Err(wrong()),
    }
}

/// Words that describe something of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words(Vec<String>);

impl Words {
    fn new(words: &[&str]) -> Self {
        let plain = words.iter().map(|word| word.trim_matches('"'));
        let useful = plain.filter(|word| !matches!(*word, "" | "at"));
        Self(useful.map(str::to_owned).collect())
    }

    /// Returns `true` if each of the words is one of this cause.
    pub(super) fn describe(&self, recording: &Recording, cause: &Cause) -> bool {
        let text = format!("{} {}", cause.category.name(), cause.text(recording));
        let at = recording.location(cause.location).unwrap_or_default();
        let made_at = text
            .split_once(" created at ")
            .map_or("", |(_, rest)| rest.split_whitespace().next().unwrap_or(""));
        let is_known = |word: &String| {
            let mut words = text.split_whitespace();
            words.any(|other| other.trim_matches('"') == word)
                || [at, made_at].into_iter().any(|place| is_place(word, place))
        };
        self.0.iter().all(is_known)
    }
}

/// Returns `true` if the word is this location, or the end of its path, with or without the line.
fn is_place(word: &str, at: &str) -> bool {
    let mut places = [at, at.rsplit_once(':').map_or("", |(file, _)| file)].into_iter();
    places.any(|place| {
        let before = place.strip_suffix(word).filter(|_| !word.is_empty());
        before.is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Words {
        Words(words.iter().map(|&word| word.to_owned()).collect())
    }

    #[test]
    fn changes_are_read_as_people_write_them() {
        let one = |text: &str| text.parse::<Scenario>().unwrap().changes;
        assert_eq!(
            one("Mutex \"sessions\" / 2"),
            [Change::Scale(words(&["Mutex", "sessions"]), 0.5)]
        );
        assert_eq!(
            one("timer at src/bin/x.rs:7 /4"),
            [Change::Scale(words(&["timer", "src/bin/x.rs:7"]), 0.25)]
        );
        assert_eq!(one("Sleep *2"), [Change::Scale(words(&["Sleep"]), 2.0)]);
        assert_eq!(one("workers 8"), [Change::Workers(8)]);
        assert_eq!(one("permits 4"), [Change::Permits(words(&[]), 4)]);
        assert_eq!(one("permits db 4"), [Change::Permits(words(&["db"]), 4)]);
        assert_eq!(
            one("blocking threads 4, blocking 5"),
            [Change::BlockingThreads(4), Change::BlockingThreads(5)]
        );
        for wrong in [
            "",
            ",",
            "8",
            "/ 2",
            "Mutex",
            "Mutex / x",
            "Mutex / 0",
            "workers 0",
            "workers x",
            "cats 3",
            "Mutex * -1",
            "Mutex * NaN",
            "workers 8,",
            "a /b/c",
        ] {
            assert!(wrong.parse::<Scenario>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_place_may_be_the_end_of_a_path() {
        for word in ["src/a.rs:7", "a.rs:7", "a.rs", "src/a.rs"] {
            assert!(is_place(word, "src/a.rs:7"), "{word}");
        }
        for word in ["", "rs:7", ".rs", "7", "b.rs", "/src/a.rs:7"] {
            assert!(!is_place(word, "src/a.rs:7"), "{word}");
        }
    }
}
