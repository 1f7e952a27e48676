//! All records of the process: slots in chunks that are never freed.
//!
//! A thread takes a free slot from its own list, else from the list of all threads, else from a new
//! chunk. The reader walks the chunks, and takes no lock that a thread may hold while it waits or
//! runs code of the user's.
//!
//! The locks are those of this process (`per_process.rs`): a child of a fork waits for no lock that
//! another thread held, and keeps the parent's records as they were.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::about::{AboutRef, Copied};
use super::block::{self, Block, Facts, ObjectRecord};
use super::descriptor::{Source, Sources};
use super::poll_slot::Poll;
use super::polled;
use super::slot::Slot;
use super::threads::{self, ThreadRecord};
use super::{Contention, Kind, Waiter, clock, totals};
use crate::PerProcess;

const SLOTS: usize = 64;
/// A thread keeps at most this many free slots.
const KEPT: usize = 64;

/// One place for a record.
pub(super) struct Place {
    pub(super) slot: Slot<Value>,
    /// For a task: the thread that polls it, or polled it last.
    pub(super) thread: AtomicU64,
    /// How many polls of tasks have begun that had this place.
    pub(super) polls: AtomicU64,
    /// For a task: its header, or null before its first poll. Valid while the record is set.
    pub(super) header: AtomicPtr<()>,
}

struct Chunk {
    places: [Place; SLOTS],
    next: *const Chunk,
}

static CHUNKS: AtomicPtr<Chunk> = AtomicPtr::new(ptr::null_mut());
static FREE: PerProcess<Mutex<Vec<&'static Place>>> = PerProcess::new(Mutex::default);
/// Serialises readers; see `slot.rs`.
static READER: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);

/// The value of a slot.
#[derive(Clone, Copy)]
pub(super) struct Value {
    /// The same wait has the same number, also if its thread sleeps several times.
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) waiter: Waiter,
    pub(super) thread: Waiter,
    pub(super) block: Option<(&'static Block, u32)>,
    pub(super) number: u64,
    /// The address in the waker that the future has kept, or 0.
    pub(super) waker: usize,
    /// The address of the futex on which the thread sleeps, or 0.
    pub(super) word: usize,
    pub(super) location: Option<&'static Location<'static>>,
    /// Milliseconds of the monotonic clock.
    pub(super) since: u64,
    /// Nanoseconds of the same clock, or 0 if this wait is not measured.
    pub(super) begun: u64,
    pub(super) is_timed: bool,
    pub(super) blocks_thread: bool,
    pub(super) task: Option<TaskFacts>,
}

/// A task, as its record knows it.
#[derive(Clone, Copy)]
pub struct TaskFacts {
    /// Reads from a task's header its state, and how many references it has beside its own and its
    /// join handle's: its wakers, and handles that can abort it.
    ///
    /// # Safety
    ///
    /// It is called with the header while the record is set.
    pub state: unsafe fn(*const ()) -> (TaskState, usize),
    /// The first bytes of its name.
    pub name: [u8; 32],
    /// It is not a task, but a future that a thread drives.
    pub is_root: bool,
    /// It is not a task, but a closure on a thread for blocking work, which this describes.
    pub job: Option<AboutRef>,
    /// The number of its runtime, or 0.
    pub runtime: u64,
}

/// The state of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// It waits for a wake-up.
    Idle,
    /// It was woken and is queued.
    Scheduled,
    /// A thread polls it.
    Running,
}

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
    /// Where the program waits.
    pub location: Option<&'static Location<'static>>,
    /// Milliseconds of the monotonic clock.
    pub since: u64,
    /// The wait ends at a deadline at the latest.
    pub is_timed: bool,
    /// The thread sleeps; otherwise a future is pending.
    pub blocks_thread: bool,
    /// For [`Kind::Task`].
    pub task: Option<TaskRecord>,
}

