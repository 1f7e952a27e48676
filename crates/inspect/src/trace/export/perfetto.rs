//! The recording as a trace of Perfetto (`.pftrace`), which is smaller than Chrome's format and has no limit of its own.
//!
//! The numbers are those of the fields in Perfetto's `trace_packet.proto`, `track_descriptor.proto` and
//! `track_event.proto`.

use std::collections::HashSet;

use super::proto::Message;
use super::timeline::{Draw, Group, Lane, Span, draw};
use crate::trace::recording::Recording;

/// The one sequence of packets.
const SEQUENCE: u64 = 1;

/// Fields of a packet.
mod packet {
    pub(super) const TIMESTAMP: u64 = 8;
    pub(super) const SEQUENCE: u64 = 10;
    pub(super) const TRACK_EVENT: u64 = 11;
    pub(super) const TRACK_DESCRIPTOR: u64 = 60;
}

/// Fields of the descriptor of a track.
mod track {
    pub(super) const UUID: u64 = 1;
    pub(super) const NAME: u64 = 2;
    pub(super) const PARENT: u64 = 5;
}

/// Fields of an event, and its types.
mod event {
    pub(super) const DEBUG_ANNOTATION: u64 = 4;
    pub(super) const TYPE: u64 = 9;
    pub(super) const TRACK: u64 = 11;
    pub(super) const NAME: u64 = 23;
    pub(super) const FLOW: u64 = 47;
    pub(super) const END_OF_FLOW: u64 = 48;

    pub(super) const BEGIN: u64 = 1;
    pub(super) const END: u64 = 2;
    pub(super) const INSTANT: u64 = 3;
}

/// Fields of an annotation.
mod annotation {
    pub(super) const TEXT: u64 = 6;
    pub(super) const NAME: u64 = 10;
}

/// Returns the recording as a trace of Perfetto.
///
/// ```
/// use blitz_io_inspect::trace::{Recording, perfetto};
///
/// let empty = Recording::parse(b"{\"format\":1}")?;
/// // The three groups of tracks.
/// assert!(perfetto(&empty).starts_with(b"\x0a"));
/// # Ok::<(), blitz_io_inspect::trace::ParseError>(())
/// ```
#[must_use]
pub fn perfetto(recording: &Recording) -> Vec<u8> {
    let mut trace = Trace::default();
    for group in Group::ALL {
        let mut descriptor = Message::default();
        descriptor
            .number(track::UUID, group as u64)
            .text(track::NAME, group.name());
        trace.descriptor(&descriptor);
    }
    draw(recording, &mut trace);
    trace.message.0
}

#[derive(Default)]
struct Trace {
    message: Message,
    flows: u64,
    lanes: HashSet<Lane>,
}

impl Trace {
    fn packet(&mut self, packet: &mut Message) {
        packet.number(packet::SEQUENCE, SEQUENCE);
        self.message.message(1, packet);
    }

    fn descriptor(&mut self, descriptor: &Message) {
        let mut packet = Message::default();
        packet.message(packet::TRACK_DESCRIPTOR, descriptor);
        self.packet(&mut packet);
    }

    fn event(&mut self, at: u64, event: &Message) {
        let mut packet = Message::default();
        packet
            .number(packet::TIMESTAMP, at)
            .message(packet::TRACK_EVENT, event);
        self.packet(&mut packet);
    }
}

/// Returns the number of the track. Those of the groups are smaller.
fn uuid(lane: Lane) -> u64 {
    (lane.number << 2 | lane.group as u64) << 2
}

fn event_of(lane: Lane, kind: u64) -> Message {
    let mut event = Message::default();
    event
        .number(event::TYPE, kind)
        .number(event::TRACK, uuid(lane));
    event
}

impl Draw for Trace {
    fn lane(&mut self, lane: Lane, name: &str) {
        if !self.lanes.insert(lane) {
            return;
        }
        let mut descriptor = Message::default();
        descriptor
            .number(track::UUID, uuid(lane))
            .text(track::NAME, name)
            .number(track::PARENT, lane.group as u64);
        self.descriptor(&descriptor);
    }

    fn span(&mut self, span: &Span<'_>) {
        let mut begin = event_of(span.lane, event::BEGIN);
        begin.text(event::NAME, span.name);
        if !span.at.is_empty() {
            let mut annotation = Message::default();
            annotation
                .text(annotation::NAME, "at")
                .text(annotation::TEXT, span.at);
            begin.message(event::DEBUG_ANNOTATION, &annotation);
        }
        self.event(span.from, &begin);
        self.event(span.to, &event_of(span.lane, event::END));
    }

    fn arrow(&mut self, from: Lane, to: Lane, at: u64) {
        self.flows += 1;
        for (lane, field) in [(from, event::FLOW), (to, event::END_OF_FLOW)] {
            let mut instant = event_of(lane, event::INSTANT);
            instant.text(event::NAME, "wake").fixed(field, self.flows);
            self.event(at, &instant);
        }
    }
}
