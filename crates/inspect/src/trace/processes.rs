//! Recordings of several processes as one.
//!
//! The numbers of threads, tasks, requests and jobs of process `n`, counted from 0, have `n` in their high bits. So a
//! task of one process is none of another, and all else works as for one process.
//!
//! The clocks of the recordings are the same on most systems. Otherwise the time of day says how far they are apart. In
//! both cases no message may be received before it is sent, which corrects the difference.

use std::collections::HashMap;

use super::recording::{
    Ender, Event, For, Message, Recording, Spawned, Target, Thread, What, types,
};
use crate::snapshot::Waiter;

/// The bits of a number that are its own.
const BITS: u32 = 56;
const OWN: u64 = (1 << BITS) - 1;
/// The most processes.
const MOST: usize = 1 << 7;
/// The numbers of roots, which are the futures of `block_on`, begin here.
const ROOTS: u64 = 1 << 52;
/// Clocks that seem to be no further apart than this, in nanoseconds, are one.
const SAME: u64 = 1_000_000;

/// Returns the number that a thread or task has in its process.
pub(super) const fn local(number: u64) -> u64 {
    number & OWN
}

/// Returns `true` if this is the number of the future of a `block_on`.
pub(super) const fn is_root(task: u64) -> bool {
    local(task) >= ROOTS
}

/// Returns the place of the process of a number.
pub(super) const fn place(number: u64) -> u64 {
    number >> BITS
}

const fn number(waiter: Waiter) -> u64 {
    match waiter {
        Waiter::Thread(number) | Waiter::Task(number) => number,
        Waiter::Process(_) => 0,
    }
}

impl Recording {
    /// Returns the recordings of several processes as one. The first one is that of the program; those after the 128th
    /// are left out. Without any, the result is empty.
    ///
    /// A request of one process then has the time that it spent in another one, to which it sent a message through
    /// `blitz_io::ipc`.
    ///
    /// ```
    /// use blitz_io_inspect::trace::Recording;
    ///
    /// let of = |pid| Recording::parse(format!("{{\"format\":1,\"pid\":{pid}}}").as_bytes());
    /// let both = Recording::of_all([of(7)?, of(8)?]);
    /// assert_eq!(both.pid, 7);
    /// # Ok::<(), blitz_io_inspect::trace::ParseError>(())
    /// ```
    #[must_use]
    pub fn of_all(recordings: impl IntoIterator<Item = Self>) -> Self {
        let mut all = recordings.into_iter();
        let mut first = all.next().unwrap_or_default();
        for next in all.take(MOST - 1) {
            first.add(next);
        }
        first.events.sort_by_key(|event| event.at);
        first.types = types(&first.events);
        first
    }

    /// Returns the number of the process of a thread or task.
    pub(super) fn process_of(&self, waiter: Waiter) -> u32 {
        let place = place(number(waiter)) as usize;
        self.pids.get(place).copied().unwrap_or(self.pid)
    }

    /// Returns `true` if the recording has the events of all threads at the moment of this one.
    pub(super) fn is_whole_at(&self, event: &Event) -> bool {
        let place = place(number(event.waiter)) as usize;
        let [from, to] = self.whole.get(place).copied().unwrap_or([0, u64::MAX]);
        (from..=to).contains(&event.at)
    }

    fn add(&mut self, mut other: Self) {
        if self.pids.is_empty() {
            self.pids.push(self.pid);
        }
        let shift = self.shift(&other);
        let kinds = other.kinds.iter().map(|kind| self.place_of_kind(kind));
        let moved = Moved {
            kinds: kinds.collect(),
            process: (self.pids.len() as u64) << BITS,
            names: self.names.len(),
            locations: self.locations.len(),
            objects: self.objects.len(),
        };
        self.pids.push(other.pid);
        self.whole.resize(self.pids.len() - 1, [0, u64::MAX]);
        let whole = other.whole.first().copied().unwrap_or([0, u64::MAX]);
        let whole = whole.map(|at| at.saturating_add_signed(shift));
        self.whole.push(whole);
        self.lost = self.lost.saturating_add(other.lost);
        self.names.append(&mut other.names);
        self.locations.append(&mut other.locations);
        self.created.resize(self.objects.len(), None);
        self.created.append(&mut other.created);
        self.objects.append(&mut other.objects);
        let threads = other.threads.into_iter().map(|thread| Thread {
            number: moved.number(thread.number),
            name: thread.name,
        });
        self.threads.extend(threads);
        let spawned = other.spawned.iter().map(|spawned| Spawned {
            task: moved.waiter(spawned.task),
            location: moved.location(spawned.location),
            ..*spawned
        });
        self.spawned.extend(spawned);
        let events = other.events.iter().map(|event| Event {
            at: event.at.saturating_add_signed(shift),
            waiter: moved.waiter(event.waiter),
            what: moved.what(event.what),
        });
        self.events.extend(events);
    }

    fn place_of_kind(&mut self, kind: &str) -> u8 {
        let known = self.kinds.iter().position(|other| other == kind);
        let place = known.unwrap_or_else(|| {
            self.kinds.push(kind.to_owned());
            self.kinds.len() - 1
        });
        u8::try_from(place).unwrap_or(u8::MAX)
    }

