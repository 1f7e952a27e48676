//! `Trace`: the decisions of a run, as text that fits into a line.

use std::fmt;
use std::str::FromStr;

/// One decision of a run: which of so many alternatives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Decision {
    /// Number of alternatives, at least 2.
    pub(super) of: u32,
    /// The alternative. 0 is always the harmless one: the same task continues, or the first of the list runs.
    pub(super) choice: u32,
}

/// The decisions of a run that were not the harmless ones.
///
/// A replay takes these decisions, and the harmless alternative everywhere else. So a trace can be shortened by
/// leaving decisions out. It also stays valid if the program gets a point more or less: a decision with too
/// few alternatives takes the last one.
///
/// Its text is a version and, for each decision, its distance from the one before and its alternative:
/// `1:4.1,1.2` means the fifth decision, and the sixth one. If the code draws random numbers of the system, such as the
/// keys of a `HashMap`, a number follows that these numbers follow from: `1:4.1,1.2@7`.
///
/// # Examples
///
/// ```
/// use blitz_io::sim::Trace;
///
/// let trace: Trace = "1:4.1,1.2".parse()?;
/// assert_eq!(trace.len(), 2);
/// assert_eq!(trace.to_string(), "1:4.1,1.2");
/// assert!("2:4.1".parse::<Trace>().is_err());
/// # Ok::<(), blitz_io::sim::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Index and alternative of each decision that was not harmless, in the order of their indexes.
    pub(super) decisions: Vec<(u64, u32)>,
    /// What the random numbers of the system follow from.
    pub(super) entropy: u32,
}

impl Trace {
    pub(super) fn of(decisions: &[Decision], entropy: u32) -> Self {
        let all = (0..).zip(decisions);
        let harmful = all.filter(|(_, decision)| decision.choice != 0);
        Self {
            decisions: harmful
                .map(|(at, decision)| (at, decision.choice))
                .collect(),
            entropy,
        }
    }

    /// Returns the number of decisions that are not the harmless ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.decisions.len()
    }

    /// Returns `true` if all decisions are the harmless ones.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("1:")?;
        let mut last = 0;
        for (number, &(at, choice)) in self.decisions.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{}.{choice}", at - last)?;
            last = at;
        }
        match self.entropy {
            0 => Ok(()),
            entropy => write!(f, "@{entropy}"),
        }
    }
}

/// The text is not one of a [`Trace`] or a [`Schedule`](super::Schedule).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError(pub(super) String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Trace {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError(format!("`{text}` is no trace of version 1"));
        let rest = text.strip_prefix("1:").ok_or_else(refused)?;
        let (rest, entropy) = match rest.split_once('@') {
            Some((rest, entropy)) => (rest, entropy.parse().map_err(|_| refused())?),
            None => (rest, 0),
        };
        let mut decisions = Vec::new();
        let mut last = 0_u64;
        for (number, pair) in rest.split(',').filter(|pair| !pair.is_empty()).enumerate() {
            let (distance, choice) = pair.split_once('.').ok_or_else(refused)?;
            let distance: u64 = distance.parse().map_err(|_| refused())?;
            let choice = choice.parse().map_err(|_| refused())?;
            if distance == 0 && number != 0 {
                return Err(refused());
            }
            last = last.checked_add(distance).ok_or_else(refused)?;
            decisions.push((last, choice));
        }
        Ok(Self { decisions, entropy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_trace_gives_the_trace_back() {
        let decisions = [(3, 0), (2, 1), (2, 0), (9, 8), (2, 1)];
        let decisions = decisions.map(|(of, choice)| Decision { of, choice });
        let trace = Trace::of(&decisions, 0);
        assert_eq!(trace.to_string(), "1:1.1,2.8,1.1");
        assert_eq!(trace.to_string().parse(), Ok(trace));
        assert_eq!("1:".parse(), Ok(Trace::default()));
        for (decisions, text) in [(&decisions[..], "1:1.1,2.8,1.1@7"), (&[], "1:@7")] {
            let trace = Trace::of(decisions, 7);
            assert_eq!(trace.to_string(), text);
            assert_eq!(text.parse(), Ok(trace));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let texts = [
            "",
            "1",
            "0:",
            "1:1",
            "1:1.",
            "1:.1",
            "1:1.1,0.2",
            "1:-1.1",
            "1:1.1;",
            "1:@",
            "1:1.1@-1",
            "1:1.1@1@1",
        ];
        for text in texts {
            assert!(text.parse::<Trace>().is_err(), "{text:?}");
        }
        let large = format!("1:{}.1,1.1", u64::MAX);
        assert!(large.parse::<Trace>().is_err());
    }
}
