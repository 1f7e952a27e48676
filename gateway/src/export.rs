//! Sends the messages of one local route or channel to all hosts that import it.
//!
//! The task is a receiver of the segment. With the policy `block` it stops receiving while its
//! window is full, so the ring becomes full and the local senders wait. With `drop` it never
//! stops.
//!
//! **A channel that two hosts export to each other** could stop for ever with `block`: the import here waits for room in the
//! ring, the ring is full because this export's window is, and the window is full because the other host is in the same
//! state. No order of waits and no size of a buffer prevents that, because local senders use the same ring as the import. So
//! if an import has waited for `lost-after-ms` while the window is full, the export forgets the window. Then it reads on,
//! which makes room in the ring. A receiver sees a gap in place of the frames that had not reached it.

use std::collections::HashMap;
use std::path::PathBuf;

use blitz_io::ipc::{self, Message, Receiver, RecvError};
use blitz_io::select;
use blitz_io::sync::mpsc;
use blitz_io::time::Instant;
use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;

use crate::config::{Export, Policy, is_allowed};
use crate::engine::{Delivery, Publisher, Subscriber};
use crate::error::Error;
use crate::keys::{self, Name};
use crate::runs::{self, follows};
use crate::shared::{Direction, Shared, TICK, is_due};
use crate::silence::{Silence, ticks};
use crate::window::Window;
use crate::wire::{Ack, BATCHED, FRAME, Frame, Head, Item, PIECE, Piece, Writer, origin, parse};

/// The most acknowledgements that wait for the task. They are cumulative: if one finds no room, a
/// later one replaces it.
const ACKS: usize = 1024;

/// Exports a route or channel until something fails.
pub async fn export(shared: &Shared, name: &Name, rule: &Export) -> Result<(), Error> {
    let policy = rule.policy.unwrap_or_default();
    let builder = shared.builder(name).with_history(true).must_exist(true);
    let mut receiver = match builder.receiver(&name.name) {
        // The segment was removed. If it comes back, the scan starts this task again.
        Err(ipc::Error::NotFound { .. }) => std::future::pending().await,
        other => other?,
    };
    let (_subscriber, mut incoming) = acknowledgements(shared, name, rule).await?;
    let delivery = Delivery {
        congestion: match policy {
            Policy::Block => CongestionControl::Block,
            Policy::Drop => CongestionControl::Drop,
        },
        // A frame is a batch already: the engine need not wait for others to send with it.
        is_express: true,
    };
    let key = name.data(&shared.host);
    let publisher = shared.session.publisher(key, delivery).await?;
    let mut exporter = Exporter::new(shared, name, rule, &receiver, publisher)?;
    exporter.beat();
    let mut tick = ticks(TICK);
    let mut next = Next::More;
    loop {
        let receives = exporter.window.has_room() && next != Next::Over;
        select! {
            biased;
            Some((host, ack)) = incoming.recv() => {
                exporter.acknowledged(&host, &ack);
                while let Ok((host, ack)) = incoming.try_recv() {
                    exporter.acknowledged(&host, &ack);
                }
                exporter.resend();
                continue;
            }
            _ = tick.tick() => {
                next = Next::More;
                exporter.tick();
                continue;
            }
            result = receiver.recv_async(), if receives => next = exporter.take(result)?,
        }
        while next == Next::More && exporter.wants_more() {
            next = exporter.take(receiver.try_recv())?;
        }
        exporter.flush();
    }
}

/// Subscribes to the acknowledgements of all importers that the rule allows.
async fn acknowledgements(
    shared: &Shared,
    name: &Name,
    rule: &Export,
) -> Result<(Subscriber, mpsc::Receiver<(String, Ack)>), Error> {
    let (acks, incoming) = mpsc::channel(ACKS);
    let (rule, hosts) = (rule.clone(), shared.hosts.clone());
    let heard = move |key: &str, frame: &ZBytes| {
        let Some(host) = keys::importer(key) else {
            return;
        };
        if !is_allowed(hosts.as_deref(), host) || !rule.allows(host) {
            return;
        }
        if let Ok(Frame::Ack(ack)) = parse(&frame.to_bytes()) {
            _ = acks.try_send((host.to_owned(), ack));
        }
    };
    let key = name.ack(&shared.host, "*");
    let subscriber = shared.session.subscribe(key, heard).await?;
    Ok((subscriber, incoming))
}

/// The next step of a receiver of the segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    /// Wait for a message.
    Wait,
    /// Wait for a sender.
    Over,
}

struct Exporter<'a> {
    shared: &'a Shared,
    name: &'a Name,
    publisher: Publisher,
    window: Window<ZBytes>,
    /// The file with the hosts of the receivers, so that the next run waits for them.
    receivers: PathBuf,
    ids: Head,
    batch: Option<Batch>,
    /// The ordinal and the position after the last message.
    next: (u64, u64),
    /// The number of positions since `next` with an imported message, and none of a local sender.
    foreign: u64,
    /// See [`Receiver::skipped`], at the last message.
    skipped: u64,
    sent: Sent,
    beat: Instant,
    /// The reason why the acknowledgements of a host are refused, and the time since the last of them.
    refused: HashMap<String, (&'static str, Silence)>,
}

