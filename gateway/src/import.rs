//! Delivers the messages of one remote host to a local route or channel.
//!
//! The task is a sender of the segment. While it waits for room in the ring, it still sends
//! the exporter signs of life. It does the same while it cannot write its record, for example because
//! the disk is full. Without a record, messages could come twice or be lost in silence. So the task
//! delivers none, and the exporter keeps them or counts them as missing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::ipc::{Loan, Sender};
use blitz_io::select;
use blitz_io::time::{self, Instant, Interval};
use zenoh::bytes::ZBytes;

use crate::config::{Import, Kind};
use crate::content::{Content, Message};
use crate::contradiction::Contradiction;
use crate::engine::Publisher;
use crate::error::Error;
use crate::inbox::Inbox;
use crate::keys::Name;
use crate::parts::Parts;
use crate::record::{ENDING, Entry, Record};
use crate::runs::{self, follows};
use crate::sequence::{Tracker, Verdict};
use crate::shared::{Direction, Row, Shared, TICK, is_due};
use crate::silence::{Silence, ticks};
use crate::wire::{Ack, Frame, Head, Items, Piece, Writer, origin, parse};

/// Less than half of a window is acknowledged after this time: on the way of a single message to its
/// receiver, nothing else uses the processor. An exporter whose window is half of this host's or less waits
/// so long for each acknowledgement.
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
pub async fn import(shared: &Shared, source: &Source, silence: &mut Silence) -> Result<(), Error> {
    let Source {
        name,
        host,
        rule,
        inbox: _,
    } = source;
    let mut sender = shared.imported(name, rule).sender(&name.name)?;
    let path = shared.state.join(name.file(&format!("{host}{ENDING}")));
    let mut link = Link::new(shared, source, silence).await?;
    let record = loop {
        let settled = shared.settle(name, &sender).await;
        match settled.and_then(|()| Record::open(&path)) {
            Ok(record) => break record,
            Err(error) => link.hold(&error).await,
        }
    };
    link.tracker = Tracker::new(record.recover(&sender).await);
    let mut importer = Importer {
        origin: origin(host),
        max_len: sender.max_len(),
        link,
        path,
        record,
        recorded: Recorded::default(),
        is_route: name.kind == Kind::Route,
        segment: sender.segment_id(),
        memory: Vec::new(),
    };
    importer.link.show();
    let mut left_over = None;
    while let Some(frame) = importer.link.next_of(left_over.take()).await {
        left_over = importer.frame(&mut sender, &Parts::of(&frame)).await?;
    }
    if importer.link.is_contradicted() {
        // The exporter is alive, and the record of it is wrong: the next attempt starts without one.
        importer.store(&Entry::default()).await;
    }
    Ok(())
}

/// The frames from the exporter, and the way back to it.
struct Link<'a> {
    shared: &'a Shared,
    source: &'a Source,
    publisher: Publisher,
    /// The number of this run: see `runs.rs`.
    run: u128,
    tick: Interval,
    tracker: Tracker,
    resend: bool,
    /// The last acknowledgement.
    sent: Ack,
    /// The bytes of the frames since the last acknowledgement.
    unacknowledged: usize,
    /// The time at which the first of these frames came.
    since: Instant,
    silence: &'a mut Silence,
    contradiction: Contradiction,
    /// The last run of another gateway with the exporter's name, and the time of its last frame.
    other: Option<(u128, Instant)>,
    bytes: u64,
    refused: u64,
    shown: Instant,
}

impl<'a> Link<'a> {
    async fn new(
        shared: &'a Shared,
        source: &'a Source,
        silence: &'a mut Silence,
    ) -> Result<Self, Error> {
        let (name, host) = (&source.name, &source.host);
        let run = runs::begin(&shared.state.join(name.file(&format!("{host}.run"))))
            .map_err(Error::system("cannot make the number of the run"))?;
        Ok(Self {
            shared,
            source,
            publisher: shared.acknowledgements(name, host).await?,
            run,
            tick: ticks(TICK),
            tracker: Tracker::default(),
            resend: false,
            sent: Ack::default(),
            unacknowledged: 0,
            since: Instant::now(),
            silence,
            contradiction: Contradiction::default(),
            other: None,
            bytes: 0,
            refused: 0,
            shown: Instant::now(),
        })
    }

    /// Returns the frame that was left over, if there is one, or the next. Returns `None` if the host
    /// is lost.
    async fn next_of(&mut self, left_over: Option<ZBytes>) -> Option<ZBytes> {
        match left_over {
            None => self.next().await,
            frame => frame,
        }
    }