/// A copy of a task's part of its record.
#[derive(Clone, Debug)]
pub struct TaskRecord {
    /// The task's state.
    pub state: TaskState,
    /// It is not a task, but a future that a thread drives.
    pub is_root: bool,
    /// It is not a task, but a closure on a thread for blocking work.
    pub is_job: bool,
    /// The number of its runtime, or 0.
    pub runtime: u64,
    /// The address in its wakers, or 0 before its first poll.
    pub header: usize,
    /// How many references it has beside its own and its join handle's.
    pub wakers: usize,
    /// Changes when a poll begins.
    pub polls: u64,
    /// Its name, or an empty string.
    pub name: String,
    /// When its current poll began, up to a quarter of a second too early; or 0.
    pub poll_since: u64,
    /// The number of the thread that polls it, or polled it last.
    pub thread: u64,
}

/// The free slots of one thread.
struct Kept(RefCell<Vec<&'static Place>>);

impl Drop for Kept {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.append(self.0.get_mut());
    }
}

thread_local! {
    static KEPT_HERE: Kept = const { Kept(RefCell::new(Vec::new())) };
}

/// Takes a free place.
#[inline]
pub(super) fn take() -> &'static Place {
    let kept = KEPT_HERE.try_with(|kept| kept.0.borrow_mut().pop());
    kept.ok().flatten().unwrap_or_else(take_shared)
}

#[cold]
fn take_shared() -> &'static Place {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = free.pop() {
        return place;
    }
    let chunk: &'static Chunk = Box::leak(Box::new(Chunk {
        places: [const {
            Place {
                slot: Slot::new(),
                thread: AtomicU64::new(0),
                polls: AtomicU64::new(0),
                header: AtomicPtr::new(ptr::null_mut()),
            }
        }; SLOTS],
        // Chunks are added under the lock of `FREE`.
        next: CHUNKS.load(Ordering::Relaxed),
    }));
    CHUNKS.store(ptr::from_ref(chunk).cast_mut(), Ordering::Release);
    free.extend(&chunk.places[1..]);
    &chunk.places[0]
}

/// Returns a place, which has no record.
#[inline]
pub(super) fn put_back(place: &'static Place) {
    let kept = KEPT_HERE.try_with(|kept| {
        let mut kept = kept.0.borrow_mut();
        let fits = kept.len() < KEPT;
        if fits {
            kept.push(place);
        }
        fits
    });
    if kept != Ok(true) {
        FREE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(place);
    }
}

/// The state of a task, as the reader has seen it.
struct Seen {
    header: usize,
    state: TaskState,
    wakers: usize,
    polls: u64,
    job: Option<Copied>,
}

/// Copies all records, and the threads. Does not wait for a thread that waits.
#[must_use]
pub fn read() -> (Vec<Record>, Vec<ThreadRecord>) {
    clock::keep_time();
    let _reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
    // First: a task gets its record before its poll ends.
    let mut polls: HashMap<u64, Poll> = polled::read().into_iter().map(|p| (p.task, p)).collect();
    let mut records = Vec::new();
    let mut sources = Sources::default();
    let mut chunk: *const Chunk = CHUNKS.load(Ordering::Acquire);
    // SAFETY: chunks are never freed.
    while let Some(here) = unsafe { chunk.as_ref() } {
        for place in &here.places {
            // The copy allocates nothing, and runs no code of the user's.
            let copied = place.slot.read(|value| {
                let polls = place.polls.load(Ordering::Acquire);
                let header = place.header.load(Ordering::Acquire);
                let job = value.task.and_then(|task| task.job);
                let mut seen = Seen {
                    header: header.addr(),
                    state: TaskState::Scheduled,
                    wakers: 0,
                    polls,
                    // SAFETY: a description outlives its record, which is set now.
                    job: job.map(|job| unsafe { job.copy() }),
                };
                if let Some(task) = value.task.filter(|_| !header.is_null()) {
                    // SAFETY: the record is set while `read` runs this.
                    (seen.state, seen.wakers) = unsafe { (task.state)(header) };
                }
                (*value, seen)
            });
            if let Some((value, mut seen)) = copied {
                if place.polls.load(Ordering::Acquire) != seen.polls {
                    seen.state = TaskState::Running;
                }
                let poll = if value.task.is_some() {
                    polls.remove(&value.waiter.word())
                } else {
                    None
                };
                let mut record = record(place, &value, &seen, poll);
                record.source = sources.of(value.kind, value.number).filter(|_| {
                    // Otherwise the descriptor may be another source's by now.
                    place.slot.read(|now| now.id) == Some(value.id)
                });
                records.push(record);
            }
        }
        chunk = here.next;
    }
    records.extend(polls.values().filter_map(first_poll));
    (records, threads::all())
}

