//! The scenarios.
//!
//! There is one file for each family. It has the bodies, and a table of the contenders: the
//! name, the type and the operations of each. A new peer is one line of the table. A new family
//! is one file and one line of `FAMILIES`; this is also how a tier gets its first scenario.

/// Runs the same body with each contender on its own runtime: our type, Tokio's, and smol's.
macro_rules! on_own_runtimes {
    ($body:ident: $ours:ty, $tokio:ty, $smol:ty $(,)?) => {{
        use $crate::{runtimes, tasks::OwnRuntime};
        let table: [(&str, Body); 3] = [
            (OURS, $body::<$ours, OwnRuntime<runtimes::Blitz>>),
            ("tokio", $body::<$tokio, OwnRuntime<runtimes::Tokio>>),
            ("smol", $body::<$smol, OwnRuntime<runtimes::Smol>>),
        ];
        table
    }};
}

mod barrier;
mod channel;
#[cfg(all(target_os = "linux", feature = "cpp-peers"))]
mod cpp;
mod io;
#[cfg(target_os = "linux")]
mod ipc;
mod mutex;
mod parker;
mod pipeline;
mod pool;
#[cfg(target_os = "linux")]
mod processes;
mod runtime;
mod rwlock;
mod semaphore;
mod sense;
mod task;

use prelude::*;

/// The names that nearly every scenario uses.
mod prelude {
    pub(super) use std::hint::black_box;
    pub(super) use std::sync::Arc;
    pub(super) use std::sync::atomic::{AtomicU64, Ordering, Ordering::Relaxed};
    pub(super) use std::time::{Duration, Instant};

    pub(super) use crossbeam_utils::CachePadded;

    #[cfg(test)]
    pub(super) use super::tests::{assert_caught, context};
    pub(super) use super::{Body, repeat, repeat_on};
    pub(super) use crate::alloc::Memory;
    pub(super) use crate::latency::Waits;
    pub(super) use crate::poll::poll_now;
    pub(super) use crate::scenario::{
        BodyOf, Compares, Context, Failure, Measured, OURS, Sample, Scenario, verify,
    };
    pub(super) use crate::settings::{ASYNC_OPS, CHANNEL_OPS, SYNC_OPS};
    pub(super) use crate::threads::{Mark, Span, solo, start_all};
}

/// A family, or a part of one.
type Family = fn() -> Vec<Scenario>;

/// One contender's body.
type Body = fn(&Context) -> Measured;

/// The families. Within a tier their scenarios run in this order.
const FAMILIES: &[Family] = &[
    task::scenarios,
    mutex::scenarios,
    rwlock::scenarios,
    semaphore::scenarios,
    barrier::scenarios,
    sense::scenarios,
    parker::scenarios,
    channel::scenarios,
    runtime::scenarios,
    pool::scenarios,
    #[cfg(target_os = "linux")]
    ipc::scenarios,
    io::scenarios,
    pipeline::scenarios,
    #[cfg(all(target_os = "linux", feature = "cpp-peers"))]
    cpp::scenarios,
];

/// Returns every scenario, in the order in which they run: tier by tier.
///
/// ```
/// let scenarios = blitz_io_bench::scenarios::registry();
/// assert!(scenarios.iter().any(|s| s.id == "mutex_uncontended"));
/// ```
pub fn registry() -> Vec<Scenario> {
    let mut scenarios = all(FAMILIES);
    // The sort is stable, which keeps the order of the families within a tier.
    scenarios.sort_by_key(|scenario| scenario.tier);
    scenarios
}

fn all(families: &[Family]) -> Vec<Scenario> {
    families.iter().flat_map(|family| family()).collect()
}

/// Runs `operation` with the numbers below `cx.ops` on this thread, and verifies that it succeeds
/// each time.
#[inline]
fn repeat(cx: &Context, what: &str, mut operation: impl FnMut(u64) -> bool) -> Measured {
    let (span, succeeded) = solo(|| {
        let mut succeeded = 0u64;
        for number in 0..cx.ops {
            succeeded += u64::from(operation(number));
        }
        succeeded
    });
    verify(what, cx.ops, succeeded)?;
    Ok(Sample::new(span, cx.ops))
}

/// Runs `operation` `share` times on each of the threads, which start together, with the number of
/// the thread and the turn. Verifies that it succeeds each time.
#[inline]
fn repeat_on(
    threads: usize,
    share: u64,
    what: &str,
    operation: impl Fn(usize, u64) -> bool + Sync,
) -> Measured {
    let operation = &operation;
    let (span, succeeded) = start_all(threads, |thread| {
        move || {
            let mut succeeded = 0u64;
            for turn in 0..share {
                succeeded += u64::from(operation(thread, turn));
            }
            succeeded
        }
    });
    let total = share * threads as u64;
    verify(what, total, succeeded.iter().sum())?;
    Ok(Sample::new(span, total))
}

/// Creates a scenario for each number of workers, which the bodies are given.
fn for_each(
    tier: u8,
    workers: &[usize],
    (id, title, ops): (&str, &str, u64),
    bodies: &[(&'static str, BodyOf<usize>)],
) -> Vec<Scenario> {
    let with = |&workers: &usize| {
        let scenario = Scenario::new(tier, format!("{id}_{workers}"), title, ops);
        scenario
            .threads(workers)
            .with_each(workers, bodies.iter().copied())
    };
    workers.iter().map(with).collect()
}

/// Returns the sample of a scenario about memory. Fails if nothing was counted.
fn of_memory(span: Span, ops: u64) -> Measured {
    if span.memory.bytes == 0 {
        let reason = "no byte was counted; is the counting allocator installed?";
        return Err(Failure(reason.into()));
    }
    Ok(Sample::new(span, ops))
}

/// Creates the two rows of a primitive for which tasks compete: all contenders on one runtime, and
/// each on its own.
fn contended_by_tasks<const N: usize>(
    (id, title): (&str, &str),
    on_one: [(&'static str, Body); N],
    on_own: [(&'static str, Body); 3],
) -> [Scenario; 2] {
    let row = |id, title| Scenario::new(3, id, title, ASYNC_OPS).on_runtime();
    [
        row(id.to_owned(), title.to_owned()).with_all(on_one),
        row(format!("{id}_own"), format!("{title}, own runtime")).with_all(on_own),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::work::Work;

    /// Creates a context with enough operations for a body to show what it does.
    pub(crate) fn context() -> Context {
        Context {
            ops: 2_000,
            workers: 2,
            microsecond: Work::calibrate(Duration::from_micros(1)),
        }
    }

    /// Checks that the verification of a contender's work has failed with these first words.
    #[track_caller]
    pub(crate) fn assert_caught(measured: Measured, words: &str) {
        let failure = measured.unwrap_err().to_string();
        assert!(failure.starts_with(words), "{failure}");
    }

    #[test]
    fn one_failed_operation_is_caught() {
        let measured = repeat(&context(), "operations", |number| number != 1_000);
        assert_caught(measured, "operations: expected 2000, found 1999");
    }
}
