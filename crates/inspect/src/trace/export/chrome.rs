//! The recording in the format of Chrome's `about:tracing`, which Perfetto reads, too.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::timeline::{Draw, Group, Lane, Span, draw};
use crate::trace::recording::Recording;

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
    let mut events = Events {
        first: recording.events.first().map_or(0, |event| event.at),
        arrows: 0,
        text: "{\"traceEvents\":[".to_owned(),
    };
    for group in Group::ALL {
        events.add(json!({
            "ph": "M", "name": "process_name", "pid": group as u32, "args": {"name": group.name()},
        }));
    }
    draw(recording, &mut events);
    events.text + "\n]}\n"
}

struct Events {
    /// The time of the first event.
    first: u64,
    arrows: u64,
    text: String,
}

impl Events {
    fn add(&mut self, event: Value) {
        let comma = if self.text.ends_with('[') { "" } else { "," };
        _ = write!(self.text, "{comma}\n{event}");
    }

    /// Returns microseconds since the first event.
    fn micros(&self, at: u64) -> f64 {
        at.saturating_sub(self.first) as f64 / 1e3
    }
}

impl Draw for Events {
    fn lane(&mut self, lane: Lane, name: &str) {
        let (group, number) = (lane.group as u32, lane.number);
        self.add(json!({
            "ph": "M", "name": "thread_name", "pid": group, "tid": number, "args": {"name": name},
        }));
    }

    fn span(&mut self, span: &Span<'_>) {
        let (begin, length) = (self.micros(span.from), (span.to - span.from) as f64 / 1e3);
        self.add(json!({
            "ph": "X", "name": span.name, "pid": span.lane.group as u32, "tid": span.lane.number,
            "ts": begin, "dur": length, "args": {"at": span.at},
        }));
    }

    fn arrow(&mut self, from: Lane, to: Lane, at: u64) {
        self.arrows += 1;
        let at = self.micros(at);
        for (phase, lane) in [("s", from), ("f", to)] {
            self.add(json!({
                "ph": phase, "id": self.arrows, "name": "wake", "cat": "wake", "bp": "e",
                "pid": lane.group as u32, "tid": lane.number, "ts": at,
            }));
        }
    }
}
