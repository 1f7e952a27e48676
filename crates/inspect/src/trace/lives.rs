//! What each thread and task did at each moment: the events of the recording, put together.
//!
//! A task is in one of three states. It *runs* while a thread polls it, and within a poll it may block the thread.
//! It is *runnable* from its spawn, or the wake-up, to the next poll. In between it *waits*: from the end of a poll
//! to the first wake-up, which has its waker. The task waited for the object whose wait ends first in the next poll;
//! if none ends, for the latest. After its end it is in none of them, although its wakers may still be called.
//!
//! A thread or task that waits for jobs of a fork-join pool may run others meanwhile.

use std::collections::HashMap;

use super::delays::{Between, Delay, Reading, Readings};
use super::jobs::Jobs;
use super::late;
use super::messages::Messages;
use super::recording::{Ender, Event, For, Recording, What, sum};
use crate::snapshot::Waiter;

/// A lock's holds are searched backwards until this many have ended too early. Readers end in any order.
const MISSED: u32 = 32;

/// The life of one thread or task.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// Its history, in the order of time, without gaps.
    pub(super) segments: Vec<Segment>,
    pub(super) spawn: Option<Spawn>,
    /// The time that its polls lost, in the order of time.
    pub(super) delays: Vec<Delay>,
    /// Its last poll has ended, or its future was dropped, as far as the recording says.
    pub(super) ended: Option<u64>,
}

/// A time in which it did one thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) did: Did,
    /// It waited within a poll, and so blocked its thread.
    pub(super) in_poll: bool,
}

/// An activity.
#[derive(Clone, Copy, Debug)]
pub(super) enum Did {
    Run,
    /// It was ready, and no thread polled it.
    Ready,
    /// It was a closure, and no thread of the pool was free.
    Queue,
    Wait(Option<For>, Ender),
}

/// The spawn of a task. One that is not among the events was at 0, by the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spawn {
    pub(super) at: u64,
    pub(super) parent: Waiter,
    pub(super) is_job: bool,
    pub(super) location: usize,
}

/// A time in which a thread or task has had a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub(super) holder: Waiter,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) location: usize,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) id: u64,
    pub(super) name: usize,
    pub(super) waiter: Waiter,
    pub(super) from: u64,
    pub(super) to: u64,
    /// The times in which a task worked for it, if it has a future of its own.
    pub(super) entered: Vec<(u64, u64)>,
}

/// All lives.
#[derive(Debug, Default)]
pub(super) struct Lives {
    pub(super) lives: HashMap<Waiter, Life>,
    /// Holds of locks by the place of the lock, in the order of their beginnings.
    pub(super) holds: HashMap<usize, Vec<Hold>>,
    /// Those that have ended, in the order of their ends.
    pub(super) requests: Vec<Request>,
    /// Number of requests that have not ended.
    pub(super) unfinished: usize,
    /// The jobs of fork-join pools.
    pub(super) jobs: Jobs,
    /// The messages between processes.
    pub(super) messages: Messages,
    /// The polls of each thread: when they began, and of which task.
    polls: HashMap<u64, Vec<(u64, Waiter)>>,
}

/// The present state of one thread or task.
struct Now {
    did: State,
    since: u64,
    /// The waits that have begun.
    pending: Vec<For>,
    /// The last segment is a wait, for one of these.
    candidates: Vec<For>,
    is_woken: bool,
    /// The source that ends a wait outside of polls also wakes the task, right afterwards.
    ended: Option<For>,
    /// The beginning of its last poll.
    polled: u64,
    /// The delay of its thread until the end of this poll.
    delay: Option<Between>,
    /// The processor time of its thread, of which the delay follows.
    processor: Option<u64>,
    /// What it did before each job of a pool that it runs: mostly it waited for another one.
    outer: Vec<State>,
}

#[derive(Clone, Copy)]
enum State {
    Unknown,
    Runs,
    /// It blocks its thread, in this many waits within each other.
    Blocks(For, u32),
    Waits,
    Ready,
    Queues,
    /// It has ended. Its wakers may still be called, and waits of its future end while that is dropped.
    Ended,
}

impl Lives {
    pub(super) fn new(recording: &Recording) -> Self {
        let mut lives = Self::default();
        let mut now: HashMap<Waiter, Now> = HashMap::new();
        let mut open: HashMap<u64, Request> = HashMap::new();
        let mut readings = Readings::default();
        for event in &recording.events {
            lives.note_requests(event, &mut open);
            lives.note_locks(event);
            lives.jobs.note(event);
            lives.messages.note(event);
            let state = now.entry(event.waiter).or_insert_with(|| Now {
                did: match event.waiter {
                    Waiter::Task(_) => State::Unknown,
                    _ => State::Runs,
                },
                since: event.at,
                pending: vec![],
                candidates: vec![],
                is_woken: false,
                ended: None,
                polled: event.at,
                delay: None,
                processor: None,
                outer: vec![],
            });
            match event.what {
                What::Processor { total } => state.processor = Some(total),
                What::Delay { thread, total } => {
                    let reading = Reading {
                        at: event.at,
                        delay: total,
                        processor: state.processor.take(),
                    };
                    state.delay = readings.note(thread, reading);
                }
                _ => {}
            }
            if let What::Poll { thread } = event.what {
                let polls = lives.polls.entry(thread).or_default();
                polls.push((event.at, event.waiter));
            }
            let life = lives.lives.entry(event.waiter).or_default();
            state.note(event, life);
        }
        let end = recording.events.last().map_or(0, |event| event.at);
        for (waiter, mut state) in now {
            let life = lives.lives.entry(waiter).or_default();
            state.settle(life);
            if state.is_complete() {
                life.ended = Some(state.since);
                continue;
            }
            state.close(life, end, Ender::Unknown);
            state.settle(life);
        }
        lives.add_spawns(recording);
        for life in lives.lives.values_mut() {
            late::divide(recording, life);
        }
        lives.unfinished = open.len();
        lives
    }

