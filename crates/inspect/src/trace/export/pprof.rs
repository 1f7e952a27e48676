//! The waits of requests as a profile of pprof, for `go tool pprof` and those that read its format.
//!
//! The numbers are those of the fields in pprof's `profile.proto`.

use std::collections::HashMap;

use super::proto::Message;
use super::stacks::{Frame, stacks};
use crate::trace::recording::Recording;

/// Fields of the profile.
const SAMPLE_TYPE: u64 = 1;
const SAMPLE: u64 = 2;
const LOCATION: u64 = 4;
const FUNCTION: u64 = 5;
const STRING_TABLE: u64 = 6;
const TIME_NANOS: u64 = 9;
const DURATION_NANOS: u64 = 10;

/// Returns what requests waited for as a profile of pprof, with the number of waits and their nanoseconds. The time
/// in which requests ran is not part of it.
///
/// ```
/// use blitz_io_inspect::trace::{Recording, pprof};
///
/// let empty = Recording::parse(b"{\"format\":1}")?;
/// assert!(!pprof(&empty).is_empty());
/// # Ok::<(), blitz_io_inspect::trace::ParseError>(())
/// ```
#[must_use]
pub fn pprof(recording: &Recording) -> Vec<u8> {
    let mut profile = Message::default();
    let mut strings = Strings::default();
    // The first string is empty.
    strings.place("");
    for (kind, unit) in [("waits", "count"), ("delay", "nanoseconds")] {
        let mut value_type = Message::default();
        value_type
            .number(1, strings.place(kind))
            .number(2, strings.place(unit));
        profile.message(SAMPLE_TYPE, &value_type);
    }
    let mut locations: HashMap<Frame, u64> = HashMap::new();
    for (mut stack, sum) in stacks(recording) {
        // A profile has the innermost frame first.
        stack.reverse();
        let mut places = vec![];
        for frame in stack {
            let known = locations.len() as u64;
            let id = *locations.entry(frame).or_insert_with_key(|frame| {
                location(known + 1, frame, &mut strings, &mut profile);
                known + 1
            });
            places.push(id);
        }
        let mut sample = Message::default();
        sample
            .numbers(1, &places)
            .numbers(2, &[sum.count, sum.nanos]);
        profile.message(SAMPLE, &sample);
    }
    for text in &strings.all {
        profile.text(STRING_TABLE, text);
    }
    let first = recording.events.first().map_or(0, |event| event.at);
    profile
        .number(TIME_NANOS, recording.unix(first))
        .number(DURATION_NANOS, recording.duration());
    profile.0
}

/// Writes a location and its function, which have the same number.
fn location(id: u64, frame: &Frame, strings: &mut Strings, profile: &mut Message) {
    let (file, number) = frame.at.rsplit_once(':').unwrap_or((&frame.at, ""));
    let number = number.parse().unwrap_or(0);
    let mut function = Message::default();
    function
        .number(1, id)
        .number(2, strings.place(&frame.name))
        .number(4, strings.place(file));
    let (mut line, mut location) = (Message::default(), Message::default());
    line.number(1, id).number(2, number);
    location.number(1, id).message(4, &line);
    profile
        .message(FUNCTION, &function)
        .message(LOCATION, &location);
}

#[derive(Default)]
struct Strings {
    places: HashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn place(&mut self, text: &str) -> u64 {
        let all = &mut self.all;
        *self.places.entry(text.to_owned()).or_insert_with(|| {
            all.push(text.to_owned());
            all.len() as u64 - 1
        })
    }
}
