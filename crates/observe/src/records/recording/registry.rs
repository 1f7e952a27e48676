//! All records of the process: slots in chunks that are never freed.
//!
//! A thread takes a free place from its own list, which needs no lock. If the list is empty, the thread
//! gets a chain of places, of other threads or from a new chunk. If the list is full, it gives a chain
//! away. So most records need no lock. The reader walks the chunks, and takes no lock that a thread may
//! hold while it waits or runs code of the user's.
//!
//! The locks are those of this process (`per_process.rs`): a child of a fork waits for no lock that
//! another thread held, and keeps the parent's records as they were.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::about::Copied;
use super::block::{self, Block, Facts, ObjectRecord, READER};
use super::brief::Brief;
use super::descriptor::{Source, Sources};
use super::local::{KEPT, LOCAL, Local};
use super::place::{Place, Target, TaskFacts, TaskState, Value};
use super::polled;
use super::scope_facts::ScopeFacts;
use super::threads::{self, ThreadRecord};
use super::{Contention, Fill, Kind, Origin, Waiter, clock, totals};
use crate::collections::HashMap;
use crate::records::kernel::poll_slot::Poll;
use blitz_io_futex::per_process::PerProcess;

/// Number of places of a chunk, and the most of a chain of free ones. A thread that keeps too many gives away
/// half of them, so that it does not need them back at once.
const CHAIN: usize = KEPT / 2;

struct Chunk {
    places: [Place; CHAIN],
    next: *const Chunk,
}

static CHUNKS: AtomicPtr<Chunk> = AtomicPtr::new(ptr::null_mut());
static FREE: PerProcess<Mutex<Vec<Chain>>> = PerProcess::new(Mutex::default);
/// Serialises readers.
static TURN: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);

/// A copy of one record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Tells this wait from others of the process.
    pub id: u64,
    /// The address in the waker that the future has kept, or 0.
    pub waker: usize,
    /// The kind.
    pub kind: Kind,
    /// The thread or task that waits.
    pub waiter: Waiter,
    /// The thread that made the record.
    pub thread: Waiter,
    /// The object, if the wait is for one that still exists.
    pub object: Option<Facts>,
    /// The awaited task, for [`Kind::Join`]. The value that the word holds, for [`Kind::Futex`].
    pub number: u64,
    /// The address of the futex on which the thread sleeps, or 0.
    pub word: usize,
    /// The source of the operating system, for [`Kind::Readable`] and [`Kind::Writable`].
    pub source: Option<Source>,
    /// The location at which the program waits.
    pub location: Option<&'static Location<'static>>,
    /// Milliseconds of the monotonic clock.
    pub since: u64,
    /// The wait ends at a deadline at the latest.
    pub is_timed: bool,
    /// The thread sleeps; otherwise a future is pending.
    pub blocks_thread: bool,
    /// The deadline, for a wait that lasts until one.
    pub deadline: Option<Instant>,
    /// The origin of the object, if it is known.
    pub origin: Option<Origin>,
    /// The facts of a task, for [`Kind::Task`].
    pub task: Option<TaskRecord>,
}

/// A copy of a task's part of its record.
#[derive(Clone, Debug)]
pub struct TaskRecord {
    /// The task's state.
    pub state: TaskState,
    /// `true` for a future that a thread drives, which is not a task.
    pub is_root: bool,
    /// `true` for a task that stays on the thread of its first poll. Not known in that poll.
    pub is_pinned: bool,
    /// `true` for a closure on a thread for blocking work, which is not a task.
    pub is_job: bool,
    /// The number of its runtime, or 0.
    pub runtime: u64,
    /// The address in its wakers, or 0 before its first poll.
    pub header: usize,
    /// Number of references to it beside its own, its join handle's and its scope's.
    pub wakers: usize,
    /// Changes when a poll begins.
    pub polls: u64,
    /// Its name, or an empty string.
    pub name: String,
    /// The time at which its current poll began, up to a quarter of a second too early; or 0.
    pub poll_since: u64,
    /// The number of the thread that polls it, or polled it last.
    pub thread: u64,
    /// The task or thread that spawned it; `None` if that is not known yet.
    pub origin: Option<Origin>,
    /// The scope of which it is a child.
    pub scope: Option<ScopeFacts>,
}

