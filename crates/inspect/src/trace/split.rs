//! Splits the time of a request into pieces, each with its cause.
//!
//! The pieces cover the request from its beginning to its end. A request follows the tasks and closures that it has
//! spawned: a wait for one of them, by its join handle or a channel, has the pieces of that task instead. It follows its
//! jobs into fork-join pools (`follow_jobs.rs`), and its messages into other processes (`follow_messages.rs`).

use std::collections::HashMap;

use super::cause::{Category, Cause};
use super::delays::{Within, within};
use super::lives::{Did, Lives, Request, Segment};
use super::recording::{Ender, For, Recording, Target};
use crate::snapshot::Waiter;

/// Waits for tasks that wait for tasks are followed so far.
pub(super) const DEEPEST: u32 = 16;

/// A part of a request's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) cause: Cause,
    /// The thread or task that ran or waited.
    pub(super) waiter: Waiter,
    /// The holder of the lock, or else the thread or task that ended the wait.
    pub(super) behind: Option<Waiter>,
    /// The place of the location at which the holder took the lock, or 0.
    pub(super) behind_at: usize,
}

impl Piece {
    pub(super) fn nanos(&self) -> u64 {
        self.to - self.from
    }
}

/// A wait that may be for work of the request somewhere else.
pub(super) struct Followed {
    pub(super) waiter: Waiter,
    pub(super) wait: Option<For>,
    pub(super) ender: Ender,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) depth: u32,
}

impl Followed {
    /// Returns the piece of a part of this wait. The part may be empty.
    pub(super) fn piece(&self, from: u64, to: u64, cause: Cause, behind: Option<Waiter>) -> Piece {
        Piece {
            from: from.max(self.from),
            to: to.min(self.to),
            cause,
            waiter: self.waiter,
            behind,
            behind_at: 0,
        }
    }
}

/// The recording and its lives.
#[derive(Clone, Copy)]
pub(super) struct Splitter<'a> {
    pub(super) recording: &'a Recording,
    pub(super) lives: &'a Lives,
    /// A task that was spawned before this is none of the request's.
    pub(super) since: u64,
}

impl<'a> Splitter<'a> {
    pub(super) fn new(recording: &'a Recording, lives: &'a Lives) -> Self {
        Self {
            recording,
            lives,
            since: 0,
        }
    }

    /// Returns the pieces of a request.
    pub(super) fn request(&self, request: &Request) -> Vec<Piece> {
        let mut pieces = self.cover(request.waiter, request.from, request.to);
        if !request.entered.is_empty() {
            pieces = self.without_others(request, &pieces);
        }
        let here = self.recording.process_of(request.waiter);
        for piece in &mut pieces {
            let process = self.recording.process_of(piece.waiter);
            if process != here && piece.cause.process == 0 {
                piece.cause.process = process;
            }
        }
        self.with_delays(&pieces)
    }

    /// Returns the pieces of a thread or task within a time.
    pub(super) fn within(&self, waiter: Waiter, from: u64, to: u64) -> Vec<Piece> {
        self.with_delays(&self.cover(waiter, from, to))
    }

    /// Returns the pieces of the whole life of a thread or task. A wait for another task stays one.
    pub(super) fn alone(&self, waiter: Waiter) -> Vec<Piece> {
        let life = self.lives.lives.get(&waiter);
        let mut pieces = vec![];
        if let Some([first, .., last] | [first @ last]) = life.map(|life| &*life.segments) {
            self.add(waiter, first.from, last.to, DEEPEST, &mut pieces);
        }
        self.with_delays(&pieces)
    }

    /// Returns these pieces, of which those that slept or lost their processor are divided.
    fn with_delays(&self, pieces: &[Piece]) -> Vec<Piece> {
        let mut all = vec![];
        for piece in pieces {
            let runs = piece.cause.category.is_running();
            let life = self.lives.lives.get(&piece.waiter).filter(|_| runs);
            let lost = life.map(|life| within(&life.delays, piece.from, piece.to));
            let Within { ready, asleep } = lost.unwrap_or_default();
            let mut from = piece.from;
            let mut add = |to, category| {
                let cause = Cause {
                    category,
                    ..piece.cause
                };
                all.push(Piece {
                    from,
                    to,
                    cause,
                    ..*piece
                });
                from = to;
            };
            add(piece.to - ready - asleep, piece.cause.category);
            add(piece.to - ready, Category::AsleepInPoll);
            add(piece.to, Category::Preempted);
        }
        all.retain(|piece| piece.from < piece.to);
        all
    }