    /// Waits for the next frame, and acknowledges those before it. Returns `None` if the host is lost.
    async fn next(&mut self) -> Option<ZBytes> {
        if self.unacknowledged >= self.shared.limits.window_bytes / 2 {
            self.acknowledge_news();
        }
        loop {
            if let Some(frame) = self.source.inbox.pop() {
                if self.unacknowledged == 0 {
                    self.since = Instant::now();
                }
                self.unacknowledged += frame.len();
                return Some(frame);
            }
            let left = ACK_AFTER.saturating_sub(self.since.elapsed());
            if self.unacknowledged > 0
                && !self.resend
                && !left.is_zero()
                && time::timeout(left, self.source.inbox.arrived())
                    .await
                    .is_ok()
            {
                continue;
            }
            self.acknowledge_news();
            if is_due(&mut self.shown, TICK) {
                self.show();
            }
            select! {
                biased;
                () = self.source.inbox.arrived() => {}
                _ = self.tick.tick() => {
                    self.acknowledge();
                    self.silence.lasts(TICK);
                    self.contradiction.lasts(TICK);
                    if self.silence.reaches(self.shared.limits.lost_after()) {
                        return None;
                    }
                }
            }
        }
    }

    /// Shows the counters in the status.
    fn show(&self) {
        let counts = self.tracker.counts();
        let (waiting, dropped) = self.source.inbox.state();
        let row = Row {
            messages: counts.received,
            bytes: self.bytes,
            gaps: counts.missing,
            repeats: counts.repeats,
            refused: self.refused + dropped,
            lag: waiting as u64,
            error: self.trouble().to_owned(),
        };
        let (name, host) = (&self.source.name, &self.source.host);
        self.shared
            .row(Direction::Import, name, host, |shown| *shown = row);
    }

    /// Returns the fault in the frames that arrive, or an empty string.
    fn trouble(&self) -> &'static str {
        let lost_after = self.shared.limits.lost_after();
        match self.other {
            _ if self.is_contradicted() => {
                "its frames contradict each other: one of them was forged"
            }
            Some((_, since)) if since.elapsed() < lost_after => {
                "another gateway has this name too: its frames are refused"
            }
            _ => "",
        }
    }

    /// Notes a frame of the run. `fits` is `false` if the frame contradicts earlier ones. Only frames
    /// that fit are signs of life, so the import begins again if none of them does.
    fn heard(&mut self, fits: bool) {
        if fits {
            self.watch_again();
        } else {
            self.contradiction.seen();
        }
    }

    /// Begins to watch the exporter anew: a frame of it fits, or nothing looked into the inbox.
    fn watch_again(&mut self) {
        self.silence.broken();
        self.contradiction.over();
    }

    /// Returns `true` if frames of the exporter contradict each other: one of them is forged.
    fn is_contradicted(&self) -> bool {
        self.contradiction.is_shown(self.shared.limits.lost_after())
    }

    /// Returns `true` if `run` is the known run, or may be a later run of the same gateway.
    fn follows(&mut self, run: u128) -> bool {
        let Some(known) = self.tracker.expected().0.filter(|&known| known != run) else {
            return true;
        };
        if self.other.is_some_and(|(other, _)| other == run) || !follows(known, run) {
            // Late frames of an earlier run are no sign of another gateway.
            if !follows(run, known) {
                self.other = Some((run, Instant::now()));
            }
            return false;
        }
        true
    }

    /// Returns the acknowledgement of the current state.
    fn state(&self) -> Ack {
        let (run, expected) = self.tracker.expected();
        let counts = self.tracker.counts();
        Ack {
            epoch: self.tracker.known().map_or(0, |known| known.epoch),
            run: run.unwrap_or(0),
            source: self.run,
            round: self.tracker.round(),
            expected,
            received: counts.received,
            missing: counts.missing,
            resend: self.resend,
        }
    }

    /// Sends an acknowledgement if the state has changed. A piece inside a message does not change it.
    fn acknowledge_news(&mut self) {
        let state = self.state();
        if state.resend || state != self.sent {
            self.acknowledge();
        }
    }

    fn acknowledge(&mut self) {
        self.unacknowledged = 0;
        let ack = self.state();
        self.resend = false;
        self.sent = Ack {
            resend: false,
            ..ack
        };
        // Errors are ignored: the next acknowledgement supersedes this one.
        self.publisher.put(Writer::ack(&ack));
    }

    /// Shows why the record cannot be written, and gives the exporter a sign of life. Returns when it is
    /// time to try again.
    async fn hold(&mut self, error: &std::io::Error) {
        let (name, host) = (&self.source.name, &self.source.host);
        self.shared.row(Direction::Import, name, host, |row| {
            row.error = format!("cannot write the record: {error}");
        });
        self.tick.tick().await;
        // Nothing looks into the inbox while this waits.
        self.watch_again();
        self.acknowledge();
    }

    /// Claims a place of the ring, and sends the exporter signs of life until it has one.
    async fn claim<'s>(&mut self, sender: &'s mut Sender, len: usize) -> Result<Loan<'s>, Error> {
        let mut claim = std::pin::pin!(sender.loan_async(len));
        let (shared, source) = (self.shared, self.source);
        let mut wait = None;
        loop {
            select! {
                biased;
                loan = &mut claim => return Ok(loan?),
                _ = self.tick.tick() => {
                    wait.get_or_insert_with(|| shared.waits_for_room(&source.name, &source.host))
                        .lasts(TICK);
                    // Nothing looks into the inbox while this waits.
                    self.watch_again();
                    self.acknowledge();
                }
            }
        }
    }
}

