//! The text of a `Schedule`. The attribute `sim` has the compiler read it, so these functions are `const`.

use std::fmt;
use std::str::FromStr;

use super::Schedule;
use crate::sim::period::{number, strip};
use crate::sim::trace::ParseError;

/// The largest depth of PCT: a run has memory for each change of priorities. A mistake that needs so many events in one
/// order is found by no search.
pub(in crate::sim) const MOST_DEPTH: u32 = 10_000;

const UNKNOWN: &str = "the schedules are `portfolio`, `random`, `round-robin`, `pct:3`, `pos`, `surw`, `guided`, \
                       `exhaustive` and `exhaustive:2`";
const TOO_DEEP: &str = "the largest depth of `pct` is 10000";

impl Schedule {
    /// Returns the schedule of a text, or why it is none.
    const fn read(text: &str) -> Result<Self, &'static str> {
        let text = text.as_bytes();
        if let Some(depth) = strip(text, b"pct:") {
            return match number(depth) {
                Some(depth) if depth <= MOST_DEPTH as u64 => Ok(Self::Pct {
                    depth: depth as u32,
                }),
                Some(_) => Err(TOO_DEEP),
                None => Err(UNKNOWN),
            };
        }
        if let Some(bound) = strip(text, b"exhaustive:") {
            return match number(bound) {
                Some(bound) if bound <= u32::MAX as u64 => Ok(Self::Exhaustive {
                    preemptions: Some(bound as u32),
                }),
                _ => Err(UNKNOWN),
            };
        }
        Ok(match text {
            b"portfolio" => Self::Portfolio,
            b"random" => Self::Random,
            b"round-robin" => Self::RoundRobin,
            b"pos" => Self::Pos,
            b"surw" => Self::Surw,
            b"guided" => Self::Guided,
            b"exhaustive" => Self::Exhaustive { preemptions: None },
            _ => return Err(UNKNOWN),
        })
    }

    /// Returns the schedule of a literal, for the attribute `sim`, which evaluates this in the compiler.
    ///
    /// # Panics
    ///
    /// If the text is no schedule.
    #[doc(hidden)]
    #[must_use]
    pub const fn literal(text: &str) -> Self {
        match Self::read(text) {
            Ok(schedule) => schedule,
            Err(why) => panic!("{}", why),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Portfolio => f.write_str("portfolio"),
            Self::Random => f.write_str("random"),
            Self::RoundRobin => f.write_str("round-robin"),
            Self::Pct { depth } => write!(f, "pct:{depth}"),
            Self::Pos => f.write_str("pos"),
            Self::Surw => f.write_str("surw"),
            Self::Guided => f.write_str("guided"),
            Self::Exhaustive { preemptions: None } => f.write_str("exhaustive"),
            Self::Exhaustive {
                preemptions: Some(most),
            } => write!(f, "exhaustive:{most}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::read(text).map_err(|why| ParseError(format!("`{text}` is no schedule: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_schedule_gives_the_schedule_back() {
        let texts = [
            "portfolio",
            "random",
            "round-robin",
            "pct:7",
            "pct:10000",
            "pos",
            "surw",
            "guided",
            "exhaustive",
            "exhaustive:2",
            "exhaustive:4294967295",
        ];
        for text in texts {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        let others = [
            "",
            "pct",
            "pct:",
            "pct:x",
            "pct:+3",
            "random:1",
            "Random",
            "exhaustive:",
            "exhaustive:4294967296",
        ];
        for text in others {
            assert!(text.parse::<Schedule>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_depth_that_takes_gigabytes_is_refused() {
        for text in ["pct:10001", "pct:4294967295", "pct:99999999999999999999"] {
            let error = text.parse::<Schedule>().unwrap_err().to_string();
            assert!(error.contains("`pct`"), "{error}");
        }
        let error = "pct:4294967295".parse::<Schedule>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`pct:4294967295` is no schedule: the largest depth of `pct` is 10000"
        );
    }

    #[test]
    fn the_compiler_reads_a_literal() {
        const DEPTH: Schedule = Schedule::literal("pct:3");
        assert_eq!(DEPTH, Schedule::Pct { depth: 3 });
    }
}
