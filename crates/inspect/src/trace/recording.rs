//! The file of one process.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::io;

use blitz_io_observe::Kind;
use serde::Deserialize;

use super::children::{CHILD_SPAWN, Children};
use crate::objects::{of_creation, type_of, without_name};
use crate::snapshot::Waiter;

/// The code of the event in which a child is woken.
const CHILD_WAKE: u8 = 32;

/// The format that this version reads.
const FORMAT: u32 = 1;

/// The last events of the threads and tasks of one process, or of several ([`Recording::of_all`]).
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The number of the process.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// Number of events that are missing: each thread keeps its last ones.
    pub lost: u64,
    /// The nanoseconds since 1970 at which the clock of the events was 0; 0 if they are not known.
    pub(super) unix: u64,
    /// The time at which the events were read; 0 if it is not known.
    now: u64,
    is_on: bool,
    /// The numbers of all processes, this one first.
    pub(super) pids: Vec<u32>,
    pub(super) kinds: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) locations: Vec<Option<String>>,
    pub(super) objects: Vec<Option<String>>,
    /// For each process, the moments from which and up to which no event of any thread is missing. Threads lose their oldest
    /// events at different times, and their events are read one after the other.
    pub(super) whole: Vec<[u64; 2]>,
    /// The places at which the objects were created; those that are known.
    pub(super) created: Vec<Option<String>>,
    /// The numbers that a snapshot has for the objects; none if they are not known.
    pub(super) ids: Vec<u64>,
    pub(super) threads: Vec<Thread>,
    /// Sorted by time.
    pub(super) events: Vec<Event>,
    /// The children of scopes.
    pub(super) children: Children,
    /// The tasks whose spawn may not be among the events.
    pub(super) spawned: Vec<Spawned>,
    /// The kinds of waits for objects, by their places.
    pub(super) types: HashMap<usize, u8>,
}

/// A task, and the line that spawned it at an unknown time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spawned {
    pub(super) task: Waiter,
    /// The place of the line that spawned it.
    pub(super) location: usize,
    pub(super) is_job: bool,
}

/// The file, as it is written.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct File {
    format: u32,
    pid: u32,
    command: String,
    lost: u64,
    unix: u64,
    now: u64,
    /// Absent in the file of an older version.
    is_on: Option<bool>,
    /// Older events are left out.
    first: u64,
    /// From this moment on, no event of any thread is lost.
    whole_from: u64,
    kinds: Vec<String>,
    names: Vec<String>,
    locations: Vec<Option<String>>,
    objects: Vec<Option<String>>,
    created: Vec<Option<String>>,
    ids: Vec<u64>,
    threads: Vec<Thread>,
    /// Word, location, 1 for a closure. Absent in the file of an older version.
    spawned: Vec<(u64, usize, u8)>,
    events: Vec<Row>,
}

/// Code, time, kind, target, waiter, other, location.
pub(super) type Row = (u8, u64, u8, u64, u64, u64, usize);

