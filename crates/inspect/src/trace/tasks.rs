//! `Tasks`: the time of tasks by the line at which they were spawned. A report has it if the program has marked no request.

use std::collections::HashMap;

use serde::Serialize;

use super::cause::Category;
use super::contended::{Contended, contended, waits};
use super::lives::Lives;
use super::polls::Poll;
use super::processes::is_root;
use super::recording::{Recording, sum};
use super::split::{Piece, Splitter};
use crate::snapshot::Waiter;

/// The number of waits that one line has in a report.
const WAITS: usize = 8;

/// The tasks that were spawned at one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tasks {
    /// `task`, `job` for closures on threads for blocking work, or `block_on`.
    pub what: &'static str,
    /// The line; empty if it is not known.
    pub at: String,
    /// Number of tasks.
    pub count: usize,
    /// The longest poll, in nanoseconds from its beginning to its end. It includes the time in which the task waited and
    /// blocked its thread, or was preempted.
    pub longest_poll: u64,
    /// The part of that poll in which the task ran, in nanoseconds.
    pub longest_poll_running: u64,
    /// The sum of the times for each category, in nanoseconds, the greatest first.
    pub categories: Vec<(Category, u64)>,
    /// The waits by object or line, the longest sum first.
    pub waits: Vec<Contended>,
}

impl Tasks {
    /// Returns the time of a category, in nanoseconds.
    #[must_use]
    pub fn nanos(&self, category: Category) -> u64 {
        let mut all = self.categories.iter();
        all.find(|(other, _)| *other == category)
            .map_or(0, |(_, nanos)| *nanos)
    }
}

/// Tasks of one line, while they are added up.
#[derive(Default)]
struct Line {
    count: usize,
    longest_poll: Poll,
    pieces: Vec<Piece>,
}

/// Returns the time of all tasks, those lines first whose tasks ran and were ready for the longest time; and the objects for
/// which tasks and threads waited, because others used them.
pub(super) fn tasks(recording: &Recording, lives: &Lives) -> (Vec<Tasks>, Vec<Contended>) {
    let splitter = Splitter::new(recording, lives);
    let mut lines: HashMap<(&'static str, usize), Line> = HashMap::new();
    let mut contests = vec![];
    for (&waiter, life) in &lives.lives {
        let pieces = splitter.alone(waiter);
        let is_contest = |piece: &&Piece| {
            let category = piece.cause.category;
            matches!(
                category,
                Category::Lock | Category::Permit | Category::BlockingPool | Category::PoolQueue
            )
        };
        contests.extend(pieces.iter().filter(is_contest).copied());
        let Waiter::Task(number) = waiter else {
            continue;
        };
        let (is_job, at) = match life.spawn {
            Some(spawn) => (spawn.is_job, spawn.location),
            None => (false, 0),
        };
        let what = match is_job {
            true => "job",
            false if is_root(number) => "block_on",
            false => "task",
        };
        let line = lines.entry((what, at)).or_default();
        line.count += 1;
        let poll = Poll::longest(life);
        if poll.nanos() > line.longest_poll.nanos() {
            line.longest_poll = poll.with_running(&pieces);
        }
        line.pieces.extend(pieces);
    }
    let mut all: Vec<Tasks> = lines
        .into_iter()
        .map(|((what, at), line)| Tasks {
            what,
            at: recording.location(at).unwrap_or_default().to_owned(),
            count: line.count,
            longest_poll: line.longest_poll.nanos(),
            longest_poll_running: line.longest_poll.running,
            categories: categories(&line.pieces),
            waits: contended(recording, lives, in_order(waits(&line.pieces)), WAITS),
        })
        .collect();
    let busy = |one: &Tasks| {
        let running = one.nanos(Category::Running);
        running.saturating_add(one.nanos(Category::Runnable))
    };
    all.sort_by(|one, other| {
        (busy(other), other.count, &one.at).cmp(&(busy(one), one.count, &other.at))
    });
    let objects = contended(recording, lives, in_order(contests), usize::MAX);
    (all, objects)
}

/// Lives are in no order. Of equal causes, the first one comes first.
fn in_order(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_by_key(|piece| (piece.from, piece.waiter));
    pieces
}

fn categories(pieces: &[Piece]) -> Vec<(Category, u64)> {
    let of = |category| {
        let own = pieces.iter().filter(|p| p.cause.category == category);
        (category, sum(own.map(Piece::nanos)))
    };
    let mut all: Vec<_> = Category::ALL.into_iter().map(of).collect();
    all.retain(|(_, nanos)| *nanos != 0);
    all.sort_by_key(|(_, nanos)| std::cmp::Reverse(*nanos));
    all
}