    /// Adds the spawns that are not among the events. Nothing says when they were, and by which task.
    fn add_spawns(&mut self, recording: &Recording) {
        for spawned in &recording.spawned {
            let life = self.lives.get_mut(&spawned.task);
            let Some(life) = life.filter(|life| life.spawn.is_none()) else {
                continue;
            };
            life.spawn = Some(Spawn {
                at: 0,
                parent: Waiter::Process(recording.process_of(spawned.task)),
                is_job: spawned.is_job,
                location: spawned.location,
            });
        }
    }

    fn note_requests(&mut self, event: &Event, open: &mut HashMap<u64, Request>) {
        let at = event.at;
        match event.what {
            What::Request { id, name } => {
                let request = Request {
                    id,
                    name,
                    waiter: event.waiter,
                    from: at,
                    to: at,
                    entered: vec![],
                };
                open.insert(id, request);
            }
            What::Enter { id } => {
                if let Some(request) = open.get_mut(&id) {
                    request.waiter = event.waiter;
                    request.entered.push((at, u64::MAX));
                }
            }
            What::Leave { id } => {
                let request = open.get_mut(&id);
                if let Some(last) = request.and_then(|request| request.entered.last_mut()) {
                    last.1 = at;
                }
            }
            What::RequestEnd { id } => {
                if let Some(mut request) = open.remove(&id) {
                    request.to = at;
                    self.requests.push(request);
                }
            }
            _ => {}
        }
    }

    fn note_locks(&mut self, event: &Event) {
        match event.what {
            What::Acquired {
                object, location, ..
            } => {
                self.holds.entry(object).or_default().push(Hold {
                    holder: event.waiter,
                    from: event.at,
                    to: u64::MAX,
                    location,
                });
            }
            What::Released { object } => {
                let Some(holds) = self.holds.get_mut(&object) else {
                    return;
                };
                let is_open = |hold: &Hold| hold.to == u64::MAX;
                let own = holds
                    .iter()
                    .rposition(|hold| is_open(hold) && hold.holder == event.waiter);
                // A guard may have moved to another task.
                if let Some(at) = own.or_else(|| holds.iter().rposition(is_open)) {
                    holds[at].to = event.at;
                }
            }
            _ => {}
        }
    }

    /// Returns the task that the thread has polled last before that time.
    pub(super) fn polled_before(&self, thread: u64, at: u64) -> Option<Waiter> {
        let polls = self.polls.get(&thread)?;
        let after = polls.partition_point(|(began, _)| *began <= at);
        Some(polls[after.checked_sub(1)?].1)
    }

    /// Returns the part of a life within a time.
    pub(super) fn within(
        &self,
        waiter: Waiter,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = Segment> + '_ {
        let segments = self
            .lives
            .get(&waiter)
            .map_or(&[][..], |life| &life.segments);
        let first = segments.partition_point(|segment| segment.to <= from);
        let cut = move |segment: &Segment| Segment {
            from: segment.from.max(from),
            to: segment.to.min(to),
            ..*segment
        };
        segments[first..]
            .iter()
            .take_while(move |segment| segment.from < to)
            .map(cut)
    }

    /// Returns the holds of a lock within a time, but for those of `waiter`.
    pub(super) fn holds(&self, object: usize, from: u64, to: u64, waiter: Waiter) -> Vec<Hold> {
        let holds = self.holds.get(&object).map_or(&[][..], Vec::as_slice);
        let end = holds.partition_point(|hold| hold.from < to);
        let mut found = vec![];
        let mut missed = 0;
        for hold in holds[..end].iter().rev() {
            if hold.to <= from {
                missed += 1;
            } else if hold.holder != waiter {
                found.push(Hold {
                    from: hold.from.max(from),
                    to: hold.to.min(to),
                    ..*hold
                });
            }
            if missed > MISSED {
                break;
            }
        }
        found.reverse();
        found
    }
}

