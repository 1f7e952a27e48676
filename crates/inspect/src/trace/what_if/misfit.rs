//! `Misfit`: a replay that is so far from its recording that nothing follows from it.

use serde::Serialize;

use super::{Figures, Prediction};
use crate::trace::text::time;

/// A replay fits if its percentiles are at most so many times those of the recording, and the reverse.
///
/// A prediction multiplies what was recorded by the ratio of two replays. So it has the errors of both only as far as these
/// differ. But the changes that people ask about make requests about twice as fast. With an error of that size, the effect of
/// the change cannot be told from that of the error.
const FITS: f64 = 2.0;

/// A replay without a change that has other latencies than the recording: it cannot predict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Misfit {
    /// The figures of the recording.
    pub recorded: Figures,
    /// The figures of the replay.
    pub replayed: Figures,
}

/// Returns the reason why these predictions, which are of one recording, mean nothing. `None` if they mean something.
#[must_use]
pub fn misfit(all: &[Prediction]) -> Option<Misfit> {
    let Prediction {
        recorded, replayed, ..
    } = *all.first()?;
    let fits = |one: u64, other: u64| {
        let (least, most) = (one.min(other).max(1), one.max(other));
        most as f64 <= FITS * least as f64
    };
    let is_near = fits(recorded.p50, replayed.p50) && fits(recorded.p99, replayed.p99);
    (!is_near).then_some(Misfit { recorded, replayed })
}

impl Misfit {
    /// Returns the reason and what to do, for people.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { recorded, replayed } = self;
        format!(
            "\nNo prediction: a replay of this recording without a change has a p50 of {} and a p99 of {}.\n\
             The requests took {} and {}. So the replay lacks what they really waited for, and a prediction would be as wrong.\n\
             A recording that lacks less is longer (--for), has lost no events (BLITZ_TRACE_EVENTS), and has a request for each\n\
             question, rather than for a connection or a batch.\n",
            time(replayed.p50),
            time(replayed.p99),
            time(recorded.p50),
            time(recorded.p99)
        )
    }
}
