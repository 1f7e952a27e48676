//! Items of a queue: each goes to one consumer on any host, at least once.
//!
//! **Export.** Some receivers of the local segment each take an item, give it to one importer
//! that has room, and keep it until the importer says that a consumer is done with it. If the
//! importer gives no sign of life any more, or has started again, the item goes to another. If
//! this gateway dies, the segment gives its items to other receivers.
//!
//! **Import.** An item goes into the local queue, with its identity kept aside. The exporter hears
//! of it when the segment shows that a consumer is done with it, so an item that a consumer or its
//! host takes with it is given to another one.
//!
//! An item can come twice: if a consumer was done with it and the word of that was lost with the
//! importer. Its identity tells.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blitz_io::ipc::{Error, MessageState, Receiver, RecvError, SendError, Sender};
use blitz_io::sync::{Notify, mpsc};
use blitz_io::{select, time};
use zenoh::Wait;
use zenoh::qos::CongestionControl;

use crate::config::{Export, is_allowed};
use crate::import::Source;
use crate::keys::{self, Name};
use crate::shared::{Direction, Row, Shared, TICK, is_due, random};
use crate::silence::{Silence, ticks};
use crate::wire::{Credit, Done, Frame, Head, Job, JobId, Writer, origin, parse};

/// How many items one importer holds at a time, and how many this exporter does.
const IN_FLIGHT: usize = 16;
/// An item that is not acknowledged is sent again after this time.
const AGAIN: Duration = Duration::from_millis(500);
/// How often an importer looks whether consumers are done.
const LOOK: Duration = Duration::from_millis(1);
/// How many items that are done an importer remembers, to answer repeats.
const REMEMBERED: usize = 4096;

/// The importers of one queue, and the items that they hold.
#[derive(Default)]
struct Importers {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    importers: HashMap<String, Importer>,
    /// Items that were given to an importer, and whether a consumer is done with them.
    given: HashMap<JobId, Given>,
    messages: u64,
    bytes: u64,
    repeats: u64,
}

struct Importer {
    run: u64,
    room: u32,
    holds: u32,
    silence: Silence,
}

struct Given {
    host: String,
    run: u64,
    done: bool,
}

