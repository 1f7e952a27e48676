//! The loop that every worker of a pipeline runs.

use crate::scheduler::Scheduler;
use crate::state::{Outcome, Step};

/// The outcome of reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// A part is in its slot.
    Part,
    /// There are no more items.
    End,
    /// The source failed.
    Failed,
}

/// The steps of a pipeline.
pub trait Steps {
    /// Reads the part of `source` of this item into its slot.
    fn read(&mut self, source: usize, item: u64) -> Read;
    /// Processes the item in its slot. Returns whether that succeeded.
    fn process(&mut self, item: u64) -> bool;
    /// Writes items in order. Returns the item before which it stopped, or `to` if all were
    /// written.
    fn write(&mut self, sink: usize, from: u64, to: u64) -> u64;
}

/// Does steps until the run is over.
pub fn work(scheduler: &Scheduler, me: usize, steps: &mut impl Steps) {
    let mut outcome = Outcome::Nothing;
    loop {
        outcome = match scheduler.next(me, outcome) {
            Step::Read { source, item } => match steps.read(source, item) {
                Read::Part => Outcome::Read { source },
                Read::End => Outcome::End { source },
                Read::Failed => Outcome::ReadFailed { source },
            },
            Step::Process { item } => {
                if steps.process(item) {
                    Outcome::Processed { item }
                } else {
                    Outcome::ProcessFailed { item }
                }
            }
            Step::Write { sink, from, to } => {
                let stopped = steps.write(sink, from, to);
                Outcome::Wrote {
                    sink,
                    from,
                    to: stopped,
                    failed: stopped < to,
                }
            }
            Step::Leave => return,
        };
    }
}