/// A thread.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Thread {
    pub(super) number: u64,
    #[serde(default)]
    pub(super) name: String,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// Nanoseconds of the monotonic clock.
    pub(super) at: u64,
    pub(super) waiter: Waiter,
    pub(super) what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A poll begins in the thread with this number.
    Poll { thread: u64 },
    /// The poll ends.
    PollEnd,
    /// A future begins to wait.
    Wait(For),
    /// The thread begins to block.
    Block(For),
    /// A wait ends.
    WaitEnd(For),
    /// The task is woken.
    Wake { by: Ender },
    /// The task yields: it has woken itself, at this place.
    Yields { location: usize },
    /// The task is spawned.
    Spawn {
        parent: Waiter,
        is_job: bool,
        location: usize,
    },
    /// A lock is taken.
    Acquired {
        /// A place among the kinds of the recording.
        kind: u8,
        object: usize,
        location: usize,
    },
    /// A lock is about to be released.
    Released { object: usize },
    /// A request begins.
    Request { id: u64, name: usize },
    /// A request ends.
    RequestEnd { id: u64 },
    /// The waiter works for a request.
    Enter { id: u64 },
    /// The waiter works for it no more.
    Leave { id: u64 },
    /// Permits of a semaphore are taken.
    Permits {
        object: usize,
        count: u8,
        location: usize,
    },
    /// A thread is about to return the permits.
    PermitsBack { object: usize, count: u8 },
    /// Permits that were taken are forgotten.
    PermitsForgotten { object: usize, count: u8 },
    /// A thread is about to add permits.
    PermitsAdded { object: usize, count: u8 },
    /// A task of a simulation begins an operation on an object.
    Operates { kind: u8, object: usize },
    /// A job of a fork-join pool is in a queue.
    JobQueued { job: u64 },
    /// A thread begins to run it.
    JobBegins { job: u64 },
    /// The thread has run it.
    JobEnds { job: u64 },
    /// A message to another process is about to be sent.
    Sent(Message),
    /// A message of another process is received.
    Received(Message),
    /// The waiter waits for this process, in this segment.
    Peer { segment: u64, pid: u32 },
    /// The thread, which polls the task or is about to, was ready and did not run for `total` nanoseconds in all.
    Delay { thread: u64, total: u64 },
    /// The thread has had a processor for `total` nanoseconds in all. Its `Delay` follows.
    Processor { total: u64 },
    /// The simulation has a sentence with this number about the task.
    Noted {
        /// A place among the kinds of the recording, which is that of the operation on the object that the task has begun to use
        /// last; 0 if it is about none.
        kind: u8,
        number: u64,
        location: usize,
    },
    /// It has one about the reason of the wake-ups by the system that follow in this thread; 0 if it knows none.
    Reason { number: u64 },
    /// The task is aborted.
    Aborted {
        by: Waiter,
        why: Option<Abort>,
        location: usize,
    },
    /// The next wait of the waiter that ends does so because its future is dropped.
    WaitDropped,
    /// The task has ended, or was aborted.
    TaskEnd,
}

/// Why a task is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abort {
    SetDropped,
    SetShutDown,
    ScopeEnded,
    ScopeFailed,
    ScopeDropped,
}

/// A message between processes. Its segment and its position there identify it, in all recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Message {
    pub(super) segment: u64,
    pub(super) position: u64,
}

/// The target of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct For {
    /// A place among the kinds of the recording.
    pub(super) kind: u8,
    pub(super) target: Target,
    /// A place among its locations, or 0.
    pub(super) location: usize,
}

/// The object or the number that a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// A place among the objects.
    Object(usize),
    /// The number of a task, a descriptor, or 0.
    Number(u64),
}

/// Who ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ender {
    Waiter(Waiter),
    /// A timer of the runtime.
    Timer,
    /// A source of the operating system.
    System,
    Unknown,
}

/// Why a text is no recording.
#[derive(Debug)]
pub struct ParseError(Wrong);

#[derive(Debug)]
enum Wrong {
    Json(serde_json::Error),
    Version,
}

impl Display for ParseError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Wrong::Json(error) => write!(f, "it is no recording: {error}"),
            Wrong::Version => f.write_str("another version made this recording"),
        }
    }
}

