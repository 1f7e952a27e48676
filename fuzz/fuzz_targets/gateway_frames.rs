//! Frames of a hostile peer to a gateway: to an importer in the exporter's name, and to an exporter
//! in the importers' names. Nothing may panic or overflow, memory stays within its limits, the
//! importer never goes back, and a frame that was accepted is written again as it was.
//!
//! The files of the gateway are included, because the gateway itself depends on the whole engine.

#![no_main]

#[path = "../../gateway/src/sequence.rs"]
#[allow(dead_code)]
mod sequence;
#[path = "../../gateway/src/silence.rs"]
#[allow(dead_code)]
mod silence;
#[path = "../../gateway/src/window.rs"]
#[allow(dead_code)]
mod window;
#[path = "../../gateway/src/wire.rs"]
#[allow(dead_code)]
mod wire;

use std::time::Duration;

use sequence::{Tracker, Verdict};
use window::Window;
use wire::{Ack, Frame, Head, Items, LIMIT, Piece, Writer, parse};

/// The limits of the exporter's window.
const BYTES: usize = 1000;
const HOSTS: usize = 3;
/// The run and the first position of the exporter.
const RUN: u128 = 9;
const POSITION: u64 = 50;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = parse(data);
    let mut importer = Tracker::default();
    let mut exporter = Exporter::new();
    let mut input = data;
    while let Some((&[kind, len], rest)) = input.split_first_chunk() {
        let (body, rest) = rest.split_at(usize::from(len).min(rest.len()));
        input = rest;
        // Without its beginning, no input would get past the first check.
        let frame = [&b"blzg\x03"[..], &[kind % 7, 0, 0], body].concat();
        match parse(&frame) {
            Ok(Frame::Batch(head, items)) => {
                assert!(batch(&head, items) == frame);
                import(&mut importer, &head, items);
            }
            Ok(Frame::Piece(head, piece)) => {
                assert!(Writer::piece(&head, &piece) == frame);
                import_piece(&mut importer, &head, &piece);
            }
            Ok(Frame::Ack(ack)) => exporter.acknowledged(kind, &ack),
            _ => exporter.idles(),
        }
    }
});

fn batch(head: &Head, items: Items<'_>) -> Vec<u8> {
    let mut writer = Writer::batch(head);
    items.for_each(|item| writer.item(item));
    writer.finish()
}

fn import(importer: &mut Tracker, head: &Head, items: Items<'_>) {
    if !begin(importer, head) {
        return;
    }
    let (mut ordinal, mut position) = (head.ordinal, head.position);
    for item in items {
        position += u64::from(item.skip) + u64::from(item.lost);
        if !use_item(importer, ordinal, item.lost, position) {
            return;
        }
        ordinal += u64::from(item.lost) + 1;
        position += 1;
    }
}

fn import_piece(importer: &mut Tracker, head: &Head, piece: &Piece<'_>) {
    assert!(piece.offset < piece.total && piece.total < LIMIT);
    if begin(importer, head) {
        let position = head.position + u64::from(piece.skip) + u64::from(piece.lost);
        use_item(importer, head.ordinal, piece.lost, position);
    }
}

/// Takes the head of a frame. Returns whether the frame may be used.
fn begin(importer: &mut Tracker, head: &Head) -> bool {
    let before = (importer.known(), importer.counts().segments);
    let Ok(gap) = importer.frame(head) else {
        return false;
    };
    importer.passed(head, gap);
    if let (Some(old), Some(new)) = (before.0, importer.known()) {
        assert!(new.position >= old.position || importer.counts().segments > before.1);
    }
    true
}

/// Returns whether the next item of the frame may follow.
fn use_item(importer: &mut Tracker, ordinal: u64, lost: u32, position: u64) -> bool {
    let known = importer.known().map_or(0, |known| known.position);
    match importer.item(ordinal, lost, position) {
        Verdict::Next { gap } => {
            assert!(gap <= u64::from(lost) && position >= known);
            importer.gap_reported(gap, position);
            importer.delivered(ordinal, lost, position);
            true
        }
        Verdict::Repeat => {
            importer.repeated(ordinal, lost);
            true
        }
        Verdict::Early => false,
    }
}

/// An exporter that sends as much as it may.
struct Exporter(Window<u64>);

impl Exporter {
    fn new() -> Self {
        let mut exporter = Self(Window::new(RUN, POSITION, true, BYTES, HOSTS));
        exporter.0.expect("an earlier one");
        exporter
    }

    fn acknowledged(&mut self, host: u8, ack: &Ack) {
        // Both are random: else most acknowledgements would be of another run.
        let run = if ack.run % 2 == 0 { RUN } else { ack.run };
        let (before, round) = (self.0.base(), self.0.round());
        self.0.acknowledged(&host.to_string(), &Ack { run, ..*ack });
        if let Some(repeat) = self.0.repeat() {
            assert_eq!(repeat.frames.first(), Some(&repeat.first.0));
            assert_eq!(self.0.round(), round + 1);
        }
        assert!(self.0.base() >= before && self.0.base() <= self.0.next());
        assert!(self.0.remotes().len() <= HOSTS);
        for _ in 0..4 {
            self.send();
        }
    }

    fn send(&mut self) {
        if self.0.has_room() {
            let first = self.0.next();
            self.0.push(first, (first.0 + 1, first.1 + 1), first.0, 100);
        }
        assert!(self.0.bytes() < BYTES + 100);
    }

    fn idles(&mut self) {
        self.0
            .expire(Duration::from_millis(100), Duration::from_secs(1));
    }
}
