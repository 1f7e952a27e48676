//! `Contended`: what requests or tasks waited for, and how long.

use std::collections::HashMap;

use serde::Serialize;

use super::cause::{Category, Cause};
use super::held::{Held, held};
use super::lives::Lives;
use super::names::who;
use super::recording::Recording;
use super::split::{Piece, by_cause};

/// The number of ranges of a histogram. Range 0 is below one microsecond, range `i` from 2^(i-1) to 2^i
/// microseconds; the last one has no end.
pub const BUCKETS: usize = 28;

/// The part that a cause has in the time of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Its category.
    pub category: Category,
    /// The kind of the wait and the name of the object; empty if there is none.
    pub what: String,
    /// The line of the wait, or that of the spawn of the task that ran; empty if it is not known.
    pub at: String,
    /// The thread or task that kept the requests waiting for the longest time, with its line.
    pub behind: Option<String>,
    /// The time, in nanoseconds.
    pub nanos: u64,
    /// Number of waits.
    pub count: u64,
}

/// An object for which requests or tasks waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contended {
    /// The object, and where they waited.
    pub cause: Share,
    /// Half of the waits took no longer, in nanoseconds.
    pub p50: u64,
    /// 99 % of them.
    pub p99: u64,
    /// The longest one.
    pub max: u64,
    /// Numbers of waits by duration; see [`BUCKETS`].
    pub histogram: [u64; BUCKETS],
    /// How it was used, if it is a lock or a semaphore.
    pub held: Option<Held>,
}

/// Returns the pieces that are waits.
pub(super) fn waits(pieces: &[Piece]) -> Vec<Piece> {
    let is_wait = |piece: &&Piece| {
        !matches!(
            piece.cause.category,
            Category::Running
                | Category::AsleepInPoll
                | Category::PoolRunning
                | Category::Preempted
                | Category::Runnable
                | Category::Other
        )
    };
    pieces.iter().filter(is_wait).copied().collect()
}

/// Returns what these pieces waited for, at most so many objects and lines.
pub(super) fn contended(
    recording: &Recording,
    lives: &Lives,
    waits: Vec<Piece>,
    most: usize,
) -> Vec<Contended> {
    let causes = by_cause(recording, &waits).into_iter().take(most);
    let held = held(recording);
    causes
        .map(|(cause, nanos, count)| {
            let own = waits.iter().filter(|p| p.cause.group(recording) == cause);
            let mut times: Vec<u64> = own.map(Piece::nanos).collect();
            times.sort_unstable();
            Contended {
                cause: share(recording, lives, &waits, cause, nanos, count),
                p50: quantile(&times, 50),
                p99: quantile(&times, 99),
                max: quantile(&times, 100),
                histogram: histogram(&times),
                held: held.get(&cause.object).copied(),
            }
        })
        .collect()
}

pub(super) fn share(
    recording: &Recording,
    lives: &Lives,
    pieces: &[Piece],
    cause: Cause,
    nanos: u64,
    count: u64,
) -> Share {
    let own = || pieces.iter().filter(|p| p.cause.group(recording) == cause);
    // Of several lines, that with the most time.
    let location = longest(own(), |piece| {
        Some(piece.cause.location).filter(|&at| at != 0)
    });
    let behind = longest(own(), |piece| piece.behind).map(|waiter| {
        let by = who(recording, lives, waiter);
        let taken_at = longest(own(), |piece| Some(piece.behind_at).filter(|&at| at != 0));
        match taken_at.and_then(|at| recording.location(at)) {
            Some(at) => format!("{by}, which took it at {at}"),
            None => by,
        }
    });
    Share {
        category: cause.category,
        what: cause.text(recording),
        at: recording
            .location(location.unwrap_or(0))
            .unwrap_or_default()
            .to_owned(),
        behind,
        nanos,
        count,
    }
}

/// Returns the value that has the longest time of the pieces that have one.
fn longest<'a, T: Copy + Eq + std::hash::Hash>(
    pieces: impl Iterator<Item = &'a Piece>,
    value: impl Fn(&Piece) -> Option<T>,
) -> Option<T> {
    let mut sums: HashMap<T, (u64, std::cmp::Reverse<u64>)> = HashMap::new();
    for piece in pieces {
        if let Some(value) = value(piece) {
            let sum = sums
                .entry(value)
                .or_insert((0, std::cmp::Reverse(piece.from)));
            sum.0 = sum.0.saturating_add(piece.nanos());
        }
    }
    let longest = sums.into_iter().max_by_key(|(_, sum)| *sum);
    longest.map(|(value, _)| value)
}

/// Returns the smallest of the sorted values that this percentage does not exceed.
pub(super) fn quantile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

pub(super) fn histogram(times: &[u64]) -> [u64; BUCKETS] {
    let mut buckets = [0; BUCKETS];
    for nanos in times {
        let bits = u64::BITS - (nanos / 1_000).leading_zeros();
        buckets[(bits as usize).min(BUCKETS - 1)] += 1;
    }
    buckets
}
