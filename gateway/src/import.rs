//! Delivers the messages of one remote host to a local route or channel.
//!
//! The task is a sender of the segment. While it waits for room in the ring it goes on to tell
//! the exporter that it is alive.

use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io::ipc::{Loan, SendError, Sender};
use blitz_io::select;
use blitz_io::time::{self, Interval};
use zenoh::Wait;
use zenoh::pubsub::Publisher;

use crate::config::{Import, Kind};
use crate::inbox::Inbox;
use crate::keys::Name;
use crate::record::{Entry, Record};
use crate::sequence::{Tracker, Verdict};
use crate::shared::{Direction, Row, Shared, TICK, is_due};
use crate::silence::{Silence, ticks};
use crate::wire::{Ack, Frame, Head, Items, Piece, Writer, origin, parse};

/// An acknowledgement is sent after so many bytes.
const ACK_EVERY: usize = 256 << 10;
/// Fewer bytes are acknowledged after this time: on the way of a single message to its receiver,
/// nothing else uses the processor.
const ACK_AFTER: Duration = Duration::from_millis(5);

/// The parts of an import.
pub struct Source {
    /// The name and layout.
    pub name: Name,
    /// The remote host.
    pub host: String,
    /// The rule that allows it.
    pub rule: Import,
    /// Its frames.
    pub inbox: Arc<Inbox>,
}

/// Imports into a route or channel until the host is lost or something fails. `silence` is that of
/// the host.
pub async fn import(shared: &Shared, source: &Source, silence: &mut Silence) -> Result<(), String> {
    let Source {
        name,
        host,
        rule,
        inbox,
    } = source;
    let mut builder = shared.builder(name);
    if let Some(capacity) = rule.capacity {
        builder = builder.capacity(capacity);
    }
    let mut sender = builder
        .sender(&name.name)
        .map_err(|error| error.to_string())?;
    let file = name.file(&format!("{host}.record"));
    let record = Record::open(&shared.state.join(file))
        .map_err(|error| format!("cannot open the record: {error}"))?;
    let known = record.recover(&sender).await;
    let publisher = shared.acknowledgements(name, host).await?;
    let mut row = Row::default();
    shared.row(Direction::Import, name, host, |shown| *shown = row.clone());
    let mut importer = Importer {
        origin: origin(host),
        link: Link {
            publisher,
            tick: ticks(TICK),
            tracker: Tracker::new(known),
            resend: false,
            silence,
        },
        record,
        recorded: Recorded::default(),
        is_route: name.kind == Kind::Route,
        segment: sender.segment_id(),
        partial: Partial::default(),
        bytes: 0,
        refused: 0,
    };
    let mut unacknowledged = 0;
    let mut since = Instant::now();
    let mut shown = Instant::now();
    loop {
        while let Some(frame) = inbox.pop() {
            let frame = frame.to_bytes();
            importer.link.silence.broken();
            if unacknowledged == 0 {
                since = Instant::now();
            }
            unacknowledged += frame.len();
            importer.frame(&mut sender, &frame).await?;
            if unacknowledged >= ACK_EVERY {
                unacknowledged = 0;
                importer.link.acknowledge();
            }
        }
        let left = ACK_AFTER.saturating_sub(since.elapsed());
        if unacknowledged > 0
            && !importer.link.resend
            && !left.is_zero()
            && time::timeout(left, inbox.arrived()).await.is_ok()
        {
            continue;
        }
        importer.link.acknowledge();
        unacknowledged = 0;
        if is_due(&mut shown, TICK) {
            let counts = importer.link.tracker.counts();
            let (waiting, dropped) = inbox.state();
            row = Row {
                messages: counts.received,
                bytes: importer.bytes,
                gaps: counts.missing,
                repeats: counts.repeats,
                refused: importer.refused + dropped,
                lag: waiting as u64,
                error: String::new(),
            };
            shared.row(Direction::Import, name, host, |shown| *shown = row.clone());
        }
        select! {
            biased;
            () = inbox.arrived() => {}
            _ = importer.link.tick.tick() => {
                importer.link.silence.lasts(TICK);
                if importer.link.silence.reaches(shared.limits.lost_after()) {
                    return Ok(());
                }
            }
        }
    }
}

/// The way back to the exporter.
struct Link<'a> {
    publisher: Publisher<'a>,
    tick: Interval,
    tracker: Tracker,
    resend: bool,
    silence: &'a mut Silence,
}

