//! `Shown`: how many events a report shows, and how.

use std::str::FromStr;

use crate::sim::trace::ParseError;

/// The variable of the environment with the number of events of each task.
pub(in crate::sim) const VARIABLE: &str = "BLITZ_SIM_EVENTS";

/// The largest number of tasks, unless all events are shown.
const TASKS: usize = 8;

/// The events that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sim) enum Shown {
    /// This number of events of each of the tasks that matter most, from the last one back, and as many next to faults.
    Last(usize),
    /// Those of all tasks, each on its own.
    All,
    /// Those of all tasks, in one list.
    Merged,
}

impl Shown {
    pub(in crate::sim) const LAST: Self = Self::Last(20);

    pub(super) fn tasks(self) -> usize {
        match self {
            Self::Last(_) => TASKS,
            _ => usize::MAX,
        }
    }
}

impl FromStr for Shown {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.parse() {
            _ if text == "all" => Ok(Self::All),
            _ if text == "merged" => Ok(Self::Merged),
            Ok(number) => Ok(Self::Last(number)),
            Err(_) => Err(ParseError(format!(
                "`{text}` is neither a number nor `all` or `merged`"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_shown_events_is_a_number_or_all() {
        assert_eq!("all".parse(), Ok(Shown::All));
        assert_eq!("merged".parse(), Ok(Shown::Merged));
        assert_eq!("7".parse(), Ok(Shown::Last(7)));
        for wrong in ["", "every", "-1"] {
            assert!(wrong.parse::<Shown>().is_err(), "{wrong}");
        }
        assert_eq!(
            (Shown::LAST.tasks(), Shown::All.tasks()),
            (TASKS, usize::MAX)
        );
    }
}