impl Importers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heard(&self, host: &str, frame: &Frame<'_>, hosts: usize) {
        let mut state = self.lock();
        match frame {
            Frame::Credit(credit) => {
                if !state.importers.contains_key(host) && state.importers.len() >= hosts {
                    return;
                }
                let new = Importer {
                    run: credit.run,
                    room: 0,
                    holds: 0,
                    silence: Silence::default(),
                };
                let importer = state.importers.entry(host.to_owned()).or_insert(new);
                if importer.run != credit.run {
                    (importer.run, importer.holds) = (credit.run, 0);
                }
                importer.room = credit.items.min(IN_FLIGHT as u32);
                importer.silence.broken();
            }
            Frame::Done(done) => {
                if let Some(given) = state.given.get_mut(&done.0) {
                    given.done = true;
                }
            }
            _ => return,
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Forgets importers without a sign of life, a [`TICK`] after the last call.
    fn expire(&self, lost_after: Duration) {
        let mut state = self.lock();
        let before = state.importers.len();
        state.importers.retain(|_, importer| {
            importer.silence.lasts(TICK);
            !importer.silence.reaches(lost_after)
        });
        let has_lost = state.importers.len() != before;
        drop(state);
        if has_lost {
            self.changed.notify_waiters();
        }
    }

    /// Gives an item to the importer with the most room. Returns `None` if there is no room.
    fn give(&self, id: JobId) -> Option<String> {
        let mut state = self.lock();
        let (host, importer) = state
            .importers
            .iter_mut()
            .filter(|(_, importer)| importer.holds < importer.room)
            .max_by_key(|(_, importer)| importer.room - importer.holds)?;
        importer.holds += 1;
        let given = Given {
            host: host.clone(),
            run: importer.run,
            done: false,
        };
        let host = given.host.clone();
        state.given.insert(id, given);
        Some(host)
    }

    fn has_room(&self) -> bool {
        self.lock()
            .importers
            .values()
            .any(|importer| importer.holds < importer.room)
    }

    /// Whether the item is done, still held, or to be given to another importer.
    fn look(&self, id: JobId) -> Held {
        let mut state = self.lock();
        let Some(given) = state.given.get(&id) else {
            return Held::Lost;
        };
        let (host, run, done) = (given.host.clone(), given.run, given.done);
        let importer = state
            .importers
            .get_mut(&host)
            .filter(|importer| importer.run == run);
        if done || importer.is_none() {
            if let Some(importer) = importer {
                importer.holds -= 1;
            }
            state.given.remove(&id);
            return if done { Held::Done } else { Held::Lost };
        }
        Held::Yes
    }
}

enum Held {
    Yes,
    Done,
    Lost,
}

/// Exports a queue until something fails.
pub async fn export(shared: &Shared, name: &Name, rule: &Export) -> Result<(), String> {
    let builder = shared.builder(name).must_exist(true);
    let mut receivers = Vec::new();
    for _ in 0..IN_FLIGHT {
        match builder.receiver(&name.name) {
            Ok(receiver) => receivers.push(receiver),
            // It has gone; the scan starts this task again when it is back.
            Err(Error::NotFound { .. }) => std::future::pending().await,
            Err(Error::Occupied { .. }) if !receivers.is_empty() => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    let importers = Arc::new(Importers::default());
    let (of_callback, hosts) = (importers.clone(), shared.limits.hosts);
    let (rule, admitted) = (rule.clone(), shared.hosts.clone());
    let _subscriber = shared
        .session
        .declare_subscriber(name.ack(&shared.host, "*"))
        .callback(move |sample| {
            let Some(host) = keys::importer(sample.key_expr().as_str()) else {
                return;
            };
            if !is_allowed(admitted.as_deref(), host) || !rule.allows(host) {
                return;
            }
            if let Ok(frame) = parse(&sample.payload().to_bytes()) {
                of_callback.heard(host, &frame, hosts);
            }
        })
        .await
        .map_err(|error| error.to_string())?;
    shared.row(Direction::Export, name, "", |row| *row = Row::default());
    let (failed, mut failures) = mpsc::channel(1);
    let mut workers = blitz_io::task::JoinSet::new();
    for receiver in receivers {
        let (session, name, host) = (shared.session.clone(), name.clone(), shared.host.clone());
        let (importers, failed) = (importers.clone(), failed.clone());
        workers.spawn(async move {
            let error = give_items(receiver, &session, &name, &host, &importers).await;
            _ = failed.send(error).await;
        });
    }
    let mut tick = ticks(TICK);
    let head = Head {
        origin: origin(&shared.host),
        epoch: 1,
        run: random().into(),
        ..Head::default()
    };
    loop {
        select! {
            Some(error) = failures.recv() => return Err(error),
            _ = tick.tick() => {
                importers.expire(shared.limits.lost_after());
                let beat = Writer::batch(&head).finish();
                _ = shared.session.put(name.data(&shared.host), beat).wait();
                let state = importers.lock();
                shared.row(Direction::Export, name, "", |row| {
                    (row.messages, row.bytes, row.repeats) = (state.messages, state.bytes, state.repeats);
                    row.lag = state.given.len() as u64;
                });
            }
        }
    }
}

/// Gives items away, one at a time. Returns the error that ends it.
async fn give_items(
    mut receiver: Receiver,
    session: &zenoh::Session,
    name: &Name,
    host: &str,
    importers: &Importers,
) -> String {
    let epoch = receiver.segment_id();
    loop {
        // A local consumer may take items while no importer has room.
        until(importers, || importers.has_room().then_some(())).await;
        let message = match receiver.recv_async().await {
            Ok(message) => message,
            Err(RecvError::Disconnected) => {
                time::sleep(TICK).await;
                continue;
            }
            Err(error) => return error.to_string(),
        };
        let id = JobId {
            origin: origin(host),
            epoch,
            position: message.position(),
        };
        let frame = Writer::job(&Job {
            id,
            bytes: &message,
        });
        'given: loop {
            let importer = until(importers, || importers.give(id)).await;
            loop {
                let put = session.put(name.job(&importer, host), frame.clone());
                _ = put
                    .congestion_control(CongestionControl::Drop)
                    .express(true)
                    .wait();
                let held = until(importers, || match importers.look(id) {
                    Held::Yes => None,
                    other => Some(other),
                });
                match time::timeout(AGAIN, held).await {
                    Ok(Held::Done) => break 'given,
                    Ok(_) => break,
                    Err(_) => importers.lock().repeats += 1,
                }
            }
        }
        let mut state = importers.lock();
        state.messages += 1;
        state.bytes += message.len() as u64;
        // The message is dropped here, and is consumed by that.
    }
}

/// Waits until `look` returns something.
async fn until<T>(importers: &Importers, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        let changed = importers.changed.notified();
        let mut changed = std::pin::pin!(changed);
        changed.as_mut().enable();
        if let Some(found) = look() {
            return found;
        }
        changed.await;
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

/// Imports into a queue until the host is lost or something fails. `silence` is that of the host.
pub async fn import(shared: &Shared, source: &Source, silence: &mut Silence) -> Result<(), String> {
    let Source {
        name,
        host,
        rule,
        inbox,
    } = source;
    let identity = if rule.identity { JobId::LEN } else { 0 };
    let max_len = name.max_len.saturating_add(identity);
    let builder = shared.imported(name, rule).max_len(max_len);
    let mut sender = builder
        .sender(&name.name)
        .map_err(|error| error.to_string())?;
    let publisher = shared.acknowledgements(name, host).await?;
    let (run, own) = (random(), origin(host));
    let (mut items, mut row) = (Items::default(), Row::default());
    shared.row(Direction::Import, name, host, |shown| *shown = row.clone());
    let room = IN_FLIGHT.min(sender.capacity());
    // At once, and then with each tick.
    let mut told = Instant::now()
        .checked_sub(TICK)
        .unwrap_or_else(Instant::now);
    loop {
        while let Some(frame) = inbox.pop() {
            silence.broken();
            match parse(&frame.to_bytes()) {
                Ok(Frame::Job(job)) if job.id.origin == own && job.bytes.len() <= name.max_len => {
                    if items.done.contains(&job.id) {
                        row.repeats += 1;
                        _ = publisher.put(Writer::done(Done(job.id))).wait();
                    } else if items.pending.contains_key(&job.id) {
                        row.repeats += 1;
                    } else if items.pending.len() < room
                        && let Some(position) = put(&mut sender, &job, rule.identity)?
                    {
                        items.pending.insert(job.id, position);
                        row.messages += 1;
                        row.bytes += job.bytes.len() as u64;
                    } else {
                        row.refused += 1;
                    }
                }
                Ok(Frame::Batch(head, _)) if head.origin == own => {}
                _ => row.refused += 1,
            }
        }
        for id in items.finished(&sender) {
            _ = publisher.put(Writer::done(Done(id))).wait();
        }
        if is_due(&mut told, TICK) {
            let credit = Credit {
                run,
                items: room as u32,
            };
            _ = publisher.put(Writer::credit(credit)).wait();
            row.lag = items.pending.len() as u64;
            shared.row(Direction::Import, name, host, |shown| *shown = row.clone());
            silence.lasts(TICK);
            if silence.reaches(shared.limits.lost_after()) {
                return Ok(());
            }
        }
        let pause = if items.pending.is_empty() { TICK } else { LOOK };
        _ = time::timeout(pause, inbox.arrived()).await;
    }
}

/// Puts an item into the local queue. Returns its position there, or `None` if the queue is full.
fn put(sender: &mut Sender, job: &Job<'_>, identity: bool) -> Result<Option<u64>, String> {
    let id = job.id.to_bytes();
    let id = if identity { &id[..] } else { &[] };
    let mut loan = match sender.try_loan(id.len() + job.bytes.len()) {
        Ok(loan) => loan,
        Err(SendError::Full) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let (before, item) = loan.split_at_mut(id.len());
    before.copy_from_slice(id);
    item.copy_from_slice(job.bytes);
    let position = loan.position();
    loan.send_imported().map_err(|error| error.to_string())?;
    Ok(Some(position))
}
