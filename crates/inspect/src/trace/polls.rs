//! `LongestPoll`: the longest time for which a task kept its worker from others, and the request that it worked for.

use serde::Serialize;

use super::lives::{Did, Life, Lives, Request};
use super::names::who;
use super::processes::is_root;
use super::recording::{Recording, sum};
use super::split::{Piece, Splitter};

/// The longest poll of all tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LongestPoll {
    /// The task, with the line at which it was spawned.
    pub task: String,
    /// The time from its beginning to its end, in nanoseconds. It includes the time in which the task waited and blocked
    /// its thread, or was preempted.
    pub nanos: u64,
    /// The part of it in which the task ran, in nanoseconds.
    pub running: u64,
    /// The name of the request for which the task worked; of several, that for which it worked the longest.
    pub request: Option<String>,
}

/// The times of one poll, in nanoseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct Poll {
    from: u64,
    to: u64,
    /// The part in which the task ran.
    pub(super) running: u64,
}

impl Poll {
    /// Returns the longest time in which a task ran, or blocked its thread, without a pause.
    pub(super) fn longest(life: &Life) -> Self {
        let (mut longest, mut poll) = (Self::default(), Self::default());
        for segment in &life.segments {
            let is_polled = matches!(segment.did, Did::Run) || segment.in_poll;
            if !is_polled {
                continue;
            }
            if segment.from != poll.to {
                poll.from = segment.from;
            }
            poll.to = segment.to.max(segment.from);
            if poll.nanos() > longest.nanos() {
                longest = poll;
            }
        }
        longest
    }

    pub(super) fn nanos(&self) -> u64 {
        self.to - self.from
    }

    /// Returns the poll with the part in which these pieces ran.
    pub(super) fn with_running(self, pieces: &[Piece]) -> Self {
        let runs = pieces.iter().filter(|p| p.cause.category.is_running());
        Self {
            running: self.part(runs),
            ..self
        }
    }

    /// Returns the time of these pieces within the poll.
    fn part<'a>(&self, pieces: impl Iterator<Item = &'a Piece>) -> u64 {
        sum(pieces.map(|piece| {
            let (from, to) = (piece.from.max(self.from), piece.to.min(self.to));
            to.saturating_sub(from)
        }))
    }
}

/// Returns the longest poll of all tasks that share their threads: no closures for blocking work, and no `block_on`. These are the requests, with their pieces.
pub(super) fn longest_poll(
    recording: &Recording,
    lives: &Lives,
    requests: &[(&Request, Vec<Piece>)],
) -> Option<LongestPoll> {
    let is_job = |life: &Life| life.spawn.is_some_and(|spawn| spawn.is_job);
    let tasks = lives
        .lives
        .iter()
        .filter(|(waiter, life)| waiter.task().is_some_and(|task| !is_root(task)) && !is_job(life));
    let polls = tasks.map(|(&waiter, life)| (Poll::longest(life), waiter));
    // Lives are in no order. Of equal ones, the first one.
    let (poll, waiter) = polls
        .max_by_key(|(poll, waiter)| (poll.nanos(), std::cmp::Reverse((poll.from, *waiter))))?;
    let poll = poll.with_running(&Splitter::new(recording, lives).alone(waiter));
    let shares = requests.iter().map(|(request, pieces)| {
        let own = pieces.iter().filter(|piece| piece.waiter == waiter);
        (poll.part(own), *request)
    });
    let served = shares.filter(|(nanos, _)| *nanos != 0);
    let request = served.max_by_key(|(nanos, request)| (*nanos, std::cmp::Reverse(request.from)));
    (poll.nanos() != 0).then(|| LongestPoll {
        task: who(recording, lives, waiter),
        nanos: poll.nanos(),
        running: poll.running,
        request: request.map(|(_, request)| recording.name(request.name).to_owned()),
    })
}
