//! The waits of a task's futures in one poll: for sockets without a deadline, and for events that woke the task
//! without need.
//!
//! # Events
//!
//! A wait for an event that ends in a poll, and begins again in the same poll, for the same object and at the same
//! line, was for nothing, or is a step of a loop. One that ends without that was progress. Both are counted for each
//! object and line, with the number of tasks; `blitz-io-inspect` judges the figures.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use super::edges::{EVENTS, Side, address, lost};
use super::lock::{At, Lock};
use crate::records::recording::place::{Target, Value};
use crate::{Kind, Mode};

/// The maximum number of tasks of an event that have counts of their own.
const TASKS: usize = 64;
/// The most waits of a poll that are looked at.
const WAITS: usize = 64;

/// The waits of one poll.
#[derive(Default)]
pub(super) struct Waits {
    /// The sockets for which a wait has begun.
    sockets: Vec<Socket>,
    /// The events whose wait has ended.
    ended: Vec<Event>,
    /// Those whose wait has ended and begun again.
    again: Vec<Event>,
    /// The number of requests, one within the other, for which the poll works at the moment.
    depth: u32,
    /// The place of the name of the last request for which it worked, or 0.
    pub(super) request: u64,
}

/// A wait for a socket.
#[derive(Clone, Copy)]
struct Socket {
    /// The number of the wait.
    id: u64,
    side: Side,
    /// The poll worked for a request when the wait began.
    is_of_request: bool,
}

/// An event, and the line at which the program waits for it.
#[derive(Clone, Copy)]
struct Event {
    lock: Lock,
    at: At,
}

/// Counts of the wake-ups by an event.
pub(super) struct Storm {
    pub(super) side: Side,
    /// The line at which one of the tasks was spawned.
    pub(super) task_at: At,
    /// One of the tasks.
    pub(super) task: u64,
    /// The number of times that a task waited again at once.
    pub(super) again: u64,
    /// The number of times that a task did not.
    pub(super) progressed: u64,
    tasks: HashSet<u64>,
}

type Storms = HashMap<(u64, u32, u64), Storm>;

static STORMS: PerProcess<Mutex<Storms>> = PerProcess::new(Mutex::default);

pub(super) fn storms() -> MutexGuard<'static, Storms> {
    STORMS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Event {
    fn of(value: &Value) -> Option<Self> {
        let is_event = value.kind == Kind::Notify && value.kind.semantics().mode == Mode::Event;
        let Target::Object(block, generation) = value.target else {
            return None;
        };
        let lock = Lock {
            generation,
            ..Lock::new(block, value.kind, None)
        };
        is_event.then_some(Self {
            lock,
            at: value.location,
        })
    }

    fn key(&self) -> (u64, u32, u64) {
        let (block, generation) = self.lock.id();
        (block, generation, address(self.at))
    }
}

impl Waits {
    /// A future of the task has begun to wait.
    pub(super) fn begin(&mut self, value: &Value) {
        if matches!(value.kind, Kind::Readable | Kind::Writable) {
            if self.sockets.len() < WAITS {
                let side = Side {
                    lock: (0, 0),
                    kind: value.kind,
                    name: None,
                    made_at: None,
                    at: value.location,
                };
                self.sockets.push(Socket {
                    id: value.id,
                    side,
                    is_of_request: self.is_in_request(),
                });
            }
        } else if let Some(event) = Event::of(value) {
            let is_it = |other: &Event| other.key() == event.key();
            if let Some(at) = self.ended.iter().position(is_it) {
                self.again.push(self.ended.swap_remove(at));
            }
        }
    }

    /// A wait of the task has ended.
    pub(super) fn end(&mut self, value: &Value) {
        if matches!(value.kind, Kind::Readable | Kind::Writable) {
            self.sockets.retain(|socket| socket.id != value.id);
        } else if let Some(event) = Event::of(value) {
            if self.ended.len() + self.again.len() < WAITS {
                self.ended.push(event);
            }
        }
    }

    /// Adds the sockets of a child's poll within this one.
    pub(super) fn add_sockets(&mut self, child: &Self) {
        let room = WAITS.saturating_sub(self.sockets.len());
        self.sockets.extend(child.sockets.iter().take(room));
    }

    /// Forgets all, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.sockets.clear();
        self.ended.clear();
        self.again.clear();
        (self.depth, self.request) = (0, 0);
    }

    /// Returns the sockets for which the poll has begun to wait, and still does: all, or those whose wait began while the poll
    /// worked for a request.
    pub(super) fn sockets(&self, all: bool) -> impl Iterator<Item = Side> + '_ {
        let sockets = self.sockets.iter();
        let chosen = sockets.filter(move |socket| all || socket.is_of_request);
        chosen.map(|socket| socket.side)
    }

    /// The poll works for a request, whose name has this place.
    pub(super) fn enter_request(&mut self, name: u64) {
        self.depth += 1;
        self.request = name;
    }

    /// The poll works for it no more.
    pub(super) fn leave_request(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Returns `true` if the poll works for a request at the moment.
    pub(super) fn is_in_request(&self) -> bool {
        self.depth != 0
    }

    /// Counts the events at the end of the poll.
    pub(super) fn count(&self, task: u64, task_at: At) {
        if self.ended.is_empty() && self.again.is_empty() {
            return;
        }
        let mut storms = storms();
        let mut is_full = false;
        for (event, is_again) in (self.ended.iter().map(|event| (event, false)))
            .chain(self.again.iter().map(|event| (event, true)))
        {
            if storms.len() >= EVENTS && !storms.contains_key(&event.key()) {
                is_full = true;
                continue;
            }
            let storm = storms.entry(event.key()).or_insert_with(|| Storm {
                side: Side::new(&event.lock, event.at),
                task_at,
                task,
                again: 0,
                progressed: 0,
                tasks: HashSet::new(),
            });
            if is_again {
                storm.again += 1;
            } else {
                storm.progressed += 1;
            }
            if storm.tasks.len() < TASKS {
                storm.tasks.insert(task);
            }
        }
        drop(storms);
        if is_full {
            lost(|lost| &mut lost.events);
        }
    }
}

impl Storm {
    /// The number of tasks, up to a bound.
    pub(super) fn tasks(&self) -> usize {
        self.tasks.len()
    }
}