/// Free places, linked.
struct Chain {
    first: &'static Place,
    count: usize,
}

thread_local! {
    static OWNED: Owned = const { Owned };
}

/// Gives away the places of a thread that ends.
struct Owned;

impl Drop for Owned {
    fn drop(&mut self) {
        let kept = LOCAL.with(|local| (local.places.replace(KEPT), local.first_place.take()));
        if let (count, Some(first)) = kept {
            push_chain(Chain { first, count });
        }
    }
}

/// Returns `true` if this thread keeps free places, as it is not about to end.
fn keeps_places() -> bool {
    OWNED.try_with(|_| ()).is_ok()
}

fn push_chain(chain: Chain) {
    FREE.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(chain);
}

/// Takes a free place.
#[inline]
pub(super) fn take() -> &'static Place {
    take_kept().unwrap_or_else(take_shared)
}

/// Takes a free place of this thread.
#[inline]
pub(super) fn take_kept() -> Option<&'static Place> {
    LOCAL.with(|local| {
        let place = local.first_place.get()?;
        local.first_place.set(place.next());
        local.places.set(local.places.get() - 1);
        Some(place)
    })
}

/// Takes a place of a shared chain, and keeps the others of the chain.
#[cold]
fn take_shared() -> &'static Place {
    let Chain { first, count } = pop_chain();
    let rest = first.next();
    if keeps_places() {
        LOCAL.with(|local| {
            local.first_place.set(rest);
            local.places.set(count - 1);
        });
    } else if let Some(rest) = rest {
        push_chain(Chain {
            first: rest,
            count: count - 1,
        });
    }
    first
}

fn pop_chain() -> Chain {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(chain) = free.pop() {
        return chain;
    }
    let chunk: &'static Chunk = Box::leak(Box::new(Chunk {
        places: [const { Place::new() }; CHAIN],
        // Chunks are added under the lock of `FREE`.
        next: CHUNKS.load(Ordering::Relaxed),
    }));
    CHUNKS.store(ptr::from_ref(chunk).cast_mut(), Ordering::Release);
    for pair in chunk.places.windows(2) {
        pair[0].link(Some(&pair[1]));
    }
    Chain {
        first: &chunk.places[0],
        count: CHAIN,
    }
}

/// Returns a place, which has no record.
#[inline]
pub(super) fn put_back(place: &'static Place) {
    LOCAL.with(|local| {
        let count = local.places.get();
        if count == KEPT {
            return put_back_shared(place, local);
        }
        place.link(local.first_place.replace(Some(place)));
        local.places.set(count + 1);
    });
}

/// Returns a place of a thread that has too many, or has had none, or is about to end.
#[cold]
fn put_back_shared(place: &'static Place, local: &Local) {
    if !keeps_places() {
        place.link(None);
        return push_chain(Chain {
            first: place,
            count: 1,
        });
    }
    if let Some(first) = local.first_place.take() {
        // The places that were used last stay here.
        let mut last = first;
        for _ in 1..CHAIN {
            last = last.next().unwrap_or(last);
        }
        local.first_place.set(Some(first));
        if let Some(rest) = last.next() {
            last.link(None);
            push_chain(Chain {
                first: rest,
                count: KEPT - CHAIN,
            });
        }
        local.places.set(CHAIN);
    } else {
        local.places.set(0);
    }
    put_back(place);
}

/// The state of a task, as the reader has seen it.
struct Seen {
    header: usize,
    state: TaskState,
    wakers: usize,
    polls: u64,
    job: Option<Copied>,
    scope: Option<ScopeFacts>,
}

/// Copies all records, and the threads. Does not wait for a thread that waits.
#[must_use]
pub fn read() -> (Vec<Record>, Vec<ThreadRecord>) {
    read_chosen(|_| true)
}

