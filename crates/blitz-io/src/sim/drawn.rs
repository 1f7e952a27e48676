//! The random numbers of a run and their meanings, for the list of the decisions in a report.
//!
//! Number 0, the harmless decision, does not count. The code that draws numbers says their meaning
//! (`decisions::meaning`). All numbers of a fault of [`Faults`](super::Faults) are one entry.

use std::time::Duration;

use super::notes::Moment;
use super::schedule::OF_A_KIND;

/// The largest number of entries. A report that would have more shows none.
const MOST: usize = 4_096;

/// Random numbers, none of which is the harmless one.
pub(super) struct Drawn {
    pub(super) moment: Moment,
    /// The fault of `Faults` whose numbers these are.
    fault: Option<u32>,
    text: String,
    /// The fault has begun, and `text` says how.
    has_begun: bool,
    /// The end of the fault.
    until: Option<Duration>,
}

impl Drawn {
    /// Returns `true` if these are the numbers of a fault.
    pub(super) fn is_fault(&self) -> bool {
        self.fault.is_some()
    }

    /// Returns what the numbers mean.
    pub(super) fn text(&self) -> String {
        match self.until {
            Some(until) => format!("{}, until {until:?}", self.text),
            None => self.text.clone(),
        }
    }
}

/// See the module documentation.
#[derive(Default)]
pub(super) struct AllDrawn {
    drawn: Vec<Drawn>,
    /// The index of the first entry whose meaning the code is about to say.
    open: Option<usize>,
}

impl AllDrawn {
    /// A number was drawn. `text`: what it means, unless the code says that.
    pub(super) fn add(
        &mut self,
        moment: Moment,
        fault: Option<u32>,
        text: impl FnOnce() -> String,
    ) {
        let is_known = fault.is_some() && self.drawn.iter().any(|drawn| drawn.fault == fault);
        if is_known || self.drawn.len() > MOST {
            return;
        }
        let text = match fault {
            // The head of the report has the kinds that are on.
            Some(number) if number % OF_A_KIND == 0 => return,
            Some(_) => "the next fault of its kind comes later".to_owned(),
            None => text(),
        };
        self.drawn.push(Drawn {
            moment,
            fault,
            text,
            has_begun: false,
            until: None,
        });
    }

    /// From here on, the code draws numbers whose meaning it is about to say.
    pub(super) fn open(&mut self) {
        self.open = Some(self.drawn.len());
    }

    /// The numbers since [`open`](Self::open) mean this.
    pub(super) fn close(&mut self, text: String) {
        let first = self.open.take().unwrap_or(self.drawn.len());
        if let Some(drawn) = self
            .drawn
            .get_mut(first)
            .filter(|drawn| drawn.fault.is_none())
        {
            drawn.text = text;
            self.drawn.truncate(first + 1);
        }
    }

    /// A fault begins, or a part of one.
    pub(super) fn begins(&mut self, fault: u32, moment: Moment, text: &str) {
        let mut all = self.drawn.iter_mut();
        if let Some(drawn) = all.find(|drawn| drawn.fault == Some(fault)) {
            if drawn.has_begun {
                drawn.text.push_str("; ");
                drawn.text.push_str(text);
            } else {
                (drawn.has_begun, drawn.moment) = (true, moment);
                text.clone_into(&mut drawn.text);
            }
        }
    }

    /// A fault ends.
    pub(super) fn ends(&mut self, fault: u32, at: Duration) {
        let mut all = self.drawn.iter_mut();
        if let Some(drawn) = all.find(|drawn| drawn.fault == Some(fault)) {
            drawn.until = Some(at);
        }
    }

    pub(super) fn all(&self) -> &[Drawn] {
        &self.drawn
    }
}
