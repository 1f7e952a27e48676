//! Items of a queue: each goes to one consumer on any host, at least once.
//!
//! **Export.** Some receivers of the local segment each reserve a place at the importers
//! (`importers.rs`), take an item, give it to one importer that has room, and keep it until that importer
//! says that a consumer is done with it. Only then is the item consumed. If the importer gives no sign
//! of life any more, or has started again, or this gateway stops, the item goes back into the segment,
//! for any consumer. If this gateway dies, the segment gives its items to other receivers.
//!
//! **Import.** An item goes into the local queue, with its identity kept aside. The exporter hears
//! of it when the segment shows that a consumer is done with it, so an item that a consumer or its
//! host takes with it is given to another one.
//!
//! An item can come twice: if a consumer was done with it, and the report of that was lost with the
//! importer. Both have the same identity.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io::ipc::{
    self, Message, MessageState, Receiver, RecvError, SendError, SendOptions, Sender,
};
use blitz_io::sync::{Notify, mpsc};
use blitz_io::time::Instant;
use blitz_io::{select, time};
use zenoh::bytes::ZBytes;

use crate::config::{self, is_allowed};
use crate::engine::{Engine, Publisher};
use crate::error::Error;
use crate::import::Source;
use crate::importers::{Held, IN_FLIGHT, Importers};
use crate::keys::{self, Name};
use crate::shared::{Direction, Row, Shared, TICK, is_due, random};
use crate::silence::{Silence, ticks};
use crate::wire::{Credit, Done, Frame, Head, Job, JobId, Writer, origin, parse};

/// An item that is not acknowledged is sent again after this time.
const AGAIN: Duration = Duration::from_millis(500);
/// The interval in which an importer checks for items that consumers are done with.
const LOOK: Duration = Duration::from_millis(1);
/// The number of finished items that an importer remembers, to answer repeats.
const REMEMBERED: usize = 4096;

/// The state that the workers of an export share.
#[derive(Default)]
struct Export {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    importers: Importers,
    messages: u64,
    bytes: u64,
    repeats: u64,
}

impl Export {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heard(&self, host: &str, frame: &Frame<'_>, hosts: usize) {
        let mut state = self.lock();
        match frame {
            Frame::Credit(credit) => state.importers.credit(host, credit, hosts),
            Frame::Done(done) => state.importers.done(host, done.0),
            _ => return,
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Forgets importers without a sign of life, a [`TICK`] after the last call.
    fn expire(&self, lost_after: Duration) {
        let has_lost = self.lock().importers.expire(TICK, lost_after);
        if has_lost {
            self.changed.notify_waiters();
        }
    }

    /// Waits until `look` returns something.
    async fn until<T>(&self, mut look: impl FnMut(&mut Importers) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            let found = look(&mut self.lock().importers);
            if let Some(found) = found {
                return found;
            }
            changed.await;
        }
    }

    /// Waits for a place at an importer.
    async fn reserve(&self) -> Reserved<'_> {
        self.until(|importers| importers.reserve().then_some(()))
            .await;
        Reserved(self)
    }
}

/// A place that a worker has reserved for its next item.
struct Reserved<'a>(&'a Export);

impl<'a> Reserved<'a> {
    /// Waits until this place has vanished, and withdraws the reservation.
    async fn withdrawn(&self) {
        let withdraw = |importers: &mut Importers| importers.withdraw().then_some(());
        self.0.until(withdraw).await;
    }

    /// Drops the reservation without releasing it: it was withdrawn, or an item has used it up.
    fn forget(self) {
        std::mem::forget(self);
    }

    /// Gives the item to an importer. Returns `None` if no importer has room any more.
    fn give(self, id: JobId) -> Option<Given<'a>> {
        let export = self.0;
        self.forget();
        let host = export.lock().importers.give(id)?;
        Some(Given { export, id, host })
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.0.lock().importers.release();
        self.0.changed.notify_waiters();
    }
}

/// An item that an importer holds.
struct Given<'a> {
    export: &'a Export,
    id: JobId,
    host: String,
}

impl Given<'_> {
    /// Sends the item to the importer until that does not hold it any more. Returns `true` if a consumer is
    /// done with it.
    async fn send(&self, session: &Engine, name: &Name, own: &str, bytes: &[u8]) -> bool {
        let frame = Writer::job(&Job { id: self.id, bytes });
        loop {
            session.put(name.job(&self.host, own), frame.clone(), true);
            match time::timeout(AGAIN, self.is_done()).await {
                Ok(is_done) => return is_done,
                Err(_) => self.export.lock().repeats += 1,
            }
        }
    }

    /// Waits until the importer does not hold it any more. Returns `true` if a consumer is done with it.
    async fn is_done(&self) -> bool {
        let look = |importers: &mut Importers| match importers.look(self.id) {
            Held::Yes => None,
            Held::Done => Some(true),
            Held::Lost => Some(false),
        };
        self.export.until(look).await
    }
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.export.lock().importers.take_back(self.id);
        self.export.changed.notify_waiters();
    }
}