/// Copies the records that `chooses` returns `true` for, those of tasks in their first polls, and the threads. `chooses`
/// waits for nothing, and uses no primitive of this library.
#[must_use]
pub fn read_chosen(mut chooses: impl FnMut(&Brief) -> bool) -> (Vec<Record>, Vec<ThreadRecord>) {
    clock::keep_time();
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let reading = READER.begin();
    // First: a task gets its record before its poll ends.
    let mut polls: HashMap<u64, Poll> = polled::read().into_iter().map(|p| (p.task, p)).collect();
    let mut records = Vec::new();
    let mut sources = Sources::default();
    let mut chunk: *const Chunk = CHUNKS.load(Ordering::Acquire);
    // SAFETY: chunks are never freed.
    while let Some(here) = unsafe { chunk.as_ref() } {
        for place in &here.places {
            // The copy allocates nothing, and runs no code of the user's.
            let copied = reading.read(&place.slot, |value| {
                let polls = place.polls.load(Ordering::Acquire);
                let header = place.header.load(Ordering::Acquire);
                // SAFETY: the record is set while `read` runs this.
                let task = unsafe { place.task(value) };
                let job = task.and_then(|task| task.job);
                let mut seen = Seen {
                    header: header.addr(),
                    state: TaskState::Scheduled,
                    wakers: 0,
                    polls,
                    // SAFETY: a description outlives its record, which is set now.
                    job: job.map(|job| unsafe { job.copy() }),
                    scope: None,
                };
                if let Some(task) = task.filter(|_| !header.is_null()) {
                    // SAFETY: the record is set while `read` runs this.
                    let read = unsafe { (task.state)(header) };
                    (seen.state, seen.wakers, seen.scope) = (read.state, read.wakers, read.scope);
                }
                (*value, task, seen)
            });
            if let Some((value, task, mut seen)) = copied {
                if place.polls.load(Ordering::Acquire) != seen.polls {
                    seen.state = TaskState::Running;
                }
                let poll = if task.is_some() {
                    polls.remove(&value.waiter.word())
                } else {
                    None
                };
                if poll.is_some() {
                    seen.state = TaskState::Running;
                }
                if !chooses(&Brief::new(&value, task.as_ref(), seen.state, seen.scope)) {
                    continue;
                }
                let mut record = record(place, &value, task, &seen, poll);
                record.source = sources.of(value.kind, record.number).filter(|_| {
                    // Otherwise the descriptor may be another source's by now.
                    reading.read(&place.slot, |now| now.id) == Some(value.id)
                });
                records.push(record);
            }
        }
        chunk = here.next;
    }
    records.extend(polls.values().filter_map(first_poll));
    (records, threads::all())
}

/// Copies the objects for which a wait has ended and the channels, one after another, for `f`. Returns the totals of
/// objects that were dropped. Does not wait for a thread that waits.
pub fn for_each_object(f: impl FnMut(ObjectRecord)) -> Vec<Contention> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // First, so that the totals of an object that is dropped at the same time are not read twice.
    let dropped = totals::dropped();
    block::for_each_object(&READER.begin(), f);
    dropped
}

/// Returns the address of the futex on which the thread of this wait sleeps, or `None` if the wait has
/// ended, or its thread is awake.
pub(super) fn word_of(wait: u64) -> Option<usize> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let reading = READER.begin();
    let mut chunk: *const Chunk = CHUNKS.load(Ordering::Acquire);
    // SAFETY: chunks are never freed.
    while let Some(here) = unsafe { chunk.as_ref() } {
        for place in &here.places {
            let word = |value: &Value| (value.id == wait).then(|| value.word());
            let found = reading.read(&place.slot, word).flatten();
            if let Some(word) = found.filter(|&word| word != 0) {
                return Some(word);
            }
        }
        chunk = here.next;
    }
    None
}

/// Returns `true` if a future of the task with this word is pending that waits for something of this kind. That of the task
/// itself does not count.
pub(super) fn has_pending_future(task: u64, is_it: impl Fn(Kind) -> bool) -> bool {
    find_pending(task, |value| is_it(value.kind).then_some(())).is_some()
}

/// Returns the first value that `f` finds in a pending future of the task with this word. `f` waits for nothing.
pub(super) fn find_pending<R>(task: u64, mut f: impl FnMut(&Value) -> Option<R>) -> Option<R> {
    let is_it = |value: &Value| {
        value.waiter.word() == task && value.kind != Kind::Task && !value.blocks_thread
    };
    find(|value| if is_it(value) { f(value) } else { None })
}

/// Returns `true` if a future or a thread waits for the object with this block.
pub(super) fn is_awaited(block: &'static Block) -> bool {
    let is_it = |value: &Value| {
        let is_of_block =
            matches!(value.target, Target::Object(other, _) if std::ptr::eq(other, block));
        is_of_block && value.kind != Kind::Task
    };
    find(|value| is_it(value).then_some(())).is_some()
}