impl Link<'_> {
    fn acknowledge(&mut self) {
        let (run, expected) = self.tracker.expected();
        let counts = self.tracker.counts();
        let ack = Ack {
            epoch: self.tracker.known().map_or(0, |known| known.epoch),
            run: run.unwrap_or(0),
            expected,
            received: counts.received,
            missing: counts.missing,
            resend: std::mem::take(&mut self.resend),
        };
        // The next one says the same and more.
        _ = self.publisher.put(Writer::ack(&ack)).wait();
    }

    /// Claims a place of the ring, and shows the exporter signs of life until there is one.
    async fn claim<'s>(
        &mut self,
        sender: &'s mut Sender,
        len: usize,
    ) -> Result<Loan<'s>, SendError> {
        let mut claim = std::pin::pin!(sender.loan_async(len));
        loop {
            select! {
                biased;
                loan = &mut claim => return loan,
                _ = self.tick.tick() => {
                    // Nothing looks into the inbox while this waits.
                    self.silence.broken();
                    self.acknowledge();
                }
            }
        }
    }
}

/// A message of which pieces have arrived.
#[derive(Default)]
struct Partial {
    run: u64,
    ordinal: u64,
    total: u64,
    /// Keeps its memory for the next message: new memory costs a page fault for each page.
    bytes: Vec<u8>,
}

impl Partial {
    /// Begins a message of `total` bytes, which is at most `max_len` of the segment.
    fn begin(&mut self, head: &Head, total: u64) {
        (self.run, self.ordinal, self.total) = (head.run, head.ordinal, total);
        self.bytes.clear();
        // Touched only as pieces arrive.
        self.bytes.reserve_exact(total as usize);
    }
}

/// The next messages, of which the record tells already: see `record.rs`.
#[derive(Default)]
struct Recorded {
    /// How many.
    left: u64,
    /// The position of the first in the local segment.
    ring: u64,
}

struct Importer<'a> {
    origin: u64,
    link: Link<'a>,
    record: Record,
    recorded: Recorded,
    /// Whether this is the only sender of the segment.
    is_route: bool,
    segment: u64,
    partial: Partial,
    bytes: u64,
    refused: u64,
}