/// The next messages, which the record already covers: see `record.rs`.
#[derive(Default)]
struct Recorded {
    /// The number of these messages.
    left: u64,
    /// The position of the first in the local segment.
    ring: u64,
}

struct Importer<'a> {
    origin: u64,
    max_len: usize,
    link: Link<'a>,
    /// The file of the record.
    path: PathBuf,
    record: Record,
    recorded: Recorded,
    /// The segment is a route, so this is its only sender.
    is_route: bool,
    segment: u64,
    /// The buffer for the pieces of a message to a channel. It is kept for the next message: new memory
    /// costs a page fault for each page.
    memory: Vec<u8>,
}

/// A message of the exporter.
#[derive(Clone, Copy)]
struct Place {
    epoch: u64,
    /// The ordinal of the first of the messages lost before it.
    ordinal: u64,
    /// The number of messages lost before it.
    lost: u32,
    position: u64,
}

impl Importer<'_> {
    /// Returns the content of a frame, or `None` if this importer cannot use the frame.
    fn accept<'f>(&mut self, frame: &'f Parts<'_>) -> Option<(Head, Content<'f>)> {
        let parsed = match parse(frame.first()) {
            Ok(Frame::Batch(head, items)) => Some((head, Content::Batch(items))),
            Ok(Frame::Piece(head, piece)) => Some((head, Content::Piece(piece))),
            _ => None,
        };
        let accepted = parsed.filter(|(head, content)| {
            head.origin == self.origin
                && content.fits(frame.rest_len(), self.max_len)
                && self.link.follows(head.run)
        });
        self.link.refused += u64::from(accepted.is_none());
        accepted
    }

    /// Uses a frame. Returns another one if it was taken from the inbox and comes next.
    async fn frame(
        &mut self,
        sender: &mut Sender,
        frame: &Parts<'_>,
    ) -> Result<Option<ZBytes>, Error> {
        let Some((head, content)) = self.accept(frame) else {
            return Ok(None);
        };
        let new = self.link.tracker.known().is_none();
        let segments = self.link.tracker.counts().segments;
        let Ok(gap) = self.link.tracker.frame(&head) else {
            self.link.refused += 1;
            return Ok(None);
        };
        if self.link.tracker.counts().segments != segments {
            self.report_new_segment(sender).await?;
        }
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
            self.store(&entry).await;
        }
        match content {
            Content::Batch(items) => self.batch(sender, &head, items).await.map(|()| None),
            Content::Piece(piece) => self.piece(sender, &head, &piece, frame).await,
        }
    }

    async fn batch(
        &mut self,
        sender: &mut Sender,
        head: &Head,
        mut items: Items<'_>,
    ) -> Result<(), Error> {
        let (mut ordinal, mut position) = (head.ordinal, head.position);
        let mut fits = true;
        if ordinal > self.link.tracker.expected().1 {
            self.link.resend = true;
        }
        self.recorded.left = 0;
        while let Some(item) = items.next() {
            position += u64::from(item.skip) + u64::from(item.lost);
            let place = Place {
                epoch: head.epoch,
                ordinal,
                lost: item.lost,
                position,
            };
            fits &= !self.link.tracker.contradicts(ordinal, item.lost, position);
            match self.judge(sender, place).await? {
                Verdict::Next { .. } => {
                    let mut loan = self.link.claim(sender, item.bytes.len()).await?;
                    loan.copy_from_slice(item.bytes);
                    if !self.deliver(loan, place, items).await? {
                        break;
                    }
                }
                Verdict::Repeat => {}
                Verdict::Early => break,
            }
            ordinal += u64::from(item.lost) + 1;
            position += 1;
        }
        // A frame that ends before `expected` is a repeat, or the exporter has never sent the messages up
        // to `expected`. But its regular heads are never before a message that it has sent.
        self.link
            .heard(fits && ordinal >= self.link.tracker.expected().1);
        Ok(())
    }

    /// Takes the first piece of a message, and the next ones until it has delivered the message. If
    /// another frame comes in between, returns that frame.
    async fn piece(
        &mut self,
        sender: &mut Sender,
        head: &Head,
        piece: &Piece<'_>,
        frame: &Parts<'_>,
    ) -> Result<Option<ZBytes>, Error> {
        let place = Place {
            epoch: head.epoch,
            ordinal: head.ordinal,
            lost: piece.lost,
            position: head.position + u64::from(piece.skip) + u64::from(piece.lost),
        };
        let end = place.ordinal + u64::from(place.lost) + 1;
        self.link.heard(
            end >= self.link.tracker.expected().1
                && !self
                    .link
                    .tracker
                    .contradicts(place.ordinal, place.lost, place.position),
        );
        if piece.offset > 0 {
            // Piece of a repeat, or an earlier piece is missing.
            let (ordinal, lost) = (place.ordinal, place.lost);
            self.link.resend |=
                self.link.tracker.item(ordinal, lost, place.position) != Verdict::Repeat;
            return Ok(None);
        }
        if !matches!(self.judge(sender, place).await?, Verdict::Next { .. }) {
            return Ok(None);
        }
        self.recorded.left = 0;
        if self.is_route {
            self.collect_in_ring(sender, head, piece, frame, place)
                .await
        } else {
            self.collect_in_memory(sender, head, piece, frame, place)
                .await
        }
    }

    /// Collects a message where the receivers read it: no other sender waits for this place to be filled.
    async fn collect_in_ring(
        &mut self,
        sender: &mut Sender,
        head: &Head,
        piece: &Piece<'_>,
        frame: &Parts<'_>,
        place: Place,
    ) -> Result<Option<ZBytes>, Error> {
        let mut loan = self.link.claim(sender, piece.total as usize).await?;
        let mut there = 0;
        let put = |bytes: &[u8]| {
            loan[there..there + bytes.len()].copy_from_slice(bytes);
            there += bytes.len();
        };
        if let Collected::Interrupted(frame) = self.collect(head, piece, frame, put).await {
            return Ok(frame);
        }
        self.deliver(loan, place, Items::default()).await?;
        Ok(None)
    }

    /// Collects a message before it claims a place for it.
    async fn collect_in_memory(
        &mut self,
        sender: &mut Sender,
        head: &Head,
        piece: &Piece<'_>,
        frame: &Parts<'_>,
        place: Place,
    ) -> Result<Option<ZBytes>, Error> {
        let len = piece.total as usize;
        let mut memory = std::mem::take(&mut self.memory);
        memory.clear();
        // The system provides the pages only as pieces arrive.
        memory.reserve_exact(len);
        let put = |bytes: &[u8]| memory.extend_from_slice(bytes);
        let collected = self.collect(head, piece, frame, put).await;
        if let Collected::Interrupted(frame) = collected {
            self.memory = memory;
            return Ok(frame);
        }
        let mut loan = self.link.claim(sender, len).await?;
        loan.copy_from_slice(&memory);
        self.memory = memory;
        self.deliver(loan, place, Items::default()).await?;
        Ok(None)
    }

    /// Calls `put` with the bytes of one piece of a message after the other. If the exporter sends the
    /// message again, the received pieces stay, so each repeat adds some, however small the inbox
    /// is.
    async fn collect(
        &mut self,
        head: &Head,
        first: &Piece<'_>,
        frame: &Parts<'_>,
        put: impl FnMut(&[u8]),
    ) -> Collected {
        let mut message = Message { put, there: 0 };
        message.add(first, frame);
        while message.there < first.total {
            let Some(frame) = self.link.next().await else {
                return Collected::Interrupted(None);
            };
            let parts = Parts::of(&frame);
            let Some((next, content)) = self.accept(&parts) else {
                continue;
            };
            if (next.epoch, next.run) != (head.epoch, head.run) || next.base > head.ordinal {
                drop(parts);
                return Collected::Interrupted(Some(frame));
            }
            // Otherwise the exporter would ignore the next question.
            self.link.tracker.round_began(next.round);
            // Frames of messages before this one are repeats.
            if next.ordinal >= head.ordinal {
                self.link.heard(true);
            }
            match content {
                Content::Piece(piece)
                    if (next.ordinal, piece.total) == (head.ordinal, first.total) =>
                {
                    self.link.resend |= piece.offset > message.there;
                    if piece.offset == message.there {
                        message.add(&piece, &parts);
                    }
                }
                // Its messages have come before, or are early.
                _ => self.link.resend |= next.ordinal > head.ordinal,
            }
        }
        Collected::Whole
    }

    /// Judges a message. If it is the next one, reports the missing messages before it.
    async fn judge(&mut self, sender: &mut Sender, place: Place) -> Result<Verdict, Error> {
        let Place {
            epoch,
            ordinal,
            lost,
            position,
        } = place;
        let verdict = self.link.tracker.item(ordinal, lost, position);
        match verdict {
            Verdict::Next { gap: 0 } => {}
            Verdict::Next { gap } => {
                self.report(sender, gap, epoch, position).await?;
                self.link.tracker.gap_reported(gap, position);
            }
            Verdict::Repeat => self.link.tracker.repeated(ordinal, lost),
            Verdict::Early => self.link.resend = true,
        }
        Ok(verdict)
    }

    /// Publishes the next message, which is in `loan`. `behind` are the items behind it in its frame.
    /// Returns `false` if the record could not be written: the message then counts as not arrived.
    async fn deliver(
        &mut self,
        loan: Loan<'_>,
        place: Place,
        behind: Items<'_>,
    ) -> Result<bool, Error> {
        let (ring, position) = (loan.position(), place.position);
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
                epoch: place.epoch,
                before: known.map_or(position, |known| known.position),
                after: position + 1,
                ring,
                count: 1 + following,
            };
            if let Err(error) = self.record.store(&entry) {
                // In a channel, other senders wait for this place.
                drop(loan);
                self.recorded.left = 0;
                self.hold(&error, &entry).await;
                self.link.resend = true;
                return Ok(false);
            }
            self.recorded.left = following;
        }
        self.recorded.ring = ring + 1;
        self.link.bytes += loan.len() as u64;
        self.link.shared.session.pause().await;
        loan.send_imported()?;
        self.link
            .tracker
            .delivered(place.ordinal, place.lost, position);
        Ok(true)
    }

    /// Tells the local receivers that messages are missing, before the one at `position`.
    async fn report(
        &mut self,
        sender: &mut Sender,
        gap: u64,
        epoch: u64,
        position: u64,
    ) -> Result<(), Error> {
        let before = self
            .link
            .tracker
            .known()
            .filter(|known| known.epoch == epoch)
            .map_or(0, |known| known.position);
        loop {
            let loan = self.link.claim(sender, 0).await?;
            let entry = Entry {
                segment: self.segment,
                epoch,
                before,
                after: position,
                ring: loan.position(),
                count: 1,
            };
            match self.record.store(&entry) {
                Ok(()) => {
                    self.link.shared.session.pause().await;
                    return Ok(loan.send_gap(gap)?);
                }
                Err(error) => {
                    drop(loan);
                    self.hold(&error, &entry).await;
                }
            }
        }
    }

    /// Tells the local receivers that the exporter's segment is another one, so that an unknown number
    /// of messages may be missing. The record is still that of the earlier segment: if this gateway is
    /// killed before it has recorded a message of the new one, the next run reports it again.
    async fn report_new_segment(&mut self, sender: &mut Sender) -> Result<(), Error> {
        self.recorded.left = 0;
        let loan = self.link.claim(sender, 0).await?;
        Ok(loan.send_gap(0)?)
    }

    /// Writes the record, as soon as that is possible.
    async fn store(&mut self, entry: &Entry) {
        if let Err(error) = self.record.store(entry) {
            self.hold(&error, entry).await;
        }
    }

    /// Waits until the record can be written. Its messages are not published before that.
    async fn hold(&mut self, error: &std::io::Error, entry: &Entry) {
        self.link.hold(error).await;
        loop {
            let opened = Record::open(&self.path);
            let stored = opened.and_then(|record| record.store(entry).map(|()| record));
            match stored {
                Ok(record) => {
                    self.record = record;
                    return;
                }
                Err(error) => self.link.hold(&error).await,
            }
        }
    }
}

/// The result of collecting a message in pieces.
enum Collected {
    /// All pieces have arrived.
    Whole,
    /// The importer gave the message up, for this frame or because the host is lost.
    Interrupted(Option<ZBytes>),
}