/// The importer of a host follows another run than this one.
const OTHER_EXPORTER: &str = "receives from another gateway that has the name of this host";
/// Two importers answer in the name of a host.
const OTHER_IMPORTER: &str = "another gateway has this name too: its acknowledgements are refused";

/// The batch that is being filled, with the ordinal and position before its first message.
struct Batch {
    writer: Writer,
    first: (u64, u64),
}

/// Counters of a run.
#[derive(Default)]
struct Sent {
    messages: u64,
    bytes: u64,
    lost: u64,
    repeats: u64,
}

impl<'a> Exporter<'a> {
    fn new(
        shared: &'a Shared,
        name: &'a Name,
        rule: &Export,
        receiver: &Receiver,
        publisher: Publisher,
    ) -> Result<Self, Error> {
        let run = runs::begin(&shared.state.join(name.file("run")))
            .map_err(Error::system("cannot make the number of the run"))?;
        let position = receiver.next_position();
        let limits = &shared.limits;
        let keeps = rule.policy.unwrap_or_default() == Policy::Block;
        shared.row(Direction::Export, name, "", |row| row.error.clear());
        let mut window = Window::new(run, position, keeps, limits.window_bytes, limits.hosts);
        let receivers = shared.state.join(name.file("receivers"));
        // If the file is missing or damaged, the export does not wait for receivers that have not answered.
        for host in std::fs::read_to_string(&receivers)
            .unwrap_or_default()
            .lines()
        {
            if is_allowed(shared.hosts.as_deref(), host) && rule.allows(host) {
                window.expect(host);
            }
        }
        Ok(Self {
            shared,
            name,
            publisher,
            window,
            receivers,
            ids: Head {
                origin: origin(&shared.host),
                epoch: receiver.segment_id(),
                run,
                ..Head::default()
            },
            batch: None,
            next: (0, position),
            foreign: 0,
            skipped: receiver.skipped(),
            sent: Sent::default(),
            beat: Instant::now(),
            refused: HashMap::new(),
        })
    }

    /// Takes a result of the segment's receiver.
    fn take(&mut self, result: Result<Message<'_>, RecvError>) -> Result<Next, Error> {
        match result {
            Ok(message) if message.is_imported() => self.foreign += 1,
            Ok(message) => self.add(&message),
            // The report of a gap, from another host.
            Err(RecvError::Gap(_)) => self.foreign += 1,
            // The position of the next message shows how many were lost.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Empty) => return Ok(Next::Wait),
            Err(RecvError::Disconnected) => return Ok(Next::Over),
            Err(error) => return Err(error.into()),
        }
        Ok(Next::More)
    }

    /// Returns `true` if there is a batch with room.
    fn wants_more(&self) -> bool {
        self.batch
            .as_ref()
            .is_some_and(|batch| batch.writer.len() < FRAME)
    }

    fn add(&mut self, message: &Message<'_>) {
        let first = self.next;
        let position = message.position();
        let distance = position.saturating_sub(first.1);
        let skip = (message.skipped() - self.skipped + self.foreign).min(distance);
        let lost = distance - skip;
        // A ring has at most 2^30 places, so both fit unless 2^32 places pass without a message.
        // Then the rest counts as neither, and the receiver sees it by the position.
        let (skip, lost) = (
            u32::try_from(skip).unwrap_or(u32::MAX),
            u32::try_from(lost).unwrap_or(u32::MAX),
        );
        if self
            .batch
            .as_ref()
            .is_some_and(|batch| batch.writer.len() + Writer::item_len(message.len()) > FRAME)
        {
            self.flush();
        }
        self.skipped = message.skipped();
        self.foreign = 0;
        self.sent.messages += 1;
        self.sent.bytes += message.len() as u64;
        self.sent.lost += u64::from(lost);
        let next = (first.0 + u64::from(lost) + 1, position + 1);
        if message.len() > BATCHED {
            self.flush();
            self.next = next;
            self.send_pieces(first, skip, lost, message);
            return;
        }
        let head = self.head(first);
        let batch = self.batch.get_or_insert_with(|| Batch {
            writer: Writer::batch(&head),
            first,
        });
        batch.writer.item(Item {
            skip,
            lost,
            bytes: message,
        });
        self.next = next;
    }

    fn send_pieces(&mut self, first: (u64, u64), skip: u32, lost: u32, message: &[u8]) {
        let total = message.len() as u64;
        let head = self.head(first);
        for (number, bytes) in message.chunks(PIECE).enumerate() {
            let offset = (number * PIECE) as u64;
            let frame = Writer::piece(
                &head,
                &Piece {
                    skip,
                    lost,
                    total,
                    offset,
                    bytes,
                },
            );
            self.send(first, frame);
        }
    }