    fn cover(&self, waiter: Waiter, from: u64, to: u64) -> Vec<Piece> {
        let mut pieces = vec![];
        let this = Self {
            since: from,
            ..*self
        };
        this.add(waiter, from, to, 0, &mut pieces);
        pieces
    }

    /// The task of a request with a future of its own works for other requests, too: then this one is ready.
    fn without_others(&self, request: &Request, pieces: &[Piece]) -> Vec<Piece> {
        let mut all = vec![];
        for piece in pieces {
            if piece.cause.category != Category::Running || piece.waiter != request.waiter {
                all.push(*piece);
                continue;
            }
            let mut at = piece.from;
            let ready = self.cause_here(Category::Runnable, piece.waiter);
            let within = request.entered.iter();
            for &(from, to) in within.filter(|own| own.0 < piece.to && own.1 > piece.from) {
                let (from, to) = (from.max(at), to.min(piece.to));
                all.push(Piece {
                    from: at,
                    to: from,
                    cause: ready,
                    ..*piece
                });
                all.push(Piece { from, to, ..*piece });
                at = at.max(to);
            }
            all.push(Piece {
                from: at,
                cause: ready,
                ..*piece
            });
        }
        all.retain(|piece| piece.from < piece.to);
        all
    }

    /// Adds the pieces of a thread or task within a time.
    pub(super) fn add(
        &self,
        waiter: Waiter,
        from: u64,
        to: u64,
        depth: u32,
        pieces: &mut Vec<Piece>,
    ) {
        let gap = |from, to| Piece {
            from,
            to,
            cause: self.cause_here(Category::Other, waiter),
            waiter,
            behind: None,
            behind_at: 0,
        };
        let mut at = from;
        for segment in self.lives.within(waiter, from, to) {
            if at < segment.from {
                pieces.push(gap(at, segment.from));
            }
            self.add_segment(waiter, &segment, depth, pieces);
            at = segment.to;
        }
        if at < to {
            pieces.push(gap(at, to));
        }
    }

    fn add_segment(&self, waiter: Waiter, segment: &Segment, depth: u32, pieces: &mut Vec<Piece>) {
        let Segment { from, to, did, .. } = *segment;
        let piece = |cause, behind| Piece {
            from,
            to,
            cause,
            waiter,
            behind,
            behind_at: 0,
        };
        let found = match did {
            Did::Run => piece(self.cause_here(Category::Running, waiter), None),
            Did::Ready => piece(self.cause_here(Category::Runnable, waiter), None),
            Did::Queue => piece(self.cause_here(Category::BlockingPool, waiter), None),
            Did::Wait(wait, ender) => {
                let followed = Followed {
                    waiter,
                    wait,
                    ender,
                    from,
                    to,
                    depth,
                };
                if depth < DEEPEST
                    && (self.follow_job(&followed, pieces)
                        || self.follow_message(&followed, pieces))
                {
                    return;
                }
                let ender = self.resolve(ender, to);
                if let Some(task) = self.task_of(waiter, wait, ender) {
                    if depth < DEEPEST {
                        return self.add_task(waiter, task, (from, to), depth, pieces);
                    }
                }
                let cause = self.cause_of(waiter, wait, ender);
                let Some(wait) = wait else {
                    pieces.push(piece(cause, None));
                    return;
                };
                let holder = match (cause.category, wait.target) {
                    (Category::Lock, Target::Object(object)) => {
                        let holds = self.lives.holds(object, from, to, waiter);
                        holds.into_iter().max_by_key(|hold| hold.to - hold.from)
                    }
                    _ => None,
                };
                let by = match ender {
                    Ender::Waiter(by) if by != waiter => Some(by),
                    _ => None,
                };
                Piece {
                    behind_at: holder.map_or(0, |hold| hold.location),
                    ..piece(cause, holder.map(|hold| hold.holder).or(by))
                }
            }
        };
        pieces.push(found);
    }