impl Now {
    fn note(&mut self, event: &Event, life: &mut Life) {
        let at = event.at;
        match event.what {
            What::WaitEnd(wait) => self.end_wait(wait, life, at),
            _ if matches!(self.did, State::Ended) => {}
            What::TaskEnd => self.end(life, at),
            What::Spawn {
                parent,
                is_job,
                location,
            } => {
                life.spawn = Some(Spawn {
                    at,
                    parent,
                    is_job,
                    location,
                });
                self.since = at;
                self.did = if is_job { State::Queues } else { State::Ready };
            }
            What::Poll { .. } => {
                self.close(life, at, Ender::Unknown);
                self.did = State::Runs;
                self.is_woken = false;
                self.polled = at;
                self.delay = None;
            }
            What::PollEnd => {
                self.settle(life);
                self.close(life, at, Ender::Unknown);
                self.note_delay(life, at);
                self.did = if self.is_woken {
                    State::Ready
                } else {
                    State::Waits
                };
            }
            What::Wake { by } => match self.did {
                State::Waits => {
                    self.close(life, at, by);
                    self.did = State::Ready;
                }
                State::Runs | State::Blocks(..) => self.is_woken = true,
                _ => {}
            },
            What::Yields { .. } => self.is_woken = true,
            What::Wait(wait) => self.pending.push(wait),
            What::Block(wait) => match &mut self.did {
                State::Blocks(_, depth) => *depth += 1,
                _ => {
                    self.close(life, at, Ender::Unknown);
                    self.did = State::Blocks(wait, 1);
                }
            },
            What::JobBegins { .. } => {
                self.close(life, at, Ender::Unknown);
                self.outer.push(self.did);
                self.did = State::Runs;
            }
            What::JobEnds { .. } => {
                self.close(life, at, Ender::Unknown);
                self.did = self.outer.pop().unwrap_or(State::Runs);
            }
            _ => {}
        }
    }

    /// Returns `true` if its last poll has ended with a result. A task that is complete waits for nothing.
    fn is_complete(&self) -> bool {
        matches!(self.did, State::Waits) && self.pending.is_empty()
    }

    /// Its future is about to be dropped: by its last poll, or because it was aborted.
    fn end(&mut self, life: &mut Life, at: u64) {
        self.settle(life);
        if self.is_complete() {
            life.ended = Some(self.since);
        } else {
            self.close(life, at, Ender::Unknown);
            life.ended = Some(at);
        }
        self.did = State::Ended;
    }

    fn end_wait(&mut self, wait: For, life: &mut Life, at: u64) {
        if let State::Blocks(outer, depth) = self.did {
            let is_pending = self.pending.contains(&wait);
            if depth > 1 && !is_pending {
                self.did = State::Blocks(outer, depth - 1);
            } else if !is_pending {
                self.close(life, at, Ender::Unknown);
                self.did = State::Runs;
            }
            if !is_pending {
                return;
            }
        }
        if matches!(self.did, State::Waits) {
            self.ended = Some(wait);
        }
        if let Some(place) = self.pending.iter().rposition(|other| *other == wait) {
            self.pending.remove(place);
        }
        if self.candidates.contains(&wait) {
            Self::name_last_wait(life, wait);
            self.candidates.clear();
        }
    }

    /// Ends the present segment.
    fn close(&mut self, life: &mut Life, at: u64, by: Ender) {
        let did = match self.did {
            State::Unknown | State::Ended => None,
            State::Runs => Some(Did::Run),
            State::Blocks(wait, _) => Some(Did::Wait(Some(wait), by)),
            State::Waits => {
                let ended = self.ended.take();
                self.candidates.clear();
                if ended.is_none() {
                    self.candidates.clone_from(&self.pending);
                }
                Some(Did::Wait(ended, by))
            }
            State::Ready => Some(Did::Ready),
            State::Queues => Some(Did::Queue),
        };
        let in_poll = matches!(self.did, State::Blocks(..));
        let from = std::mem::replace(&mut self.since, at);
        if let Some(did) = did.filter(|_| from < at) {
            life.segments.push(Segment {
                from,
                to: at,
                did,
                in_poll,
            });
        }
    }

    /// Notes the time that the poll lost which ends now.
    fn note_delay(&mut self, life: &mut Life, at: u64) {
        let Some(between) = self.delay.take() else {
            return;
        };
        let segments = life.segments.iter().rev();
        let of_poll = segments.take_while(|segment| segment.from >= self.polled);
        let runs = of_poll.filter(|segment| matches!(segment.did, Did::Run));
        let ran = sum(runs.map(|run| run.to - run.from));
        life.delays.extend(between.of_poll(self.polled, at, ran));
    }

    /// No wait has ended in the poll: the task was in the wait that it began last.
    fn settle(&mut self, life: &mut Life) {
        if let Some(&last) = self.candidates.last() {
            Self::name_last_wait(life, last);
            self.candidates.clear();
        }
    }

    fn name_last_wait(life: &mut Life, wait: For) {
        let mut segments = life.segments.iter_mut().rev();
        let last = segments.find_map(|segment| match &mut segment.did {
            Did::Wait(wait @ None, _) => Some(wait),
            _ => None,
        });
        if let Some(last) = last {
            *last = Some(wait);
        }
    }
}