/// A message of the segment that no consumer is done with. It goes back into the segment when this
/// is dropped, for example because the gateway stops.
struct Unconfirmed<'a>(Option<Message<'a>>);

impl Unconfirmed<'_> {
    /// Consumes the message.
    fn confirm(mut self) {
        self.0 = None;
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl Drop for Unconfirmed<'_> {
    fn drop(&mut self) {
        if let Some(message) = self.0.take() {
            message.put_back();
        }
    }
}

/// Makes receivers of the segment: one for each item that may be in flight, as far as there is room.
async fn receivers(shared: &Shared, name: &Name) -> Result<Vec<Receiver>, Error> {
    let builder = shared.builder(name).must_exist(true);
    let mut receivers = Vec::new();
    for _ in 0..IN_FLIGHT {
        match builder.receiver(&name.name) {
            Ok(receiver) => receivers.push(receiver),
            // The segment was removed. If it comes back, the scan starts this task again.
            Err(ipc::Error::NotFound { .. }) => std::future::pending().await,
            Err(ipc::Error::Occupied { .. }) if !receivers.is_empty() => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(receivers)
}

/// Exports a queue until something fails.
pub async fn export(shared: &Shared, name: &Name, rule: &config::Export) -> Result<(), Error> {
    let receivers = receivers(shared, name).await?;
    let export = Arc::new(Export::default());
    let (of_callback, hosts) = (export.clone(), shared.limits.hosts);
    let (rule, admitted) = (rule.clone(), shared.hosts.clone());
    let heard = move |key: &str, frame: &ZBytes| {
        let Some(host) = keys::importer(key) else {
            return;
        };
        if !is_allowed(admitted.as_deref(), host) || !rule.allows(host) {
            return;
        }
        if let Ok(frame) = parse(&frame.to_bytes()) {
            of_callback.heard(host, &frame, hosts);
        }
    };
    let key = name.ack(&shared.host, "*");
    let _subscriber = shared.session.subscribe(key, heard).await?;
    shared.row(Direction::Export, name, "", |row| *row = Row::default());
    let (failed, mut failures) = mpsc::channel(1);
    let mut workers = blitz_io::task::JoinSet::new();
    for receiver in receivers {
        let (session, name, host) = (shared.session.clone(), name.clone(), shared.host.clone());
        let (export, failed) = (export.clone(), failed.clone());
        workers.spawn(async move {
            let error = give_items(receiver, &session, &name, &host, &export).await;
            _ = failed.send(error).await;
        });
    }
    let mut tick = ticks(TICK);
    let run = random().into();
    loop {
        select! {
            Some(error) = failures.recv() => return Err(error),
            _ = tick.tick() => report(shared, name, &export, run),
        }
    }
}

/// Gives the importers a sign of life, and shows the counters in the status, a [`TICK`] after the last
/// call.
fn report(shared: &Shared, name: &Name, export: &Export, run: u128) {
    export.expire(shared.limits.lost_after());
    let head = Head {
        origin: origin(&shared.host),
        epoch: 1,
        run,
        ..Head::default()
    };
    let beat = Writer::batch(&head).finish();
    shared.session.put(name.data(&shared.host), beat, false);
    let state = export.lock();
    shared.row(Direction::Export, name, "", |row| {
        (row.messages, row.bytes, row.repeats) = (state.messages, state.bytes, state.repeats);
        row.lag = state.importers.unconfirmed() as u64;
    });
}

/// Gives items to importers, one after the other. Returns the error that ends the loop.
async fn give_items(
    mut receiver: Receiver,
    session: &Engine,
    name: &Name,
    host: &str,
    export: &Export,
) -> Error {
    let epoch = receiver.segment_id();
    loop {
        let reserved = export.reserve().await;
        let received = select! {
            biased;
            () = reserved.withdrawn() => None,
            received = receiver.recv_async() => Some(received),
        };
        let message = match received {
            None => {
                reserved.forget();
                continue;
            }
            Some(Ok(message)) => message,
            Some(Err(RecvError::Disconnected)) => {
                drop(reserved);
                time::sleep(TICK).await;
                continue;
            }
            Some(Err(error)) => return error.into(),
        };
        let id = JobId {
            origin: origin(host),
            epoch,
            position: message.position(),
        };
        // Dropped after `given`: no consumer may take the item while an importer seems to hold it.
        let item = Unconfirmed(Some(message));
        let Some(given) = reserved.give(id) else {
            continue;
        };
        let is_done = given.send(session, name, host, item.bytes()).await;
        drop(given);
        if is_done {
            let mut state = export.lock();
            state.messages += 1;
            state.bytes += item.bytes().len() as u64;
            drop(state);
            item.confirm();
        }
    }
}

/// The items that an importer has.
#[derive(Default)]
struct Items {
    /// Items in the local queue, with their positions there.
    pending: HashMap<JobId, u64>,
    done: HashSet<JobId>,
    order: VecDeque<JobId>,
}

impl Items {
    /// Returns the items with which a consumer is done since the last call.
    fn finished(&mut self, sender: &Sender) -> Vec<JobId> {
        let is_done = |position| {
            matches!(
                sender.message_state(position),
                MessageState::Consumed | MessageState::Overwritten
            )
        };
        let finished: Vec<JobId> = self
            .pending
            .iter()
            .filter(|&(_, &position)| is_done(position))
            .map(|(&id, _)| id)
            .collect();
        for &id in &finished {
            self.pending.remove(&id);
            self.done.insert(id);
            self.order.push_back(id);
            if self.order.len() > REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.done.remove(&oldest);
            }
        }
        finished
    }
}

/// The import of one queue.
struct Import<'a> {
    source: &'a Source,
    /// The exporter, in the heads of its frames.
    origin: u64,
    sender: Sender,
    publisher: Publisher,
    items: Items,
    /// The most items of the exporter that are in the local queue.
    room: usize,
    row: Row,
}

