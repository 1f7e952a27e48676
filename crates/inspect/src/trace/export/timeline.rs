//! The contents of a time line: a lane for each request, task and thread, and arrows from wakers to the tasks that they
//! woke.

use crate::snapshot::Waiter;
use crate::trace::cause::Cause;
use crate::trace::lives::{Did, Lives};
use crate::trace::names::who;
use crate::trace::processes::{local, place};
use crate::trace::recording::{Ender, Recording};
use crate::trace::split::Splitter;

/// A group of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Group {
    Requests = 1,
    Tasks,
    Threads,
}

impl Group {
    pub(super) const ALL: [Self; 3] = [Self::Requests, Self::Tasks, Self::Threads];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Tasks => "tasks",
            Self::Threads => "threads",
        }
    }
}

/// A lane, by its number in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    pub(super) group: Group,
    pub(super) number: u64,
}

impl Lane {
    fn of(waiter: Waiter) -> Self {
        let (group, number) = match waiter {
            Waiter::Task(id) => (Group::Tasks, number_of(id)),
            Waiter::Thread(number) => (Group::Threads, number_of(number)),
            Waiter::Process(pid) => (Group::Threads, pid.into()),
        };
        Self { group, number }
    }
}

/// Returns a number for lanes, which JSON keeps. It is none of another process.
fn number_of(number: u64) -> u64 {
    const BITS: u32 = 44;
    let own = local(number) & ((1 << BITS) - 1);
    own | place(number) << BITS
}

/// A time with a name.
pub(super) struct Span<'a> {
    pub(super) lane: Lane,
    pub(super) name: &'a str,
    /// A line of the program, or an empty string.
    pub(super) at: &'a str,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// Writes a time line.
pub(super) trait Draw {
    /// Begins a lane.
    fn lane(&mut self, lane: Lane, name: &str);
    /// Draws a span. Those of a lane come in the order of their beginnings, and outer ones before inner ones.
    fn span(&mut self, span: &Span<'_>);
    /// Draws an arrow from one lane to another.
    fn arrow(&mut self, from: Lane, to: Lane, at: u64);
}

/// Draws a recording.
pub(super) fn draw(recording: &Recording, to: &mut impl Draw) {
    let lives = Lives::new(recording);
    let splitter = Splitter::new(recording, &lives);
    for request in &lives.requests {
        let lane = Lane {
            group: Group::Requests,
            number: number_of(request.id),
        };
        let name = recording.name(request.name);
        to.lane(lane, name);
        to.span(&Span {
            lane,
            name,
            at: "",
            from: request.from,
            to: request.to,
        });
        for piece in splitter.request(request) {
            cause(recording, piece.cause, lane, piece.from, piece.to, to);
        }
    }
    let mut all: Vec<_> = lives.lives.iter().collect();
    all.sort_by_key(|(waiter, _)| **waiter);
    for (&waiter, life) in all {
        let lane = Lane::of(waiter);
        to.lane(lane, &who(recording, &lives, waiter));
        for segment in &life.segments {
            let name = match segment.did {
                Did::Run => "running",
                Did::Ready => "runnable",
                Did::Queue => "blocking pool",
                Did::Wait(None, _) => "waiting",
                Did::Wait(Some(wait), _) => {
                    let of = Cause::of_wait(recording, wait);
                    cause(recording, of, lane, segment.from, segment.to, to);
                    ""
                }
            };
            if !name.is_empty() {
                to.span(&Span {
                    lane,
                    name,
                    at: "",
                    from: segment.from,
                    to: segment.to,
                });
            }
            if let Did::Wait(_, Ender::Waiter(by)) = segment.did {
                to.arrow(Lane::of(by), lane, segment.to);
            }
        }
    }
}

fn cause(recording: &Recording, of: Cause, lane: Lane, from: u64, end: u64, to: &mut impl Draw) {
    let text = of.text(recording);
    let name = if text.is_empty() {
        of.category.name()
    } else {
        &text
    };
    let at = recording.location(of.location).unwrap_or_default();
    to.span(&Span {
        lane,
        name,
        at,
        from,
        to: end,
    });
}