/// Returns the first value that `f` finds in a record. `f` waits for nothing.
fn find<R>(mut f: impl FnMut(&Value) -> Option<R>) -> Option<R> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let reading = READER.begin();
    let mut chunk: *const Chunk = CHUNKS.load(Ordering::Acquire);
    // SAFETY: chunks are never freed.
    while let Some(here) = unsafe { chunk.as_ref() } {
        for place in &here.places {
            let found = reading.read(&place.slot, |value| f(value));
            if let Some(found) = found.flatten() {
                return Some(found);
            }
        }
        chunk = here.next;
    }
    None
}

/// Returns how full a channel is, if it says so.
pub(super) fn fill_of(block: &Block) -> Option<Fill> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    READER.begin().read(&block.fill, |probe| {
        // SAFETY: the promise of the slot's owner holds while the slot is read.
        unsafe { (probe.read)(probe.channel) }
    })
}

/// Returns the time at which a poll began, in milliseconds, or 0.
fn since(poll: &Poll) -> u64 {
    if clock::is_kept() {
        poll.since / 1_000_000
    } else {
        0
    }
}

/// Returns the number of the thread with this word, or 0.
fn thread_number(word: u64) -> u64 {
    Waiter::from_word(word).map_or(0, Waiter::number)
}

/// Returns the record of a task that is polled and has none.
fn first_poll(poll: &Poll) -> Option<Record> {
    let waiter = Waiter::from_word(poll.task)?;
    Some(Record {
        id: 0,
        waker: 0,
        kind: Kind::Task,
        waiter,
        thread: Waiter::from_word(poll.thread)?,
        object: None,
        number: 0,
        word: 0,
        source: None,
        // SAFETY: null, or from a `&'static`.
        location: unsafe { poll.location.as_ref() },
        since: since(poll),
        is_timed: false,
        blocks_thread: false,
        deadline: None,
        origin: None,
        task: Some(TaskRecord {
            state: TaskState::Running,
            is_root: false,
            is_pinned: false,
            is_job: false,
            // Known when the poll has ended.
            runtime: 0,
            header: 0,
            wakers: 0,
            polls: 0,
            name: String::new(),
            poll_since: since(poll),
            thread: thread_number(poll.thread),
            origin: None,
            scope: None,
        }),
    })
}

fn record(
    place: &Place,
    value: &Value,
    task: Option<TaskFacts>,
    seen: &Seen,
    poll: Option<Poll>,
) -> Record {
    let (object, number, origin) = match value.target {
        Target::Object(block, generation) => {
            let facts = block.facts();
            let object = block.is_still(generation).then_some(facts);
            let origin = object.as_ref().and_then(|facts| facts.origin);
            (object, 0, origin)
        }
        Target::Number(number) => (None, number, None),
        Target::Until(_) => (None, 0, None),
        Target::Made(origin) => (None, 0, Some(origin)),
    };
    let task = task.map(|task| {
        let length = task
            .name
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(task.name.len());
        TaskRecord {
            state: if poll.is_some() {
                TaskState::Running
            } else {
                seen.state
            },
            header: seen.header,
            is_root: task.is_root,
            is_pinned: task.is_pinned,
            is_job: task.job.is_some(),
            runtime: task.runtime,
            wakers: seen.wakers,
            polls: seen.polls,
            name: match &seen.job {
                Some(job) => job.name(),
                None => String::from_utf8_lossy(&task.name[..length]).into_owned(),
            },
            poll_since: poll.as_ref().map_or(0, since),
            thread: thread_number(
                poll.map_or_else(|| place.thread.load(Ordering::Relaxed), |poll| poll.thread),
            ),
            origin: Some(task.origin),
            scope: seen.scope,
        }
    });
    Record {
        id: value.id,
        waker: value.waker(),
        kind: value.kind,
        waiter: value.waiter,
        thread: value.thread,
        object,
        number,
        word: value.word(),
        source: None,
        location: value.location,
        since: value.since / 1_000_000,
        is_timed: value.is_timed,
        blocks_thread: value.blocks_thread,
        deadline: match value.target {
            Target::Until(deadline) => Some(deadline),
            _ => None,
        },
        origin,
        task,
    }
}
