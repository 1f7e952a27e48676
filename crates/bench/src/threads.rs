//! Threads that start together, and the clock around them.
//!
//! The threads exist before the clock starts. Each prepares what it needs and
//! stops at a gate. Time runs from the first thread that passes the gate to the
//! end of the last thread, so neither thread creation nor preparation is measured.

use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::alloc::Memory;

/// The costs of a measured piece of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// The time from the gate to the last thread's end.
    pub elapsed: Duration,
    /// The allocations in that time, by all threads of the process.
    pub memory: Memory,
}

impl Span {
    /// Creates a span whose allocations are not counted.
    pub(crate) fn of(elapsed: Duration) -> Span {
        let memory = Memory::default();
        Span { elapsed, memory }
    }
}

/// Runs `body` on this thread and measures it.
///
/// ```
/// let (span, sum) = blitz_io_bench::threads::solo(|| (1..=10u64).sum::<u64>());
/// assert_eq!(sum, 55);
/// assert!(span.elapsed.as_secs() < 60);
/// ```
pub fn solo<T>(body: impl FnOnce() -> T) -> (Span, T) {
    let start = Mark::now();
    let value = body();
    (Mark::now().since(start), value)
}

/// Runs `threads` threads that start together. `prepare(i)` runs in thread `i` before the
/// gate and returns the function that the thread runs after it.
///
/// Returns the values of all threads, in the order of `i`.
///
/// # Panics
///
/// Panics with the panic of a thread if one panics.
///
/// ```
/// let (_span, values) = blitz_io_bench::threads::start_all(3, |i| {
///     let prepared = vec![i; 10];
///     move || prepared.len() + i
/// });
/// assert_eq!(values, [10, 11, 12]);
/// ```
pub fn start_all<T, B>(threads: usize, prepare: impl Fn(usize) -> B + Sync) -> (Span, Vec<T>)
where
    T: Send,
    B: FnOnce() -> T,
{
    let gate = Barrier::new(threads);
    let member = |i| {
        let body = prepare(i);
        gate.wait();
        let start = Mark::now();
        let value = body();
        (start, Mark::now(), value)
    };
    let member = &member;
    let ended: Vec<_> = thread::scope(|scope| {
        let members: Vec<_> = (0..threads)
            .map(|i| scope.spawn(move || member(i)))
            .collect();
        members.into_iter().map(|m| m.join()).collect()
    });

    let ended = ended
        .into_iter()
        .map(|end| end.unwrap_or_else(|panic| resume_unwind(panic)));
    together(ended)
}

/// Returns the span from the first start to the last end, and all values.
pub(crate) fn together<T>(ended: impl Iterator<Item = (Mark, Mark, T)>) -> (Span, Vec<T>) {
    let mut span: Option<(Mark, Mark)> = None;
    let mut values = Vec::new();
    for (start, end, value) in ended {
        span = Some(match span {
            None => (start, end),
            Some((first, last)) => (first.earlier(start), last.later(end)),
        });
        values.push(value);
    }
    let (first, last) = span.expect("at least one thread or task");
    (last.since(first), values)
}

/// One reading of the clock and of the allocator's counters.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    at: Instant,
    memory: Memory,
}

impl Mark {
    pub(crate) fn now() -> Mark {
        Mark {
            memory: Memory::counted(),
            at: Instant::now(),
        }
    }

    pub(crate) fn since(self, start: Mark) -> Span {
        Span {
            elapsed: self.at.saturating_duration_since(start.at),
            memory: self.memory - start.memory,
        }
    }

    fn earlier(self, other: Mark) -> Mark {
        if other.at < self.at { other } else { self }
    }

    fn later(self, other: Mark) -> Mark {
        if other.at > self.at { other } else { self }
    }
}