    /// Returns the cause of a wait.
    pub(super) fn cause_of(&self, waiter: Waiter, wait: Option<For>, ender: Ender) -> Cause {
        let Some(wait) = wait else {
            // A wait without a record: what ended it says more than nothing.
            let category = match ender {
                Ender::Timer => Category::Timer,
                Ender::System => Category::Socket,
                _ => Category::Other,
            };
            return self.cause_here(category, waiter);
        };
        let mut cause = Cause::of_wait(self.recording, wait);
        if cause.location == 0 {
            // Not each wait knows its line; that of the task helps.
            cause.location = self.cause_here(cause.category, waiter).location;
        }
        cause
    }

    /// Adds the pieces of a task for which another one waits. After its end the other one is ready.
    fn add_task(
        &self,
        waiter: Waiter,
        task: Waiter,
        (from, to): (u64, u64),
        depth: u32,
        pieces: &mut Vec<Piece>,
    ) {
        let ended = self.lives.lives.get(&task).and_then(|life| life.ended);
        let end = ended.map_or(to, |ended| ended.clamp(from, to));
        self.add(task, from, end, depth + 1, pieces);
        if end < to {
            pieces.push(Piece {
                from: end,
                to,
                cause: self.cause_here(Category::Runnable, waiter),
                waiter,
                behind: None,
                behind_at: 0,
            });
        }
    }

    /// A thread that ends a wait outside of a poll completes the task that it has polled.
    pub(super) fn resolve(&self, ender: Ender, at: u64) -> Ender {
        match ender {
            Ender::Waiter(by @ Waiter::Thread(thread)) => {
                if !self.lives.jobs.at(by, at).is_empty() {
                    return ender;
                }
                let polled = self.lives.polled_before(thread, at);
                polled.map_or(ender, Ender::Waiter)
            }
            other => other,
        }
    }

    /// Returns the task of the same request for which this is a wait.
    fn task_of(&self, waiter: Waiter, wait: Option<For>, ender: Ender) -> Option<Waiter> {
        let wait = wait?;
        let category = Category::of_kind(self.recording.kind(wait.kind).0);
        let known = |task: Waiter| self.lives.lives.contains_key(&task).then_some(task);
        match (category, wait.target, ender) {
            (Category::Task, Target::Number(task), _) if task != 0 => known(Waiter::Task(task)),
            (Category::Task, _, Ender::Waiter(by)) if by != waiter => known(by),
            (Category::Channel | Category::Event, _, Ender::Waiter(by)) => {
                self.is_child(by, waiter).then_some(by)
            }
            _ => None,
        }
    }

    /// Returns `true` if the task was spawned by the other one, or by a task of it, for the request.
    pub(super) fn is_child(&self, task: Waiter, of: Waiter) -> bool {
        let mut task = task;
        for _ in 0..DEEPEST {
            let spawn = self.lives.lives.get(&task).and_then(|life| life.spawn);
            let Some(spawn) = spawn.filter(|spawn| spawn.at >= self.since) else {
                return false;
            };
            if spawn.parent == of {
                return true;
            }
            task = spawn.parent;
        }
        false
    }

    pub(super) fn cause_here(&self, category: Category, waiter: Waiter) -> Cause {
        let life = self.lives.lives.get(&waiter);
        let spawn = life.and_then(|life| life.spawn);
        Cause::of(category, spawn.map_or(0, |spawn| spawn.location))
    }
}

/// Adds up the times of pieces by their causes, the longest first.
pub(super) fn by_cause(recording: &Recording, pieces: &[Piece]) -> Vec<(Cause, u64, u64)> {
    let mut sums: HashMap<Cause, (u64, u64, u64)> = HashMap::new();
    for piece in pieces {
        let sum = sums
            .entry(piece.cause.group(recording))
            .or_insert((0, 0, piece.from));
        sum.0 = sum.0.saturating_add(piece.nanos());
        sum.1 += 1;
        sum.2 = sum.2.min(piece.from);
    }
    let mut all: Vec<_> = sums.into_iter().collect();
    // The first one comes first among those that are equal.
    all.sort_by_key(|(_, (nanos, _, first))| (std::cmp::Reverse(*nanos), *first));
    all.into_iter()
        .map(|(cause, (nanos, count, _))| (cause, nanos, count))
        .collect()
}