/// Copies the objects for which a wait has ended, the channels, and the totals of objects that were
/// dropped. Does not wait for a thread that waits.
#[must_use]
pub fn objects() -> (Vec<ObjectRecord>, Vec<Contention>) {
    let _reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
    // First, so that the totals of an object that is dropped meanwhile are not read twice.
    let dropped = totals::dropped();
    (block::objects(), dropped)
}

/// Returns the address of the futex on which the thread of this wait sleeps. `None` if the wait has
/// ended, or its thread is awake.
pub(super) fn word_of(wait: u64) -> Option<usize> {
    let _reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut chunk: *const Chunk = CHUNKS.load(Ordering::Acquire);
    // SAFETY: chunks are never freed.
    while let Some(here) = unsafe { chunk.as_ref() } {
        for place in &here.places {
            let word = |value: &Value| (value.id == wait && value.word != 0).then_some(value.word);
            if let Some(word) = place.slot.read(word).flatten() {
                return Some(word);
            }
        }
        chunk = here.next;
    }
    None
}

/// When a poll began, or 0.
fn since(poll: &Poll) -> u64 {
    if clock::is_kept() { poll.since } else { 0 }
}

/// The record of a task that is polled and has none.
fn first_poll(poll: &Poll) -> Option<Record> {
    let waiter = Waiter::from_word(poll.task)?;
    Some(Record {
        id: 0,
        waker: 0,
        kind: Kind::Task,
        waiter,
        thread: Waiter::from_thread(poll.thread),
        object: None,
        number: 0,
        word: 0,
        source: None,
        // SAFETY: null, or from a `&'static`.
        location: unsafe { poll.location.as_ref() },
        since: since(poll),
        is_timed: false,
        blocks_thread: false,
        task: Some(TaskRecord {
            state: TaskState::Running,
            is_root: false,
            is_job: false,
            // Known when the poll has ended.
            runtime: 0,
            header: 0,
            wakers: 0,
            polls: 0,
            name: String::new(),
            poll_since: since(poll),
            thread: poll.thread,
        }),
    })
}

fn record(place: &Place, value: &Value, seen: &Seen, poll: Option<Poll>) -> Record {
    let object = value.block.and_then(|(block, generation)| {
        let facts = block.facts();
        block.is_still(generation).then_some(facts)
    });
    let task = value.task.map(|task| {
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
            is_job: task.job.is_some(),
            runtime: task.runtime,
            wakers: seen.wakers,
            polls: seen.polls,
            name: match &seen.job {
                Some(job) => job.name(),
                None => String::from_utf8_lossy(&task.name[..length]).into_owned(),
            },
            poll_since: poll.as_ref().map_or(0, since),
            thread: poll.map_or(place.thread.load(Ordering::Relaxed), |poll| poll.thread),
        }
    });
    Record {
        id: value.id,
        waker: value.waker,
        kind: value.kind,
        waiter: value.waiter,
        thread: value.thread,
        object,
        number: value.number,
        word: value.word,
        source: None,
        location: value.location,
        since: value.since,
        is_timed: value.is_timed,
        blocks_thread: value.blocks_thread,
        task,
    }
}
