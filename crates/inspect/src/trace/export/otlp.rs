//! Requests as spans of OpenTelemetry, in the JSON of its protocol.

use serde_json::{Value, json};

use crate::trace::lives::{Lives, Request};
use crate::trace::names::who;
use crate::trace::recording::Recording;
use crate::trace::split::{Piece, Splitter};

/// The kinds of spans.
const INTERNAL: u32 = 1;
const SERVER: u32 = 2;

/// Returns each request of the recording as a span of OpenTelemetry, with a span in it for each of its waits: the JSON
/// that collectors take at `/v1/traces`, and from files.
///
/// A span of a wait has the attributes `blitz.category`, `blitz.behind`, `code.file.path` and `code.line.number`.
///
/// ```
/// use blitz_io_inspect::trace::{Recording, otlp};
///
/// let empty = Recording::parse(b"{\"format\":1}")?;
/// assert!(otlp(&empty).starts_with("{\"resourceSpans\":"));
/// # Ok::<(), blitz_io_inspect::trace::ParseError>(())
/// ```
#[must_use]
pub fn otlp(recording: &Recording) -> String {
    let lives = Lives::new(recording);
    let splitter = Splitter::new(recording, &lives);
    let mut writer = Writer {
        recording,
        lives: &lives,
        spans: vec![],
    };
    for request in &lives.requests {
        writer.request(request, &splitter.request(request));
    }
    let program = recording.command.split_whitespace().next().unwrap_or("");
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let value = json!({"resourceSpans": [{
        "resource": {"attributes": [
            attribute("service.name", text(name)),
            attribute("process.pid", number(recording.pid.into())),
        ]},
        "scopeSpans": [{
            "scope": {"name": "blitz-io", "version": env!("CARGO_PKG_VERSION")},
            "spans": writer.spans,
        }],
    }]});
    format!("{value}\n")
}

struct Writer<'a> {
    recording: &'a Recording,
    lives: &'a Lives,
    spans: Vec<Value>,
}

impl Writer<'_> {
    fn request(&mut self, request: &Request, pieces: &[Piece]) {
        // Two processes, or two runs of one, have other numbers.
        let process = self.recording.unix(0) ^ u64::from(self.recording.pid) << 32;
        let trace = format!("{:016x}{:016x}", process | 1, request.id);
        let id = format!("{:016x}", self.spans.len() + 1);
        let name = self.recording.name(request.name);
        let by = who(self.recording, self.lives, request.waiter);
        self.spans.push(json!({
            "traceId": trace, "spanId": id, "name": name, "kind": SERVER,
            "startTimeUnixNano": self.time(request.from), "endTimeUnixNano": self.time(request.to),
            "attributes": [attribute("blitz.task", text(&by))],
        }));
        let waits = pieces.iter();
        for piece in waits.filter(|piece| !piece.cause.category.is_running()) {
            let own = format!("{:016x}", self.spans.len() + 1);
            let mut span = self.wait(piece);
            span["traceId"] = trace.clone().into();
            span["spanId"] = own.into();
            span["parentSpanId"] = id.clone().into();
            self.spans.push(span);
        }
    }

    fn wait(&self, piece: &Piece) -> Value {
        let recording = self.recording;
        let cause = &piece.cause;
        let category = cause.category.name();
        let name = match cause.text(recording) {
            what if what.is_empty() => category.to_owned(),
            what => format!("{category} {what}"),
        };
        let mut attributes = vec![attribute("blitz.category", text(category))];
        if let Some(by) = piece.behind {
            let by = who(recording, self.lives, by);
            attributes.push(attribute("blitz.behind", text(&by)));
        }
        if let Some(at) = recording.location(cause.location) {
            let (file, line) = at.rsplit_once(':').unwrap_or((at, ""));
            attributes.push(attribute("code.file.path", text(file)));
            if let Ok(line) = line.parse() {
                attributes.push(attribute("code.line.number", number(line)));
            }
        }
        json!({
            "name": name, "kind": INTERNAL, "attributes": attributes,
            "startTimeUnixNano": self.time(piece.from), "endTimeUnixNano": self.time(piece.to),
        })
    }

    /// Integers of 64 bits are strings in this JSON.
    fn time(&self, at: u64) -> String {
        self.recording.unix(at).to_string()
    }
}

fn attribute(key: &str, value: Value) -> Value {
    json!({"key": key, "value": value})
}

fn text(text: &str) -> Value {
    json!({"stringValue": text})
}

fn number(number: u64) -> Value {
    json!({"intValue": number.to_string()})
}
