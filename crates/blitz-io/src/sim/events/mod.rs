//! The last events of each task that a failure involves, in words.
//!
//! | file | concept |
//! |---|---|
//! | `recorder` | the recorder is on while a run is explained |
//! | `steps` | the steps of a run, and the lines of all events in their order |
//! | `line` | a line: one event and its sentence |
//! | `involved` | the tasks that matter most |
//! | `shown` | how many events are shown |
//! | `excerpt` | the lines of one task that are shown, with folded repetitions |
//! | `ended` | of the ended children of a task that one line has spawned, the last ones |
//! | `last_events` | the text: of each task, or in one list |

mod ended;
mod excerpt;
mod involved;
mod last_events;
mod line;
mod recorder;
mod shown;
mod steps;

pub(super) use involved::{
    alike_last, at_faults, each_once, first_panic, group, in_turns, only_accepts,
    that_used_the_same,
};
pub(super) use last_events::LastEvents;
pub(super) use line::{PANICS, TEST, THE_TEST, name, name_in_run, of_moment};
pub(super) use recorder::Recorder;
pub(super) use shown::{Shown, VARIABLE};
pub(super) use steps::{Decided, End, Step, Steps};