impl Import<'_> {
    /// Takes a frame of the exporter.
    fn take(&mut self, frame: &[u8]) -> Result<(), Error> {
        let own = self.origin;
        let max_len = self.source.name.max_len;
        match parse(frame) {
            Ok(Frame::Job(job)) if job.id.origin == own && job.bytes.len() <= max_len => {
                self.add(&job)?;
            }
            Ok(Frame::Batch(head, _)) if head.origin == own => {}
            _ => self.row.refused += 1,
        }
        Ok(())
    }

    fn add(&mut self, job: &Job<'_>) -> Result<(), Error> {
        if self.items.done.contains(&job.id) {
            self.row.repeats += 1;
            self.tell_done(job.id);
        } else if self.items.pending.contains_key(&job.id) {
            self.row.repeats += 1;
        } else if self.items.pending.len() < self.room
            && let Some(position) = put(&mut self.sender, job, self.source.rule.identity)?
        {
            self.items.pending.insert(job.id, position);
            self.row.messages += 1;
            self.row.bytes += job.bytes.len() as u64;
        } else {
            self.row.refused += 1;
        }
        Ok(())
    }

    /// Tells the exporter that a consumer is done with an item.
    fn tell_done(&self, id: JobId) {
        self.publisher.put(Writer::done(Done(id)));
    }
}

/// Imports into a queue until the host is lost or something fails. `silence` is that of the host.
pub async fn import(shared: &Shared, source: &Source, silence: &mut Silence) -> Result<(), Error> {
    let Source {
        name,
        host,
        rule,
        inbox,
    } = source;
    let identity = if rule.identity { JobId::LEN } else { 0 };
    let max_len = name.max_len.saturating_add(identity);
    let builder = shared.imported(name, rule).max_len(max_len);
    let sender = builder.sender(&name.name)?;
    let mut import = Import {
        source,
        origin: origin(host),
        publisher: shared.acknowledgements(name, host).await?,
        items: Items::default(),
        room: IN_FLIGHT.min(sender.capacity()),
        row: Row::default(),
        sender,
    };
    let show = |row: &Row| {
        shared.row(Direction::Import, name, host, |shown| *shown = row.clone());
    };
    show(&import.row);
    let credit = Credit {
        run: random(),
        items: import.room as u32,
    };
    // At once, and then with each tick.
    let mut told = Instant::now()
        .checked_sub(TICK)
        .unwrap_or_else(Instant::now);
    loop {
        while let Some(frame) = inbox.pop() {
            silence.broken();
            import.take(&frame.to_bytes())?;
        }
        for id in import.items.finished(&import.sender) {
            import.tell_done(id);
        }
        if is_due(&mut told, TICK) {
            import.publisher.put(Writer::credit(credit));
            import.row.lag = import.items.pending.len() as u64;
            show(&import.row);
            silence.lasts(TICK);
            if silence.reaches(shared.limits.lost_after()) {
                return Ok(());
            }
        }
        let pause = if import.items.pending.is_empty() {
            TICK
        } else {
            LOOK
        };
        _ = time::timeout(pause, inbox.arrived()).await;
    }
}

/// Puts an item into the local queue. Returns its position there, or `None` if the queue is full.
fn put(sender: &mut Sender, job: &Job<'_>, identity: bool) -> Result<Option<u64>, Error> {
    let id = job.id.to_bytes();
    let id = if identity { &id[..] } else { &[] };
    let mut loan = match sender
        .with(SendOptions::new().no_wait())
        .loan(id.len() + job.bytes.len())
    {
        Ok(loan) => loan,
        Err(SendError::Full) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (before, item) = loan.split_at_mut(id.len());
    before.copy_from_slice(id);
    item.copy_from_slice(job.bytes);
    let position = loan.position();
    loan.send_imported()?;
    Ok(Some(position))
}