impl std::error::Error for ParseError {}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// Fails if the text is no recording, or one of another version.
    ///
    /// ```
    /// use blitz_io_inspect::trace::Recording;
    ///
    /// assert!(Recording::parse(b"{\"format\":1}").is_ok());
    /// assert!(Recording::parse(b"{\"format\":1000}").is_err());
    /// ```
    pub fn parse(text: &[u8]) -> Result<Self, ParseError> {
        Self::parse_as(text, Owners::Outermost)
    }

    /// Reads a recording whose events belong to the children of scopes themselves, for [`words`](Self::words).
    ///
    /// # Errors
    ///
    /// Like [`parse`](Self::parse).
    #[doc(hidden)]
    pub fn parse_with_children(text: &[u8]) -> Result<Self, ParseError> {
        Self::parse_as(text, Owners::Children)
    }

    fn parse_as(text: &[u8], owners: Owners) -> Result<Self, ParseError> {
        let file: File =
            serde_json::from_slice(text).map_err(|error| ParseError(Wrong::Json(error)))?;
        if file.format != FORMAT {
            return Err(ParseError(Wrong::Version));
        }
        let children = Children::new(&file.events, &file.kinds);
        let event = |row| event(row, &children, owners);
        let mut events: Vec<Event> = file.events.iter().filter_map(event).collect();
        events.retain(|event| event.at >= file.first);
        // A sort that keeps the order of equal times.
        events.sort_by_key(|event| event.at);
        let spawned = file.spawned.iter().map(|&(word, location, job)| Spawned {
            task: waiter(word),
            location,
            is_job: job != 0,
        });
        let spawned = spawned.collect();
        let types = types(&events);
        Ok(Self {
            pid: file.pid,
            pids: vec![file.pid],
            command: file.command,
            lost: file.lost,
            // An older version does not say when the events were read.
            whole: vec![[
                file.whole_from,
                if file.now == 0 { u64::MAX } else { file.now },
            ]],
            unix: file.unix,
            now: file.now,
            is_on: file.is_on.unwrap_or(true),
            kinds: file.kinds,
            names: file.names,
            locations: file.locations,
            created: file.created,
            objects: file.objects,
            ids: file.ids,
            threads: file.threads,
            events,
            children,
            spawned,
            types,
        })
    }

    /// Returns `false` if the recorder was off when the events were read: they are those of an earlier recording. An older
    /// version does not tell, and then this is `true`.
    #[must_use]
    pub fn is_of_a_recorder(&self) -> bool {
        self.is_on
    }

    /// Leaves out the events that were older than this many nanoseconds when the events were read; in a recording of an older
    /// version, when the last one happened. Returns the moment from which on events are kept.
    pub fn keep_last(&mut self, nanos: u64) -> u64 {
        let last = self.events.last().map_or(0, |event| event.at);
        let first = last.max(self.now).saturating_sub(nanos);
        self.events.retain(|event| event.at >= first);
        first
    }

    /// Writes the text of a recording so that [`parse`](Self::parse) leaves out events before the moment `first`.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    pub fn write_from(first: u64, text: &[u8], to: &mut dyn io::Write) -> io::Result<()> {
        write!(to, "{{\"first\":{first},")?;
        to.write_all(text.strip_prefix(b"{").unwrap_or(text))
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns `true` if there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the time between the first and the last event, in nanoseconds.
    #[must_use]
    pub fn duration(&self) -> u64 {
        let at = |event: Option<&Event>| event.map_or(0, |event| event.at);
        at(self.events.last()) - at(self.events.first())
    }

    /// Returns the nanoseconds since 1970 of a time of the events.
    pub(super) fn unix(&self, at: u64) -> u64 {
        self.unix.saturating_add(at)
    }

    /// Returns the kind of a wait, and its name.
    pub(super) fn kind(&self, kind: u8) -> (Option<Kind>, &str) {
        let name = self.kinds.get(usize::from(kind)).map_or("", String::as_str);
        let found = Kind::ALL.iter().copied().find(|kind| kind.name() == name);
        (found, name)
    }

    /// Returns the text of a location.
    pub(super) fn location(&self, place: usize) -> Option<&str> {
        let location = self.locations.get(place.checked_sub(1)?)?.as_deref()?;
        Some(crate::names::short(location))
    }

    /// Returns the name that the program has given an object.
    pub(super) fn object(&self, place: usize) -> Option<&str> {
        self.objects.get(place.checked_sub(1)?)?.as_deref()
    }

    /// Returns the name of an object for people, as a snapshot's report has it. `kind`: that of the object or of a wait for it.
    pub(super) fn named(&self, kind: &str, place: usize) -> String {
        match self.object(place) {
            Some(name) => format!("{kind} \"{name}\""),
            None => without_name(kind, self.number(kind, place), self.created_at(place)),
        }
    }

    /// Returns the place at which an object was created.
    fn created_at(&self, place: usize) -> Option<&str> {
        of_creation(self.created.get(place.checked_sub(1)?)?.as_deref()?)
    }

    /// Returns the number of an object among those of its type without a name that were created at the same place, from 1.
    /// `None` if the recording has no other one.
    fn number(&self, kind: &str, place: usize) -> Option<usize> {
        let created_at = self.created_at(place);
        let of_type = |other: usize| match self.types.get(&other) {
            Some(&other) => type_of(self.kind(other).1) == type_of(kind),
            None => true,
        };
        let is_alike = |&other: &usize| {
            let is_here = self.object(other).is_none() && self.created_at(other) == created_at;
            is_here && of_type(other)
        };
        let alike: Vec<usize> = (1..=self.objects.len()).filter(is_alike).collect();
        let at = alike.iter().position(|other| *other == place)?;
        (alike.len() > 1).then_some(at + 1)
    }

    /// Returns the name of a request.
    pub(super) fn name(&self, place: usize) -> &str {
        let name = place.checked_sub(1).and_then(|place| self.names.get(place));
        name.map_or("(unnamed)", String::as_str)
    }
}

