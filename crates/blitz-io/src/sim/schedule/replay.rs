//! The decisions of a trace, and the harmless alternative where it has none.

use super::Choice;
use crate::sim::trace::Trace;

pub(in crate::sim) struct Replay {
    trace: Trace,
    /// Number of decisions of the trace that have been taken.
    taken: usize,
    /// Number of decisions so far.
    decisions: u64,
    /// The trace has chosen an alternative that there was not.
    is_over: bool,
}

impl Replay {
    pub(super) fn new(trace: Trace) -> Self {
        Self {
            trace,
            taken: 0,
            decisions: 0,
            is_over: false,
        }
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        let at = self.decisions;
        self.decisions += 1;
        match self.trace.decisions.get(self.taken) {
            Some(&(index, alternative)) if index == at => {
                self.taken += 1;
                self.is_over |= alternative >= choice.of;
                alternative.min(choice.of - 1)
            }
            _ => 0,
        }
    }

    /// Returns `true` if the run had each decision of the trace, with that alternative.
    pub(super) fn fits(&self) -> bool {
        !self.is_over && self.taken == self.trace.decisions.len()
    }
}
