//! Ordered parallel pipelines: sources, stages that run in parallel, sinks.
//!
//! ```
//! use std::io::{self, BufRead, Write};
//! use blitz_io::pipeline;
//!
//! # let input = io::Cursor::new("b\na\n");
//! # let mut output = Vec::new();
//! let mut lines = input.lines();
//! pipeline::source(|| lines.next().transpose())
//!     .try_map(|line| Ok(line.to_uppercase()))   // on all processors
//!     .sink(|line| writeln!(output, "{line}"))   // in the order of the input
//!     .run()?;
//! # assert_eq!(output, b"B\nA\n");
//! # Ok::<_, pipeline::Error<io::Error>>(())
//! ```
//!
//! # Guarantees of every pipeline
//!
//! * **It cannot hang.** No closure of a pipeline waits for another. A worker waits only if
//!   the others are already doing everything that there is to do. Any number of workers and
//!   any capacity is enough, even one.
//! * **Memory is bounded at one place.** At most [`capacity`](Pipeline::capacity) items are
//!   between the source and the end of the sink, and no worker ever waits for any other
//!   room.
//! * **`workers(n)` means `n` threads in all**, those that read and write included. No
//!   worker is a reader or a writer: any free worker does what is most urgent.
//!   [`in_stages`](Pipeline::in_stages) limits how many of them compute at the same time.
//! * **A failure stops it in order.** Everything before the first item that failed is
//!   written, nothing after it is (if items are written in order), and the error names that
//!   item.
//! * **A panic** in a closure stops it, and is resumed in the thread that called `run`.
//!
//! An item should be worth some microseconds of work: put lines, records and pixels into
//! [`batches`], bytes into blocks.
//!
//! # Threads, or tasks
//!
//! Sources and sinks that wait for sockets, channels or files as tasks do are made with
//! [`AsyncSource`] and [`AsyncSink`]. The stages are the same, and so is everything above.
//! The pipeline then runs on the tasks of any executor, with
//! [`run_tasks`](Pipeline::run_tasks).

#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]
#![cfg_attr(
    loom,
    allow(
        missing_docs,
        clippy::new_without_default,
        reason = "models see what users do not"
    )
)]

mod async_ends;
#[cfg(feature = "atomic-output")]
pub mod atomic_output;
mod cells;
mod closures;
mod control;
mod emit;
mod error;
#[cfg(feature = "gzip")]
pub mod gzip;
mod pipeline;
mod progress;
mod run;
mod scheduler;
mod stages;
mod state;
mod task_worker;
mod tasks;
mod worker;

pub use async_ends::{AsyncSink, AsyncSource};
pub use closures::{Sink, Source};
pub use control::Control;
pub use emit::Emit;
pub use error::{Error, Place};
pub use pipeline::Pipeline;
pub use progress::{Progress, Waits};
pub use stages::{Stages, async_joined, async_source, batches, iter, joined, source};
pub use tasks::{Task, TaskPipeline};

/// The parts that the models in `tests/` need.
#[cfg(loom)]
pub mod model {
    pub use crate::scheduler::Scheduler;
    pub use crate::state::Size;
    pub use crate::task_worker::{PollSteps, TaskWorker};
    pub use crate::worker::{Read, Steps, work};
}

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