    /// Sends the batch.
    fn flush(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.send(batch.first, batch.writer.finish());
        }
    }

    /// Sends a frame of the messages from `first` to the last one, and keeps it in the window.
    fn send(&mut self, first: (u64, u64), frame: Vec<u8>) {
        let len = frame.len();
        let frame = ZBytes::from(frame);
        self.window.push(first, self.next, frame.clone(), len);
        self.publish(frame);
    }

    /// Publishes a frame. With the policy `block` this waits while the network is slow. The runtime moves
    /// the other tasks of the waiting thread to another thread.
    fn publish(&self, frame: ZBytes) {
        // Errors are ignored: a closed session ends the gateway, and the window keeps unsent frames.
        self.publisher.put(frame);
    }

    /// Returns the head of a frame that begins with this ordinal and position.
    fn head(&self, first: (u64, u64)) -> Head {
        let base = self.window.base();
        Head {
            base: base.0,
            base_position: base.1,
            ordinal: first.0,
            position: first.1,
            round: self.window.round(),
            ..self.ids
        }
    }

    /// Announces the next ordinal and position to all receivers.
    fn beat(&mut self) {
        self.beat = Instant::now();
        self.publish_head(self.window.next());
    }

    /// Sends a frame without messages.
    fn publish_head(&self, first: (u64, u64)) {
        self.publish(Writer::batch(&self.head(first)).finish().into());
    }

    fn acknowledged(&mut self, host: &str, ack: &Ack) {
        if host == self.shared.host {
            return;
        }
        match self.judge(host, ack) {
            Ok(true) => {}
            Ok(false) => return,
            Err(reason) => {
                // At most as many as receivers, however many hosts answer.
                if self.refused.len() < self.shared.limits.hosts || self.refused.contains_key(host)
                {
                    let since = (reason, Silence::default());
                    self.refused.insert(host.to_owned(), since);
                }
                return;
            }
        }
        let known = self.window.remotes().len();
        if self.window.acknowledged(host, ack) {
            self.beat();
        }
        if self.window.remotes().len() != known {
            self.note_receivers();
        }
    }

    /// Returns `true` if an acknowledgement is for this run, or of a host that does not know this run yet.
    /// Returns `false` if the acknowledgement is late.
    ///
    /// # Errors
    ///
    /// The reason to refuse the acknowledgement: it is of another gateway, or for another one.
    fn judge(&self, host: &str, ack: &Ack) -> Result<bool, &'static str> {
        if ack.run != 0 && ack.run != self.ids.run && !follows(ack.run, self.ids.run) {
            return Err(OTHER_EXPORTER);
        }
        let remote = self.window.remotes().get(host);
        match remote.map(|remote| remote.source) {
            Some(known) if known != 0 && known != ack.source && !follows(known, ack.source) => {
                if follows(ack.source, known) {
                    Ok(false)
                } else {
                    Err(OTHER_IMPORTER)
                }
            }
            _ => Ok(true),
        }
    }

    fn note_receivers(&self) {
        let hosts: String = self
            .window
            .remotes()
            .keys()
            .map(|host| format!("{host}\n"))
            .collect();
        // Errors are ignored: without the file the next run begins with the hosts that answer.
        _ = std::fs::write(&self.receivers, hosts);
    }

    /// Shows the hosts whose acknowledgements are refused, as long as those arrive.
    fn show_refused(&mut self) {
        let (shared, name, window) = (self.shared, self.name, &self.window);
        let patience = shared.limits.lost_after();
        self.refused.retain(|host, (reason, since)| {
            since.lasts(TICK);
            let stays = !since.reaches(patience);
            if stays || window.remotes().contains_key(host) {
                shared.row(Direction::Export, name, host, |row| {
                    row.error = if stays {
                        (*reason).to_owned()
                    } else {
                        String::new()
                    };
                });
            } else {
                shared.remove_row(Direction::Export, name, host);
            }
            stays
        });
    }

    fn resend(&mut self) {
        let Some(repeat) = self.window.repeat() else {
            return;
        };
        self.publish_head(repeat.first);
        for frame in repeat.frames {
            self.sent.repeats += 1;
            self.publish(frame);
        }
    }

    fn tick(&mut self) {
        let lost = self.window.expire(TICK, self.shared.limits.lost_after());
        for host in &lost {
            self.shared.remove_row(Direction::Export, self.name, host);
        }
        self.show_refused();
        if !lost.is_empty() {
            self.note_receivers();
        }
        let patience = self.shared.limits.lost_after();
        if !self.window.has_room() && self.shared.take_long_wait(self.name, patience) {
            self.window.forget();
        }
        if is_due(&mut self.beat, TICK) {
            self.beat();
        }
        let (name, next, sent) = (self.name, self.window.next().0, &self.sent);
        self.shared.row(Direction::Export, name, "", |row| {
            (row.messages, row.bytes, row.gaps, row.repeats) =
                (sent.messages, sent.bytes, sent.lost, sent.repeats);
            row.lag = self.window.bytes() as u64;
        });
        for (host, remote) in self.window.remotes() {
            self.shared.row(Direction::Export, name, host, |row| {
                (row.messages, row.gaps, row.lag) = (
                    remote.received,
                    remote.missing,
                    next.saturating_sub(remote.expected),
                );
            });
        }
    }
}