    /// Returns what the times of the other recording need to be those of this one.
    fn shift(&self, other: &Self) -> i64 {
        let apart = other.unix.abs_diff(self.unix);
        let by_day = if apart <= SAME || self.unix == 0 || other.unix == 0 {
            0
        } else {
            signed(other.unix) - signed(self.unix)
        };
        // A message of this process is received later by the other one, and the reverse.
        let least = latencies(self, other).map(|(sent, received)| sent - received);
        let most = latencies(other, self).map(|(sent, received)| received - sent);
        let by_day = least.max().map_or(by_day, |least| by_day.max(least));
        most.min().map_or(by_day, |most| by_day.min(most))
    }
}

/// Returns a time as a number that others can be subtracted from. A file that was made by hand may have any times.
fn signed(at: u64) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX).min(i64::MAX / 4)
}

/// Returns when each message of one process was sent, and when the other one received it.
fn latencies(from: &Recording, to: &Recording) -> impl Iterator<Item = (i64, i64)> {
    let mut sent: HashMap<Message, i64> = HashMap::new();
    for event in &from.events {
        if let What::Sent(message) = event.what {
            sent.insert(message, signed(event.at));
        }
    }
    let received = to.events.iter().filter_map(move |event| match event.what {
        What::Received(message) => Some((*sent.get(&message)?, signed(event.at))),
        _ => None,
    });
    received.collect::<Vec<_>>().into_iter()
}

/// The new places of the second recording's values.
struct Moved {
    kinds: Vec<u8>,
    /// The high bits of its numbers.
    process: u64,
    names: usize,
    locations: usize,
    objects: usize,
}

/// Places are counted from 1, and 0 is none.
fn place_after(place: usize, others: usize) -> usize {
    if place == 0 {
        0
    } else {
        place.saturating_add(others)
    }
}

impl Moved {
    fn number(&self, number: u64) -> u64 {
        number & OWN | self.process
    }

    fn waiter(&self, waiter: Waiter) -> Waiter {
        match waiter {
            Waiter::Thread(number) => Waiter::Thread(self.number(number)),
            Waiter::Task(number) => Waiter::Task(self.number(number)),
            process @ Waiter::Process(_) => process,
        }
    }

    fn kind(&self, kind: u8) -> u8 {
        let known = self.kinds.get(usize::from(kind));
        known.copied().unwrap_or(u8::MAX)
    }

    fn object(&self, place: usize) -> usize {
        place_after(place, self.objects)
    }

    fn location(&self, place: usize) -> usize {
        place_after(place, self.locations)
    }

    fn wait(&self, wait: For) -> For {
        For {
            kind: self.kind(wait.kind),
            target: match wait.target {
                Target::Object(object) => Target::Object(self.object(object)),
                Target::Number(0) => Target::Number(0),
                Target::Number(number) => Target::Number(self.number(number)),
            },
            location: self.location(wait.location),
        }
    }

    fn what(&self, what: What) -> What {
        match what {
            What::Poll { thread } => What::Poll {
                thread: self.number(thread),
            },
            What::Wait(wait) => What::Wait(self.wait(wait)),
            What::Block(wait) => What::Block(self.wait(wait)),
            What::WaitEnd(wait) => What::WaitEnd(self.wait(wait)),
            What::Wake {
                by: Ender::Waiter(by),
            } => What::Wake {
                by: Ender::Waiter(self.waiter(by)),
            },
            What::Yields { location } => What::Yields {
                location: self.location(location),
            },
            What::Spawn {
                parent,
                is_job,
                location,
            } => What::Spawn {
                parent: self.waiter(parent),
                is_job,
                location: self.location(location),
            },
            What::Acquired {
                kind,
                object,
                location,
            } => What::Acquired {
                kind: self.kind(kind),
                object: self.object(object),
                location: self.location(location),
            },
            What::Released { object } => What::Released {
                object: self.object(object),
            },
            What::Request { id, name } => What::Request {
                id: self.number(id),
                name: place_after(name, self.names),
            },
            What::RequestEnd { id } => What::RequestEnd {
                id: self.number(id),
            },
            What::Enter { id } => What::Enter {
                id: self.number(id),
            },
            What::Leave { id } => What::Leave {
                id: self.number(id),
            },
            What::Permits {
                object,
                count,
                location,
            } => What::Permits {
                object: self.object(object),
                count,
                location: self.location(location),
            },
            What::PermitsBack { object, count } => What::PermitsBack {
                object: self.object(object),
                count,
            },
            What::PermitsForgotten { object, count } => What::PermitsForgotten {
                object: self.object(object),
                count,
            },
            What::PermitsAdded { object, count } => What::PermitsAdded {
                object: self.object(object),
                count,
            },
            What::Operates { kind, object } => What::Operates {
                kind: self.kind(kind),
                object: self.object(object),
            },
            What::JobQueued { job } => What::JobQueued {
                job: self.number(job),
            },
            What::JobBegins { job } => What::JobBegins {
                job: self.number(job),
            },
            What::JobEnds { job } => What::JobEnds {
                job: self.number(job),
            },
            What::Noted {
                kind,
                number,
                location,
            } => What::Noted {
                kind: self.kind(kind),
                number,
                location: self.location(location),
            },
            What::Delay { thread, total } => What::Delay {
                thread: self.number(thread),
                total,
            },
            // The same in all processes.
            What::PollEnd
            | What::Wake { .. }
            | What::Sent(_)
            | What::Received(_)
            | What::Reason { .. }
            | What::Aborted { .. }
            | What::WaitDropped
            | What::TaskEnd
            | What::Processor { .. }
            | What::Peer { .. } => what,
        }
    }
}