impl Importer<'_> {
    async fn frame(&mut self, sender: &mut Sender, frame: &[u8]) -> Result<(), String> {
        let (head, content) = match parse(frame) {
            Ok(Frame::Batch(head, items)) => (head, Content::Batch(items)),
            Ok(Frame::Piece(head, piece)) => (head, Content::Piece(piece)),
            _ => {
                self.refused += 1;
                return Ok(());
            }
        };
        if head.origin != self.origin || content.is_too_long(sender.max_len()) {
            self.refused += 1;
            return Ok(());
        }
        let new = self.link.tracker.known().is_none();
        let Ok(gap) = self.link.tracker.frame(&head) else {
            self.refused += 1;
            return Ok(());
        };
        if gap > 0 {
            self.report(sender, gap, head.epoch, head.base_position)
                .await?;
        }
        self.link.tracker.passed(&head, gap);
        if new {
            let entry = Entry {
                segment: self.segment,
                epoch: head.epoch,
                before: head.position,
                after: head.position,
                ring: 0,
                count: 0,
            };
            self.store(&entry)?;
        }
        match content {
            Content::Batch(items) => self.batch(sender, &head, items).await,
            Content::Piece(piece) => self.piece(sender, &head, &piece).await,
        }
    }

    async fn batch(
        &mut self,
        sender: &mut Sender,
        head: &Head,
        items: Items<'_>,
    ) -> Result<(), String> {
        let (mut ordinal, mut position) = (head.ordinal, head.position);
        if ordinal > self.link.tracker.expected().1 {
            self.link.resend = true;
        }
        let mut items = items;
        self.recorded.left = 0;
        while let Some(item) = items.next() {
            position += u64::from(item.skip) + u64::from(item.lost);
            if !self
                .item(
                    sender,
                    head.epoch,
                    (ordinal, item.lost, position),
                    item.bytes,
                    items,
                )
                .await?
            {
                break;
            }
            ordinal += u64::from(item.lost) + 1;
            position += 1;
        }
        Ok(())
    }

    async fn piece(
        &mut self,
        sender: &mut Sender,
        head: &Head,
        piece: &Piece<'_>,
    ) -> Result<(), String> {
        let position = head.position + u64::from(piece.skip) + u64::from(piece.lost);
        let place = (head.ordinal, piece.lost, position);
        let verdict = self.link.tracker.item(head.ordinal, piece.lost, position);
        let known = (head.run, head.ordinal, piece.total)
            == (self.partial.run, self.partial.ordinal, self.partial.total);
        let there = self.partial.bytes.len() as u64;
        if known && piece.offset < there {
            // The exporter sends the whole message again, and this piece is there. What is there
            // stays, so each repeat brings the message forward, however small the inbox is.
            return Ok(());
        }
        if piece.offset == 0 {
            self.partial.begin(head, piece.total);
        } else if !known || piece.offset != there {
            // Of a repeat, or one is missing.
            self.link.resend |= verdict != Verdict::Repeat;
            return Ok(());
        }
        if verdict == Verdict::Early {
            self.link.resend = true;
            return Ok(());
        }
        self.partial.bytes.extend_from_slice(piece.bytes);
        if self.partial.bytes.len() as u64 == piece.total {
            let mut bytes = std::mem::take(&mut self.partial.bytes);
            self.recorded.left = 0;
            self.item(sender, head.epoch, place, &bytes, Items::default())
                .await?;
            bytes.clear();
            self.partial.bytes = bytes;
        }
        Ok(())
    }

    /// Delivers a message, if it is the next. Returns `false` if it is early. `behind` are the items
    /// behind it in its frame.
    async fn item(
        &mut self,
        sender: &mut Sender,
        epoch: u64,
        (ordinal, lost, position): (u64, u32, u64),
        bytes: &[u8],
        behind: Items<'_>,
    ) -> Result<bool, String> {
        let gap = match self.link.tracker.item(ordinal, lost, position) {
            Verdict::Next { gap } => gap,
            Verdict::Repeat => {
                self.link.tracker.repeated(ordinal, lost);
                return Ok(true);
            }
            Verdict::Early => {
                self.link.resend = true;
                return Ok(false);
            }
        };
        if gap > 0 {
            self.report(sender, gap, epoch, position).await?;
            self.link.tracker.gap_reported(gap, position);
        }
        let mut loan = self
            .link
            .claim(sender, bytes.len())
            .await
            .map_err(|error| error.to_string())?;
        let ring = loan.position();
        if self.recorded.left > 0 && self.recorded.ring == ring {
            self.recorded.left -= 1;
        } else {
            let known = self.link.tracker.known();
            let following = if self.is_route {
                behind.consecutive()
            } else {
                0
            };
            let entry = Entry {
                segment: self.segment,
                epoch,
                before: known.map_or(position, |known| known.position),
                after: position + 1,
                ring,
                count: 1 + following,
            };
            self.store(&entry)?;
            self.recorded.left = following;
        }
        self.recorded.ring = ring + 1;
        loan.copy_from_slice(bytes);
        loan.send_imported().map_err(|error| error.to_string())?;
        self.bytes += bytes.len() as u64;
        self.link.tracker.delivered(ordinal, lost, position);
        Ok(true)
    }

    /// Tells the local receivers that messages are missing, before the one at `position`.
    async fn report(
        &mut self,
        sender: &mut Sender,
        gap: u64,
        epoch: u64,
        position: u64,
    ) -> Result<(), String> {
        let loan = self
            .link
            .claim(sender, 0)
            .await
            .map_err(|error| error.to_string())?;
        let before = self
            .link
            .tracker
            .known()
            .filter(|known| known.epoch == epoch)
            .map_or(0, |known| known.position);
        let entry = Entry {
            segment: self.segment,
            epoch,
            before,
            after: position,
            ring: loan.position(),
            count: 1,
        };
        self.store(&entry)?;
        loan.send_gap(gap).map_err(|error| error.to_string())
    }

    fn store(&self, entry: &Entry) -> Result<(), String> {
        self.record
            .store(entry)
            .map_err(|error| format!("cannot write the record: {error}"))
    }
}

enum Content<'a> {
    Batch(Items<'a>),
    Piece(Piece<'a>),
}

impl Content<'_> {
    /// Whether a message does not fit into the segment.
    fn is_too_long(&self, max_len: usize) -> bool {
        match self {
            Self::Batch(items) => items.into_iter().any(|item| item.bytes.len() > max_len),
            Self::Piece(piece) => piece.total > max_len as u64,
        }
    }
}