/// Returns the kinds of waits for objects, by their places.
pub(super) fn types(events: &[Event]) -> HashMap<usize, u8> {
    let known = events.iter().filter_map(|event| match event.what {
        What::Wait(wait) | What::Block(wait) | What::WaitEnd(wait) => match wait.target {
            Target::Object(place) => Some((place, wait.kind)),
            Target::Number(_) => None,
        },
        What::Acquired { kind, object, .. } => Some((object, kind)),
        _ => None,
    });
    known.collect()
}

/// Returns the sum of times. A file that was made by hand may have any times.
pub(super) fn sum(times: impl Iterator<Item = u64>) -> u64 {
    times.fold(0, u64::saturating_add)
}

/// Returns the thread or task of a word.
pub(super) fn waiter(word: u64) -> Waiter {
    if word & 1 == 0 {
        Waiter::Thread(word >> 1)
    } else {
        Waiter::Task(word >> 1)
    }
}

/// The waiters to which the events of children belong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owners {
    /// The tasks and threads that await their scopes.
    Outermost,
    /// The children themselves.
    Children,
}

fn event(row: &Row, children: &Children, owners: Owners) -> Option<Event> {
    let &(code, at, kind, target, word, other, location) = row;
    let are_merged = owners == Owners::Outermost;
    let waiter = |word| match owners {
        Owners::Outermost => children.outermost(waiter(word)),
        Owners::Children => waiter(word),
    };
    let target = match code {
        4 | 6 | 8 if are_merged => children.target(kind, target),
        _ => target,
    };
    let object = usize::try_from(target).unwrap_or(0);
    let wait = |target| For {
        kind,
        target,
        location,
    };
    let for_object = || wait(Target::Object(object));
    let for_number = || wait(Target::Number(target));
    let message = Message {
        segment: other,
        position: target,
    };
    let what = match code {
        1 => What::Poll { thread: other >> 1 },
        2 => What::PollEnd,
        3 => What::Wait(for_object()),
        4 => What::Wait(for_number()),
        5 => What::Block(for_object()),
        6 => What::Block(for_number()),
        7 => What::WaitEnd(for_object()),
        8 => What::WaitEnd(for_number()),
        // Their owner is woken for them, and spawns nothing.
        CHILD_SPAWN | CHILD_WAKE if are_merged => return None,
        9 if location != 0 => What::Yields { location },
        9 | CHILD_WAKE => What::Wake {
            by: match kind {
                1 => Ender::Timer,
                2 => Ender::System,
                // A thread that has no number yet.
                _ if other == 1 => Ender::Unknown,
                _ => Ender::Waiter(waiter(other)),
            },
        },
        10 | CHILD_SPAWN => What::Spawn {
            parent: waiter(other),
            is_job: kind & 1 != 0,
            location,
        },
        11 => What::Acquired {
            kind,
            object,
            location,
        },
        12 => What::Released { object },
        13 => What::Request {
            id: other,
            name: object,
        },
        14 => What::RequestEnd { id: other },
        15 => What::Enter { id: other },
        16 => What::Leave { id: other },
        17 => What::Permits {
            object,
            count: kind,
            location,
        },
        18 => What::PermitsBack {
            object,
            count: kind,
        },
        20 => What::Operates { kind, object },
        21 => What::JobQueued { job: target },
        22 => What::JobBegins { job: target },
        23 => What::JobEnds { job: target },
        24 => What::Sent(message),
        25 => What::Received(message),
        26 => What::Peer {
            segment: other,
            pid: u32::try_from(target).unwrap_or(0),
        },
        27 => What::Delay {
            thread: target,
            total: other,
        },
        29 => What::Noted {
            kind,
            number: target,
            location,
        },
        30 => What::Reason { number: target },
        33 => What::Processor { total: other },
        // Only the words of a simulation have these.
        34 | 35 if are_merged => return None,
        34 => What::Aborted {
            by: waiter(other),
            why: match kind {
                2 => Some(Abort::SetDropped),
                3 => Some(Abort::SetShutDown),
                4 => Some(Abort::ScopeEnded),
                5 => Some(Abort::ScopeFailed),
                6 => Some(Abort::ScopeDropped),
                // The program has called `abort`.
                _ => None,
            },
            location,
        },
        35 => What::WaitDropped,
        36 => What::TaskEnd,
        37 => What::PermitsForgotten {
            object,
            count: kind,
        },
        38 => What::PermitsAdded {
            object,
            count: kind,
        },
        // A newer version may have more.
        _ => return None,
    };
    Some(Event {
        at,
        waiter: waiter(word),
        what,
    })
}
