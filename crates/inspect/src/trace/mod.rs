//! Judges where the requests of a program waited, and behind whom, from a recording of its last moments.
//!
//! `blitz trace` gets the recording from a running process, or a program writes it when it exits (`blitz-io-observe`,
//! the recorder `trace`). [`Recording::parse`] reads it, [`judge`] is a pure function from it to a [`Report`], and
//! [`Report::text`] writes that for people, and the functions of `export` write recordings for other programs.
//!
//! [`Recording::of_all`] makes one of the recordings of several processes.
//!
//! A judgement has three steps:
//!
//! 1. It puts the events together: what each thread and task did at each moment.
//! 2. It divides the time of each request into pieces, each with its cause.
//! 3. It adds them up, and makes a tree of each request.
//!
//! [`predict`] says what the latencies would be if the program were changed.

mod cause;
mod children;
mod contended;
mod delays;
mod export;
mod follow_jobs;
mod follow_messages;
mod forgotten;
mod held;
mod jobs;
mod late;
mod lives;
mod messages;
mod names;
mod path;
mod polls;
mod processes;
mod recording;
mod report;
mod split;
mod tasks;
mod text;
mod what_if;
mod words;

#[cfg(feature = "records")]
#[doc(inline)]
pub use blitz_io_observe::trace::Ended;
pub use cause::Category;
pub use contended::{BUCKETS, Contended, Share};
pub use export::{chrome, folded, otlp, perfetto, pprof};
pub use held::Held;
pub use path::Node;
pub use polls::LongestPoll;
pub use recording::{ParseError, Recording};
pub use report::{Elsewhere, Latencies, Report, Split, judge};
pub use tasks::Tasks;
pub use text::time;
pub use what_if::{
    Estimate, Figures, Misfit, NamedPrediction, Prediction, ReadyAfter, Scenario, ScenarioError,
    misfit, predict, predictions,
};
#[doc(hidden)]
pub use words::{
    ABOUT_TO, Began, Child, DISK, Known, MADE, OTHER_OPERATION, SPAWNED, Said, USE, Words,
};
