//! The recording in the format of Chrome's `about:tracing`, which Perfetto reads, too.
//!
//! Each thread, task and request has a lane. Arrows lead from wakers to the tasks that they woke.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::cause::Cause;
use super::lives::{Did, Lives};
use super::names::who;
use super::recording::{Ender, Recording};
use super::split::Splitter;
use crate::snapshot::Waiter;

/// The numbers of the three groups of lanes.
const REQUESTS: u32 = 1;
const TASKS: u32 = 2;
const THREADS: u32 = 3;

/// Returns the recording as JSON in Chrome's format.
///
/// ```
/// use blitz_io_inspect::trace::{Recording, chrome};
///
/// let empty = Recording::parse(b"{\"format\":1}")?;
/// assert!(chrome(&empty).starts_with("{\"traceEvents\":["));
/// # Ok::<(), blitz_io_inspect::trace::ParseError>(())
/// ```
#[must_use]
pub fn chrome(recording: &Recording) -> String {
    let lives = Lives::new(recording);
    let mut events = Events::new(recording);
    for (lane, name) in [
        (REQUESTS, "requests"),
        (TASKS, "tasks"),
        (THREADS, "threads"),
    ] {
        events.add(json!({"ph": "M", "name": "process_name", "pid": lane, "args": {"name": name}}));
    }
    let splitter = Splitter::new(recording, &lives);
    for request in &lives.requests {
        let lane = (REQUESTS, request.id);
        let name = recording.name(request.name);
        events.span(lane, name, "request", request.from, request.to);
        for piece in splitter.request(request) {
            let (name, at) = events.cause(piece.cause);
            events.span(lane, &name, &at, piece.from, piece.to);
        }
    }
    let mut all: Vec<_> = lives.lives.iter().collect();
    all.sort_by_key(|(waiter, _)| **waiter);
    let mut arrows = 0;
    for (&waiter, life) in all {
        let lane = lane(waiter);
        let name = who(recording, &lives, waiter);
        events.add(json!({"ph": "M", "name": "thread_name", "pid": lane.0, "tid": lane.1, "args": {"name": name}}));
        for segment in &life.segments {
            let (name, at) = match segment.did {
                Did::Run => ("running".to_owned(), String::new()),
                Did::Ready => ("runnable".to_owned(), String::new()),
                Did::Queue => ("blocking pool".to_owned(), String::new()),
                Did::Wait(None, _) => ("waiting".to_owned(), String::new()),
                Did::Wait(Some(wait), _) => events.cause(Cause::of_wait(recording, wait)),
            };
            events.span(lane, &name, &at, segment.from, segment.to);
            if let Did::Wait(_, Ender::Waiter(by)) = segment.did {
                arrows += 1;
                events.arrow(arrows, by, waiter, segment.to);
            }
        }
    }
    events.text + "\n]}\n"
}

fn lane(waiter: Waiter) -> (u32, u64) {
    match waiter {
        Waiter::Task(id) => (TASKS, id & ((1 << 52) - 1)),
        Waiter::Thread(number) => (THREADS, number),
        Waiter::Process(pid) => (THREADS, pid.into()),
    }
}

struct Events<'a> {
    recording: &'a Recording,
    /// The time of the first event.
    first: u64,
    text: String,
}

impl<'a> Events<'a> {
    fn new(recording: &'a Recording) -> Self {
        Self {
            recording,
            first: recording.events.first().map_or(0, |event| event.at),
            text: "{\"traceEvents\":[".to_owned(),
        }
    }

    fn add(&mut self, event: Value) {
        let comma = if self.text.ends_with('[') { "" } else { "," };
        _ = write!(self.text, "{comma}\n{event}");
    }

    /// Returns microseconds since the first event.
    fn micros(&self, at: u64) -> f64 {
        at.saturating_sub(self.first) as f64 / 1e3
    }

    fn cause(&self, cause: Cause) -> (String, String) {
        let text = cause.text(self.recording);
        let name = if text.is_empty() {
            cause.category.name().to_owned()
        } else {
            text
        };
        let at = self.recording.location(cause.location).unwrap_or_default();
        (name, at.to_owned())
    }

    fn span(&mut self, (group, lane): (u32, u64), name: &str, at: &str, from: u64, to: u64) {
        let (begin, length) = (self.micros(from), (to - from) as f64 / 1e3);
        self.add(json!({
            "ph": "X", "name": name, "pid": group, "tid": lane, "ts": begin, "dur": length,
            "args": {"at": at},
        }));
    }

    fn arrow(&mut self, id: u64, from: Waiter, to: Waiter, at: u64) {
        let at = self.micros(at);
        for (phase, waiter) in [("s", from), ("f", to)] {
            let (group, lane) = lane(waiter);
            self.add(json!({
                "ph": phase, "id": id, "name": "wake", "cat": "wake", "bp": "e",
                "pid": group, "tid": lane, "ts": at,
            }));
        }
    }
}
